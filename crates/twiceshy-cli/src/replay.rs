//! `twiceshy replay`.

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar, rate, warn};
use clap::ValueEnum;
use std::fmt::Write as _;
use twiceshy::hash::HashKind;
use twiceshy::memory::Limits;
use twiceshy::quotient::SelectorCode;
use twiceshy_lab::replay::{
    Afterwards, DEFAULT_CELLS, DEFAULT_PER_KEY, FilterName, FilterSpec, Insertion, MovesName, RemoteName, Report,
    Settings, run as replay,
};
use twiceshy_lab::workload::Workload;

/// Fill a filter to a given load, ask it for absent keys, adapt on every false positive, and report.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The filter: cuckoo, cyclic, swapping, cuckooing, quotient, telescoping, telescoping-plain, extension, broom, remembering;
    /// or a baseline: bloom, blocked-bloom, cuckoo-cache, bloom-listed
    #[arg(long)]
    filter: FilterName,
    /// The filter's cells (rounded up to whole buckets) or slots [default: 16384; for uniform and zipf only]
    #[arg(long, value_parser = numbers::count::<u64>)]
    cells: Option<u64>,
    /// The load: keys over cells
    #[arg(long, default_value_t = 0.95, value_parser = numbers::fraction)]
    load: f64,
    /// Bits of a cell, fingerprint and selector together; in the quotient family, bits of a remainder
    #[arg(long, default_value_t = 12)]
    bits: u32,
    /// A/S: distinct absent keys over stored keys
    #[arg(long, default_value_t = 10.0, value_parser = numbers::fraction)]
    ratio: f64,
    /// Queries per distinct absent key, on average [default: 100; for uniform and zipf only]
    #[arg(long, value_parser = numbers::count::<u64>)]
    per_key: Option<u64>,
    /// Queries per trial, instead of --per-key [default: 10000000 for active-set, 50000000 for power-law; flows and
    /// traces have their own]
    #[arg(long, value_parser = numbers::count::<u64>)]
    queries: Option<u64>,
    /// The number of trials, each with other keys and another hash key
    #[arg(long, default_value_t = 3, value_parser = numbers::count::<u32>)]
    trials: u32,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// uniform, zipf:EXPONENT, active-set or active-set:EXPONENT, power-law, synthetic flows (flows:chicago-a,
    /// chicago-b or san-jose; append /SCALE to use a part), or trace:FILE (text with one key per line, or a packet
    /// capture; plain, gzip, xz or zstd), or misses:FILE (the same, with other keys stored)
    #[arg(long, default_value = "uniform")]
    workload: Workload,
    /// d, the number of tables (2 to 8)
    #[arg(long, value_parser = numbers::count::<u64>)]
    tables: Option<u64>,
    /// c, the cells of a bucket (1 to 8)
    #[arg(long, value_parser = numbers::count::<u64>)]
    cells_per_bucket: Option<u64>,
    /// cuckoo: find buckets from the fingerprint, without a remote, 2×4
    #[arg(long)]
    partial_key: bool,
    /// cyclic: s, the selector bits of a cell (0 to 4) [default: 1]
    #[arg(long)]
    selector_bits: Option<u32>,
    /// cyclic: r, the unequal split of the range (1 to 3; the first function gets all but 1 in 2^r)
    #[arg(long)]
    range_split: Option<u32>,
    /// cyclic: the first value of the second function, of the third, …
    #[arg(long, value_delimiter = ',')]
    offsets: Option<Vec<u32>>,
    /// cyclic: step on until the query really differs
    #[arg(long)]
    refine: bool,
    /// swapping: swap every colliding cell, not only the first
    #[arg(long)]
    all_cells: bool,
    /// cuckooing: one fingerprint for all tables
    #[arg(long)]
    shared_fingerprint: bool,
    /// cuckooing: the paper's random walk, or shortest paths
    #[arg(long)]
    moves: Option<MovesArg>,
    /// cuckooing: the most keys that a walk moves (500), or cells that a shortest-path search visits (5000)
    #[arg(long, value_parser = numbers::count::<u32>)]
    max_steps: Option<u32>,
    /// How insertions search for room
    #[arg(long, default_value = "breadth-first")]
    insertion: InsertionArg,
    /// The most cells or steps in that search [default: 5000]
    #[arg(long, value_parser = numbers::count::<u32>)]
    search_bound: Option<u32>,
    /// telescoping, extension: the most blocks kept in a side table when their code overflows [default: 0]
    #[arg(long, value_parser = numbers::count::<u32>)]
    side_table: Option<u32>,
    /// telescoping: the selectors' code, `tuned` or its parameters `X,Y` [default: tuned at 8 bits, else X,Y by
    /// rule]
    #[arg(long, value_parser = code)]
    code: Option<SelectorCode>,
    /// telescoping: the A/S that the code is built for [default: 20]
    #[arg(long, value_parser = numbers::fraction)]
    expected_ratio: Option<f64>,
    /// cuckoo-cache: bits taken from each cell for the list of mistakes [default: 1]
    #[arg(long)]
    cache_bits: Option<u32>,
    /// After the queries: grow:N (double the table N times), rebuild, rekey, or recover (lose the filter, and make it anew from its
    /// keys and its memory). Reports how many of the fixed mistakes are wrong again
    #[arg(long)]
    then: Option<Afterwards>,
    /// Remember one mistake for this many keys, or `off` [default: 4 with --then, else off]
    #[arg(long, value_parser = memory)]
    memory: Option<Limits>,
    /// How the filter's keys are found
    #[arg(long, default_value = "by-hash")]
    remote: RemoteArg,
    /// The hash function; use xxh3 only for keys that no attacker chooses
    #[arg(long, default_value = "siphash")]
    hash: HashArg,
    /// How many trials to run in parallel [default: one per processor]
    #[arg(long, value_parser = numbers::count::<usize>)]
    jobs: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MovesArg {
    Walk,
    Shortest,
}

