//! `twiceshy lab guard`.

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar, rate, time};
use crate::temporary;
use anyhow::ensure;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;
use twiceshy_lab::guarded::{Comparison, Row, Settings, Subject, compare};

/// Compare what can stand in front of a redb store: nothing, a plain filter, one with a cache of its mistakes, an
/// adaptive one.
///
/// Every query is for an absent key, under friendly, skewed and hostile traffic: uniform and Zipf over ten absent
/// keys per stored key; `hunt`, an attacker who looks for slow keys and repeats a slow one nine times in ten until
/// it is fast; `replay`, an attacker who has found one slow key per twenty stored keys beforehand and asks for them
/// in turn. The cache is as large as the space that the adaptive filter takes beyond the plain one. Each time
/// includes one reading of the clock.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys in the store, of 16 bytes with values of 100 bytes
    #[arg(long, default_value = "1000000", value_parser = numbers::count::<NonZeroU64>)]
    keys: NonZeroU64,
    /// The filters' false-positive rate
    #[arg(long, default_value = "1/256", value_parser = numbers::rate)]
    fpr: f64,
    /// Microseconds added to each answer of the store; one run for each value
    #[arg(long, value_delimiter = ',', default_value = "0,50,1000", value_parser = numbers::count::<u64>)]
    delays: Vec<u64>,
    /// The number of threads that ask; one run for each value
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = numbers::count::<usize>)]
    threads: Vec<usize>,
    /// Seconds per measurement
    #[arg(long, default_value_t = 2.0, value_parser = numbers::fraction)]
    seconds: f64,
    /// The random seed of the traffic
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder to make the stores in [default: the temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!((0.001..=3_600.0).contains(&args.seconds), "--seconds must be 0.001 to 3600, not {}", args.seconds);
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

/// The comparison as text: a table for each store.
fn words(comparison: &Comparison) -> String {
    let mut text = format!(
        "{} keys, filters for a false-positive rate of {}, {} s each, seed {}; the store answers an absent key in {}\n",
        grouped(comparison.keys),
        rate(comparison.rate),
        comparison.seconds,
        comparison.seed,
        time(comparison.store_ns)
    );
    let mut delays: Vec<u64> = comparison.rows.iter().map(|row| row.delay_us).collect();
    delays.dedup();
    for delay in delays {
        let store = if delay == 0 { "redb, warm".into() } else { format!("redb, plus {delay} µs") };
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
