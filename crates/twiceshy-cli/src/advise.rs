//! `twiceshy advise`.

use crate::output::{columns, grouped, print, print_json, progress_bar, rate, warn};
use crate::temporary;
use std::path::PathBuf;
use twiceshy_lab::advise::{Advice, Fitted, Settings, Weights, advise};
use twiceshy_lab::workload::Workload;

/// Measure the filters on a sample of your traffic and recommend one, with the command that makes its store.
///
/// Every request in a trace counts as a key that is not stored. Leave requests for stored keys out of the trace.
///
/// The rule: of the filters that surely keep the rate, the one that costs least. The cost is counted in store reads per
/// million queries. A read of the store counts 1, whether it finds out that a key is absent or helps the filter to
/// learn. A commit counts as --commit-cost reads. The time of the look-ups counts as the reads that take as long
/// (--read-us). A bit of memory a key counts as half of the rate that you ask for (times --memory-cost): one more bit
/// halves the mistakes of a filter, and the rate you chose says where that is no longer worth it. A bit on disk counts
/// as --disk-cost bits of memory. If two costs differ by less than a quarter of a bit a key, the simpler filter is taken,
/// a plain one before one that learns. A filter that learns is never recommended if its mistakes and its learning read the
/// store more often than a plain filter errs. With --hostile, the filter that keeps its promise against clients that
/// attack it is recommended, whatever it costs.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("traffic").required(true)))]
pub(crate) struct Args {
    /// The number of keys to store
    #[arg(long, value_name = "N", value_parser = crate::numbers::count::<u64>)]
    keys: u64,
    /// The highest acceptable false-positive rate
    #[arg(long, value_name = "E", value_parser = crate::numbers::rate)]
    fpr: f64,
    /// A trace of requests: text with one key per line, or a packet capture; plain, gzip, xz or zstd
    #[arg(long, value_name = "FILE", group = "traffic")]
    trace: Option<PathBuf>,
    /// A generated workload, named as in `replay`: uniform, zipf:1.2, active-set, power-law, flows:chicago-a/40, …
    #[arg(long, group = "traffic")]
    workload: Option<Workload>,
    /// A/S: distinct absent keys over stored keys [default: the trace's distinct keys over N; 10 for a workload]
    #[arg(long, value_parser = crate::numbers::fraction)]
    ratio: Option<f64>,
    /// Queries per absent key for uniform and zipf, on average [default: 100]
    #[arg(long, value_parser = crate::numbers::count::<u64>)]
    per_key: Option<u64>,
    /// Clients may attack the filter with the keys they ask for, insert and delete: recommend the broom filter and
    /// show its cost
    #[arg(long)]
    hostile: bool,
    /// The bytes of a stored key [default: the mean of the keys that are asked for]
    #[arg(long, value_name = "BYTES")]
    key_bytes: Option<usize>,
    /// The bytes of a stored value
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    value_bytes: usize,
    /// The time of a store read, in microseconds
    #[arg(long, value_name = "US", default_value_t = Weights::default().read_us)]
    read_us: f64,
    /// What a commit costs, in store reads
    #[arg(long, value_name = "READS", default_value_t = Weights::default().commit_cost)]
    commit_cost: f64,
    /// What a bit of memory a key costs, in halves of the rate; 0 if memory is free
    #[arg(long, value_name = "COST", default_value_t = Weights::default().memory_cost)]
    memory_cost: f64,
    /// What a bit on disk costs, in bits of memory
    #[arg(long, value_name = "COST", default_value_t = Weights::default().disk_cost)]
    disk_cost: f64,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many filters to measure in parallel [default: one per processor]
    #[arg(long, value_parser = crate::numbers::count::<usize>)]
    jobs: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// `true` if a filter can be recommended.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let trace = args.trace.clone().map(Workload::Misses);
    let Some(workload) = trace.or_else(|| args.workload.clone()) else {
        anyhow::bail!("give the traffic with --trace FILE or --workload NAME");
    };
    let folder = temporary::folder(None)?;
    let settings = Settings {
        keys: args.keys,
        rate: args.fpr,
        workload,
        ratio: args.ratio,
        per_key: args.per_key,
        key_bytes: args.key_bytes,
        value_bytes: args.value_bytes,
        weights: Weights {
            read_us: args.read_us,
            commit_cost: args.commit_cost,
            memory_cost: args.memory_cost,
            disk_cost: args.disk_cost,
        },
        hostile: args.hostile,
        seed: args.seed,
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        folder: folder.path().to_owned(),
    };
    let bar = progress_bar(1, "measuring the filters");
    let advice = advise(&settings, &|done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let advice = advice?;
    advice.warnings.iter().for_each(|warning| warn(warning));
    if args.json {
        print_json(&advice)?;
    } else {
        print(&words(&advice))?;
    }
    Ok(advice.filter.is_some())
}

fn words(advice: &Advice) -> String {
    let heading = [
        "filter",
        "bits a cell",
        "bits a key",
        "in memory",
        "on disk",
        "keeps",
        "rate",
        "between",
        "reads/M",
        "commits/M",
        "look-ups/s",
        "cost",
    ];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(advice.candidates.iter().map(row));
    let list = |title: &str, lines: &[String]| {
        let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
        if lines.is_empty() { lines } else { format!("{title}:\n{lines}") }
    };
    format!(
        "{}, A/S {:.3}, {} keys, a rate of at most {}; reads and commits per million queries\n\n{}\n{}{}{}{}",
        advice.workload,
        advice.ratio,
        grouped(advice.keys),
        rate(advice.fpr),
        columns(&rows),
        recommendation(advice),
        list("Why", &advice.reasons),
        list("What it costs", &advice.costs),
        list("Note", &advice.notes)
    )
}

fn row(candidate: &Fitted) -> Vec<String> {
    vec![
        candidate.filter.clone(),
        candidate.width.to_string(),
        format!("{:.2}", candidate.bits_per_key),
        grouped(candidate.bytes),
        grouped(candidate.bytes_on_disk),
        candidate.keeps_rate.to_string(),
        format!("{:.2e}", candidate.rate),
        format!("{:.2e}-{:.2e}", candidate.rate_low, candidate.rate_high),
        grouped(candidate.reads_per_million as u64),
        grouped(candidate.commits_per_million as u64),
        grouped(candidate.lookups_per_second as u64),
        grouped(candidate.cost as u64),
    ]
}

fn recommendation(advice: &Advice) -> String {
    let (Some(filter), Some(width), Some(cells), Some(bytes), Some(command)) =
        (&advice.filter, advice.width, advice.cells, advice.bytes, &advice.command)
    else {
        return "No filter can be recommended.\n\n".into();
    };
    format!(
        "Choose {filter} with {width} bits: {} cells, {} bytes in memory, about {} on disk for {} keys.\n\n  {command}\n\n",
        grouped(cells),
        grouped(bytes),
        grouped(advice.bytes_on_disk.unwrap_or(0)),
        grouped(advice.keys)
    )
}
