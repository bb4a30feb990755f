//! `twiceshy lab guard`.

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar, rate, time};
use crate::temporary;
use anyhow::ensure;
use clap::ValueEnum;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;
use twiceshy_lab::guarded::{Comparison, Row, Settings, Spread, Subject, Traffic, compare};
use twiceshy_store::RedbOptions;

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
    /// The kinds of traffic
    #[arg(long, value_enum, value_delimiter = ',', default_value = "uniform,zipf,hunt,replay")]
    traffic: Vec<TrafficArg>,
    /// What to put in front of the store, besides the plain filter
    #[arg(long, value_enum, value_delimiter = ',', default_value = "bare,plain,plain-and-cache,adaptive,sparing")]
    subjects: Vec<SubjectArg>,
    /// How often to make each measurement. The runs of all subjects and threads take turns, each round with the next
    /// seed. Printed are the median rate, the median of the rounds' ratios, and the lowest and highest
    #[arg(long, default_value = "1", value_parser = numbers::count::<NonZeroU64>)]
    runs: NonZeroU64,
    /// Seconds per measurement
    #[arg(long, default_value_t = 2.0, value_parser = numbers::fraction)]
    seconds: f64,
    /// The random seed of the traffic
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The size of redb's cache in bytes. The rest is read from files, which the system keeps in memory if there is room
    #[arg(long, default_value_t = RedbOptions::CACHE, value_parser = numbers::count::<usize>)]
    cache: usize,
    /// The folder to make the stores in [default: the temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum TrafficArg {
    Uniform,
    Zipf,
    Hunt,
    Replay,
}

#[derive(Clone, Copy, ValueEnum)]
enum SubjectArg {
    Bare,
    Plain,
    PlainAndCache,
    Adaptive,
    Sparing,
}

impl From<TrafficArg> for Traffic {
    fn from(arg: TrafficArg) -> Traffic {
        match arg {
            TrafficArg::Uniform => Traffic::Uniform,
            TrafficArg::Zipf => Traffic::Zipf,
            TrafficArg::Hunt => Traffic::Hunt,
            TrafficArg::Replay => Traffic::Replay,
        }
    }
}

impl From<SubjectArg> for Subject {
    fn from(arg: SubjectArg) -> Subject {
        match arg {
            SubjectArg::Bare => Subject::Bare,
            SubjectArg::Plain => Subject::Plain,
            SubjectArg::PlainAndCache => Subject::PlainAndCache,
            SubjectArg::Adaptive => Subject::Adaptive,
            SubjectArg::Sparing => Subject::Sparing,
        }
    }
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
        traffic: args.traffic.iter().copied().map(Traffic::from).collect(),
        subjects: args.subjects.iter().copied().map(Subject::from).collect(),
        runs: args.runs,
        cache: args.cache,
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
        "{} keys, filters for a false-positive rate of {}, {} s each, {}seed {}; the store, with a cache of {} MiB, answers \
         an absent key in {}\n",
        grouped(comparison.keys),
        rate(comparison.rate),
        comparison.seconds,
        if comparison.runs > 1 { format!("the median of {} runs, first ", comparison.runs) } else { String::new() },
        comparison.seed,
        grouped(comparison.cache_bytes >> 20),
        time(comparison.store_ns)
    );
    let mut delays: Vec<u64> = comparison.rows.iter().map(|row| row.delay_us).collect();
    delays.dedup();
    for delay in delays {
        let store = if delay == 0 { "redb, warm".into() } else { format!("redb, plus {delay} µs") };
        let mut rows = vec![head(comparison)];
        let mut last = None;
        for row in comparison.rows.iter().filter(|row| row.delay_us == delay) {
            if last.replace((row.traffic, row.threads)) != Some((row.traffic, row.threads)) {
                rows.push(Vec::new());
            }
            rows.push(line(row, comparison));
        }
        text += &format!("\n{store}\n\n{}", columns(&rows));
    }
    text
}

fn head(comparison: &Comparison) -> Vec<String> {
    let mut head = vec!["", "threads", "", "look-ups/s", "to plain", "median", "99 %", "99.9 %", "asked", "bits a key"];
    if shows_threads(comparison) {
        head.push("to 1 thread");
    }
    if comparison.runs > 1 {
        head.extend(["look-ups/s, all runs", "to plain, all runs"]);
    }
    head.into_iter().map(str::to_owned).collect()
}

fn line(row: &Row, comparison: &Comparison) -> Vec<String> {
    let ratio = |ratio: f64| format!("{ratio:.2}");
    let mut line = vec![
        row.traffic.to_string(),
        row.threads.to_string(),
        row.subject.to_string(),
        grouped(row.lookups_per_second as u64),
        ratio(row.ratio_to_plain),
        time(row.p50_ns),
        time(row.p99_ns),
        time(row.p999_ns),
        rate(row.asked),
        format!("{:.2}", row.local_bits_per_key),
    ];
    if shows_threads(comparison) {
        line.push(row.ratio_to_one_thread.map_or_else(String::new, |to_one| ratio(to_one.median)));
    }
    if comparison.runs > 1 {
        line.push(spread(row.rate_spread, |rate| grouped(rate as u64)));
        line.push(row.ratio_spread.map_or_else(String::new, |all| spread(all, ratio)));
    }
    line
}

/// `true` if some numbers of threads are compared with one thread.
fn shows_threads(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| row.ratio_to_one_thread.is_some())
}

fn spread(spread: Spread, word: impl Fn(f64) -> String) -> String {
    format!("{} to {}", word(spread.lowest), word(spread.highest))
}
