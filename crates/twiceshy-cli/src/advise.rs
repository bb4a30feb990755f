//! `twiceshy advise`.

use crate::output::{columns, grouped, print, print_json, progress_bar, rate};
use std::path::PathBuf;
use twiceshy_lab::advise::{Advice, Fitted, Settings, advise};
use twiceshy_lab::workload::Workload;

/// Measure the filters on a sample of your traffic, and recommend one and its size.
///
/// Every request of a trace is taken for a key that is not stored: that is what a filter is asked for in vain. Leave the others
/// out of it.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("traffic").required(true)))]
pub(crate) struct Args {
    /// How many keys will be stored
    #[arg(long, value_name = "N")]
    keys: u64,
    /// The rate of false positives that the traffic may see
    #[arg(long, value_name = "E")]
    fpr: f64,
    /// A trace of requests: a text with one key a line, or a packet capture; plain, gzip, xz or zstd
    #[arg(long, value_name = "FILE", group = "traffic")]
    trace: Option<PathBuf>,
    /// A generated workload, as `replay` takes it: uniform, zipf:1.2, active-set, power-law, flows:chicago-a/40, …
    #[arg(long, group = "traffic")]
    workload: Option<Workload>,
    /// A/S: distinct absent keys over stored keys [default: the trace's distinct keys over N; 10 for a workload]
    #[arg(long)]
    ratio: Option<f64>,
    /// Queries for each absent key of uniform and zipf, on average [default: 100]
    #[arg(long)]
    per_key: Option<u64>,
    /// Clients may choose what they ask, insert and delete to do harm: recommends the broom filter, and says what it costs
    #[arg(long)]
    hostile: bool,
    /// Where all randomness comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many filters are measured at once [default: one for each processor]
    #[arg(long)]
    jobs: Option<usize>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Whether there is a filter to recommend.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let trace = args.trace.clone().map(Workload::Misses);
    let Some(workload) = trace.or_else(|| args.workload.clone()) else {
        anyhow::bail!("give the traffic with --trace FILE or --workload NAME");
    };
    let settings = Settings {
        keys: args.keys,
        rate: args.fpr,
        workload,
        ratio: args.ratio,
        per_key: args.per_key,
        hostile: args.hostile,
        seed: args.seed,
        jobs: args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
    };
    let bar = progress_bar(1, "measuring the filters");
    let advice = advise(&settings, &|done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let advice = advice?;
    if args.json {
        print_json(&advice)?;
    } else {
        print(&words(&advice))?;
    }
    Ok(advice.filter.is_some())
}

fn words(advice: &Advice) -> String {
    let heading = ["filter", "bits a cell", "bits a key", "rate", "false positives", "look-ups/s"];
    let mut rows = vec![heading.map(String::from).to_vec()];
    rows.extend(advice.candidates.iter().map(row));
    let reasons: String = advice.reasons.iter().map(|reason| format!("- {reason}\n")).collect();
    format!(
        "{}, A/S {:.3}: the narrowest cells that keep a rate of {}\n\n{}\n{}\n{reasons}",
        advice.workload,
        advice.ratio,
        rate(advice.fpr),
        columns(&rows),
        recommendation(advice)
    )
}

fn row(candidate: &Fitted) -> Vec<String> {
    let width = candidate.width.map_or("none will do".to_owned(), |width| width.to_string());
    vec![
        candidate.filter.clone(),
        width,
        format!("{:.2}", candidate.bits_per_key),
        format!("{:.2e}", candidate.rate),
        grouped(candidate.false_positives),
        grouped(candidate.lookups_per_second as u64),
    ]
}

fn recommendation(advice: &Advice) -> String {
    let (Some(filter), Some(width), Some(cells), Some(bytes), Some(ask_for)) =
        (&advice.filter, advice.width, advice.cells, advice.bytes, advice.ask_for)
    else {
        return "There is nothing to recommend:\n".into();
    };
    format!(
        "Choose {filter} with {width} bits: {} cells, {} bytes for {} keys.\n\n  twiceshy create STORE --filter {filter} \
         --keys {} --fpr {ask_for:.4e}\n\nWhy:\n",
        grouped(cells),
        grouped(bytes),
        grouped(advice.keys),
        advice.keys
    )
}
