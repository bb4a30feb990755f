//! `twiceshy lab guard`.

use crate::output::{columns, grouped, print, print_json, progress_bar, rate, time};
use crate::temporary;
use anyhow::ensure;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;
use twiceshy_lab::guarded::{Comparison, Row, Settings, Subject, compare};

/// Compare what may stand before a redb store: nothing, a plain filter, one with a cache of its mistakes, an adaptive one.
///
/// All ask for absent keys only, under friendly, skewed and hostile traffic: uniform and Zipf over ten times as many absent
/// keys as there are stored ones; `hunt`, somebody who looks for slow keys and asks for them again nine times in ten while they are
/// slow; `replay`, somebody who has found one for twenty stored keys before, and asks for one after the other. The cache is as
/// large as the adaptive filter is larger than the plain one. Each time includes one reading of the clock.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys of 16 bytes in the store, each with 100 bytes
    #[arg(long, default_value = "1000000")]
    keys: NonZeroU64,
    /// The filters' false-positive rate
    #[arg(long, default_value_t = 1.0 / 256.0)]
    fpr: f64,
    /// Microseconds that are added to each answer of the store, in one run after the other
    #[arg(long, value_delimiter = ',', default_value = "0,50,1000")]
    delays: Vec<u64>,
    /// How many threads ask, in one run after the other
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// Seconds of each of the measurements
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Where the traffic comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the stores are made [default: among the temporary files]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!((0.001..=3_600.0).contains(&args.seconds), "--seconds {}: 0.001 to 3600 are possible", args.seconds);
    let settings = Settings {
        keys: args.keys,
        rate: args.fpr,
        time: Duration::from_secs_f64(args.seconds),
        delays: args.delays.iter().copied().map(Duration::from_micros).collect(),
        threads: args.threads.clone(),
        seed: args.seed,
    };
    let folder = temporary::folder(args.folder.as_deref())?;
    let bar = progress_bar(0, "filling two stores");
    let comparison = compare(&settings, folder.path(), &|ended, of| {
        bar.set_message("asking");
        bar.set_length(of as u64);
        bar.set_position(ended as u64);
    });
    bar.finish_and_clear();
    let comparison = comparison?;
    if args.json { print_json(&comparison) } else { print(&words(&comparison)) }
}

/// The comparison for people: a table for each store.
fn words(comparison: &Comparison) -> String {
    let mut text = format!(
        "{} keys, filters for a false-positive rate of {}, {} s each, seed {}; an absent key takes the store {}\n",
        grouped(comparison.keys),
        rate(comparison.rate),
        comparison.seconds,
        comparison.seed,
        time(comparison.store_ns)
    );
    let mut delays: Vec<u64> = comparison.rows.iter().map(|row| row.delay_us).collect();
    delays.dedup();
    for delay in delays {
        let store = if delay == 0 { "redb, warm".into() } else { format!("redb, and {delay} µs added") };
        let head = ["", "threads", "", "look-ups/s", "to plain", "median", "99 %", "99.9 %", "asked", "bits a key"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for row in comparison.rows.iter().filter(|row| row.delay_us == delay) {
            if row.subject == Subject::Bare {
                rows.push(Vec::new());
            }
            rows.push(line(row));
        }
        text += &format!("\n{store}\n\n{}", columns(&rows));
    }
    text
}

fn line(row: &Row) -> Vec<String> {
    vec![
        row.traffic.to_string(),
        row.threads.to_string(),
        row.subject.to_string(),
        grouped(row.lookups_per_second as u64),
        format!("{:.2}", row.ratio_to_plain),
        time(row.p50_ns),
        time(row.p99_ns),
        time(row.p999_ns),
        rate(row.asked),
        format!("{:.2}", row.local_bits_per_key),
    ]
}
