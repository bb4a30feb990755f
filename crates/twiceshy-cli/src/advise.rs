//! `twiceshy advise`.

use crate::output::{columns, grouped, print, print_json, progress_bar, rate};
use std::path::PathBuf;
use twiceshy_lab::advise::{Advice, Fitted, Settings, advise};
use twiceshy_lab::workload::Workload;

/// Measure the filters on a sample of your traffic and recommend one, with its size.
///
/// Every request in a trace counts as a key that is not stored. Leave requests for stored keys out of the trace.
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
        "{}, A/S {:.3}: the narrowest cells with a rate of at most {}\n\n{}\n{}\n{reasons}",
        advice.workload,
        advice.ratio,
        rate(advice.fpr),
        columns(&rows),
        recommendation(advice)
    )
}

fn row(candidate: &Fitted) -> Vec<String> {
    let width = candidate.width.map_or("none works".to_owned(), |width| width.to_string());
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
        return "No filter can be recommended:\n".into();
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