#[derive(Clone, Copy, ValueEnum)]
enum InsertionArg {
    BreadthFirst,
    RandomWalk,
}

#[derive(Clone, Copy, ValueEnum)]
enum RemoteArg {
    ByHash,
    Mirror,
}

#[derive(Clone, Copy, ValueEnum)]
enum HashArg {
    Siphash,
    Xxh3,
}

/// Parses a selector code: its name or its parameters.
fn code(text: &str) -> Result<SelectorCode, String> {
    let pair = || -> Option<SelectorCode> {
        let (x, y) = text.split_once(',')?;
        Some(SelectorCode::General { x: x.trim().parse().ok()?, y: y.trim().parse().ok()? })
    };
    match text {
        "tuned" => Ok(SelectorCode::Tuned),
        _ => pair().ok_or_else(|| "must be `tuned` or two numbers such as `2,3`".to_owned()),
    }
}

/// Parses the keys for each remembered mistake.
fn memory(text: &str) -> Result<Limits, String> {
    if text == "off" {
        return Ok(Limits::OFF);
    }
    let keys = text.parse().ok().filter(|keys| *keys > 0);
    keys.map(Limits::one_for).ok_or_else(|| "must be `off` or a number of keys such as `4`".to_owned())
}

impl Args {
    fn settings(&self) -> Settings {
        let filter = FilterSpec {
            tables: self.tables,
            cells_per_bucket: self.cells_per_bucket,
            partial_key: self.partial_key,
            selector_bits: self.selector_bits,
            range_split: self.range_split,
            offsets: self.offsets.clone(),
            refine: self.refine,
            all_cells: self.all_cells,
            shared_fingerprint: self.shared_fingerprint,
            moves: self.moves.map(|moves| match moves {
                MovesArg::Walk => MovesName::Walk,
                MovesArg::Shortest => MovesName::Shortest,
            }),
            max_steps: self.max_steps,
            insertion: match self.insertion {
                InsertionArg::BreadthFirst => Insertion::BreadthFirst,
                InsertionArg::RandomWalk => Insertion::RandomWalk,
            },
            search_bound: self.search_bound,
            side_table: self.side_table,
            code: self.code,
            expected_ratio: self.expected_ratio,
            cache_bits: self.cache_bits,
            remote: match self.remote {
                RemoteArg::ByHash => RemoteName::ByHash,
                RemoteArg::Mirror => RemoteName::Mirror,
            },
            hash: match self.hash {
                HashArg::Siphash => HashKind::SipHash13,
                HashArg::Xxh3 => HashKind::Xxh3,
            },
            ..FilterSpec::new(self.filter, self.bits)
        };
        let sized = matches!(self.workload, Workload::Generated(_));
        Settings {
            filter,
            cells: self.cells.or(sized.then_some(DEFAULT_CELLS)),
            load: self.load,
            ratio: self.ratio,
            per_key: self.per_key.or((sized && self.queries.is_none()).then_some(DEFAULT_PER_KEY)),
            queries: self.queries,
            trials: self.trials,
            seed: self.seed,
            workload: self.workload.clone(),
            timed: true,
            jobs: self.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
            memory: self.memory.or(self.then.map(|_| Limits::default())),
            then: self.then,
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let settings = args.settings();
    let bar = progress_bar(0, &format!("replaying {}", args.filter));
    let report = replay(&settings, &|progress| {
        bar.set_length(progress.of);
        bar.set_position(progress.queries);
    });
    bar.finish_and_clear();
    let report = report?;
    report.warnings.iter().for_each(|warning| warn(warning));
    if args.json {
        return print_json(&report);
    }
    print(&words(&report))
}

/// The report as text.
fn words(report: &Report) -> String {
    let mut text = format!(
        "{} {}, {} cells of {} bits at {:.1} % load: {} keys, {:.2} bits a key\n",
        report.filter,
        report.shape,
        grouped(report.cells),
        report.bits,
        report.load * 100.0,
        grouped(report.keys),
        report.bits_per_key
    );
    let _ = writeln!(
        text,
        "{} queries for {} distinct absent keys, {}, {} trials, seed {}\n",
        grouped(report.queries),
        grouped(report.distinct_queries),
        report.workload,
        report.trials,
        report.seed
    );
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("false-positive rate", rate(report.fpr)),
        row("  standard deviation over trials", rate(report.fpr_sd)),
        row("  on first-time queries", rate(report.first_time_fpr)),
        row("false positives", grouped(report.false_positives)),
        row("  per key that was ever wrong", format!("{:.2}", report.regret)),
        row("  that no report can fix", grouped(report.unfixable)),
        row("  that one report did not fix", grouped(report.still_present)),
        row("rebuilds", grouped(report.rebuilds)),
        row("look-ups per second, one thread", grouped(report.lookups_per_second as u64)),
    ];
    let each = |count: u64, of: u64| format!("{:.3}", count as f64 / of.max(1) as f64);
    for (name, phase) in [("insertion", &report.filling), ("adaptation", &report.adapting)] {
        if phase.operations > 0 {
            rows.push(row(&format!("remote reads an {name}"), each(phase.remote_reads, phase.operations)));
            rows.push(row(&format!("remote writes an {name}"), each(phase.remote_writes, phase.operations)));
            // In a quotient table slots shift, and no key moves to another cell.
            if report.table.is_empty() {
                rows.push(row(&format!("keys moved an {name}"), each(phase.keys_moved, phase.operations)));
            }
        }
    }
    rows.extend(report.table.iter().map(|count| row(count.words, grouped(count.count))));
    if let Some(relearned) = &report.relearned {
        rows.push(row(&format!("fixed mistakes before {}", relearned.then), grouped(relearned.fixed_before)));
        rows.push(row("  wrong again after it", grouped(relearned.wrong_again)));
        rows.push(row("  remembered mistakes", grouped(relearned.remembered)));
        rows.push(row("  remote reads", grouped(relearned.then_remote_reads)));
        rows.push(row("  seconds", format!("{:.2}", relearned.then_seconds)));
    }
    text + &columns(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use twiceshy_lab::replay::TableCount;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn numbers_of_one_family_are_an_object_in_json_and_lines_in_text() {
        let line = Line::parse_from(["replay", "--filter=cuckoo", "--cells=64", "--per-key=1", "--trials=1"]);
        let mut report = replay(&line.args.settings(), &|_| ()).expect("a report");
        let json = serde_json::to_value(&report).expect("JSON");
        assert!(json.get("table").is_none(), "the cuckoo filters have no such numbers");
        let plain = words(&report);

        let shifted = TableCount { name: "slots_shifted", words: "slots shifted by insertions", count: 1234 };
        report.table = [shifted].into_iter().collect();
        let json = serde_json::to_value(&report).expect("JSON");
        assert_eq!(json["table"], serde_json::json!({ "slots_shifted": 1234 }));
        let lines: Vec<String> = words(&report).lines().map(str::to_owned).collect();
        assert!(plain.contains("keys moved an insertion") && !lines.iter().any(|line| line.starts_with("keys moved")));
        let last = lines.last().expect("a line");
        assert!(last.starts_with("slots shifted by insertions ") && last.ends_with(" 1,234"), "{last}");
    }
}
