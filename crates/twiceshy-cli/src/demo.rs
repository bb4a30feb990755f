//! `twiceshy demo`: why a filter should learn, in one table.

use crate::guarded::refusal;
use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar, rate};
use crate::temporary;
use anyhow::{Context, anyhow, ensure};
use serde::Serialize;
use std::collections::HashSet;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use twiceshy::hash::HashKey;
use twiceshy_lab::guarded::Delayed;
use twiceshy_lab::workload::Distribution;
use twiceshy_lab::workload::zipf::Exponent;
use twiceshy_store::{Adapt, Durability, Error, Guard, Kind, Options, RedbError, RedbStore};

/// Put a plain filter and five adaptive ones in front of the same store, and send skewed and hostile traffic.
///
/// The stores are redb files in a temporary folder, which is deleted when the command ends.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys in the store
    #[arg(long, value_name = "N", default_value_t = 50_000, value_parser = numbers::count::<u64>)]
    keys: u64,
    /// The false-positive rate that the filters are built for [default: 1/256]
    #[arg(long, value_name = "E", default_value = "1/256", hide_default_value = true, value_parser = numbers::rate)]
    fpr: f64,
    /// The random seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The result of all filters.
#[derive(Serialize)]
struct Report {
    keys: u64,
    fpr: f64,
    seed: u64,
    /// Skewed traffic.
    visitors: Vec<Line>,
    /// Hostile traffic.
    attacker: Vec<Line>,
}

/// The result of one filter under one kind of traffic.
#[derive(Serialize)]
struct Line {
    filter: &'static str,
    bits_per_key: f64,
    absent_asked: u64,
    wrong_first_time: u64,
    wrong_again: u64,
    /// The share of queries that did not reach the store.
    reads_saved: f64,
}

/// Queries of the skewed visitors per stored key.
const SKEWED_PER_KEY: u64 = 10;
/// Absent keys that visitors ask for, per stored key.
const ABSENT_PER_KEY: u64 = 2;
/// How often the attacker replays each slow query.
const REPLAYS: usize = 100;

/// The plain filter and the adaptive ones.
const FILTERS: [(&str, Kind, Adapt); 6] = [
    ("plain cuckoo", Kind::FullKey, Adapt::Never),
    ("cyclic", Kind::Cyclic, Adapt::Always),
    ("swapping", Kind::Swapping, Adapt::Always),
    ("cuckooing", Kind::Cuckooing, Adapt::Always),
    ("telescoping", Kind::Telescoping, Adapt::Always),
    ("extension", Kind::Extension, Adapt::Always),
];

/// The name of a page. Some numbers are stored, others are not.
fn page(number: u64) -> String {
    format!("/article/{number:016x}")
}

type Guarded = Guard<Delayed<RedbStore>>;

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!((1_000..=5_000_000).contains(&args.keys), "--keys must be 1000 to 5000000, not {}", args.keys);
    ensure!((1e-6..=0.5).contains(&args.fpr), "--fpr must be 0.000001 to 0.5, not {}", args.fpr);
    let bar = progress_bar(3 * FILTERS.len() as u64, "filling stores and asking");
    let mut report =
        Report { keys: args.keys, fpr: args.fpr, seed: args.seed, visitors: Vec::new(), attacker: Vec::new() };
    for (name, kind, adapt) in FILTERS {
        // Deleted with its contents at the end of this round, also after an error.
        let folder = temporary::folder(None)?;
        let failed = |error| refusal(folder.path(), error);
        let guard = fill(args, folder.path(), kind, adapt).map_err(failed)?;
        bar.inc(1);
        let bits = guard.stats().local_bits as f64 / args.keys as f64;
        report.visitors.push(visitors(args, &guard)?.line(name, bits));
        bar.inc(1);
        report.attacker.push(attacker(args, &guard)?.line(name, bits));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if args.json { print_json(&report) } else { print(&text(&report)) }
}

/// A store with all pages. Nothing is synced and no snapshot is written, since the store need not survive a crash.
fn fill(args: &Args, folder: &Path, kind: Kind, adapt: Adapt) -> Result<Guarded, Error<RedbError>> {
    let store = RedbStore::open(folder.join("pages.redb")).map_err(Error::Store)?;
    let options = Options::new()
        .filter(kind)
        .false_positive_rate(args.fpr)
        .expected_keys(args.keys)
        .adapt(adapt)
        .durability(Durability::Seen)
        .background(false)
        .hash_key(HashKey::fixed(args.seed));
    let guard = options.open(Delayed::new(Arc::new(store), Duration::ZERO))?;
    guard.insert_all((0..args.keys).map(|number| (page(number), "")))?;
    Ok(guard)
}

fn head(title: &str) -> Vec<String> {
    let names = ["bits a key", "absent asked", "wrong, first time", "wrong again", "store reads saved"];
    [title].into_iter().chain(names).map(str::to_owned).collect()
}

fn text(report: &Report) -> String {
    let mut rows = vec![head("Visitors, most of them asking for the same few pages")];
    rows.extend(report.visitors.iter().map(row));
    rows.extend([Vec::new(), head("An attacker who replays slow queries")]);
    rows.extend(report.attacker.iter().map(row));
    format!(
        "{} pages are in a redb file, behind a filter built for a false-positive rate of {}.\n\
         All queries are for pages that do not exist. Each mistake of the filter costs a useless read.\n\
         The adaptive filters are told of each mistake and change.\n\n{}\n\
         A stored key is never turned away. Next, try `twiceshy create` and put your own keys into a store, or\n\
         `twiceshy replay --filter telescoping --workload trace:FILE` with your own requests (one key per line).\n",
        grouped(report.keys),
        rate(report.fpr),
        columns(&rows)
    )
}

fn row(line: &Line) -> Vec<String> {
    vec![
        format!("  {}", line.filter),
        format!("{:.1}", line.bits_per_key),
        grouped(line.absent_asked),
        grouped(line.wrong_first_time),
        grouped(line.wrong_again),
        format!("{:.2} %", 100.0 * line.reads_saved),
    ]
}

/// The score of one filter under one kind of traffic.
#[derive(Default)]
struct Score {
    queries: u64,
    first: u64,
    repeated: u64,
    wrong: HashSet<u64>,
}

impl Score {
    /// Asks for pages that do not exist. Returns those that reached the store.
    fn ask(&mut self, guard: &Guarded, numbers: impl IntoIterator<Item = u64>) -> anyhow::Result<Vec<u64>> {
        let mut slow = Vec::new();
        for number in numbers {
            let (name, before) = (page(number), guard.store().gets());
            let found = guard.contains(name.as_bytes()).map_err(|error| anyhow!("{error}"))?;
            ensure!(!found, "{name} was found but never stored: this is a bug, please report it");
            self.queries += 1;
            if guard.store().gets() > before {
                slow.push(number);
                match self.wrong.insert(number) {
                    true => self.first += 1,
                    false => self.repeated += 1,
                }
            }
        }
        Ok(slow)
    }

    fn line(&self, filter: &'static str, bits_per_key: f64) -> Line {
        let (wrong, queries) = ((self.first + self.repeated) as f64, self.queries.max(1) as f64);
        Line {
            filter,
            bits_per_key,
            absent_asked: self.queries,
            wrong_first_time: self.first,
            wrong_again: self.repeated,
            reads_saved: 1.0 - wrong / queries,
        }
    }
}

/// Zipf traffic: a few absent pages are asked for again and again.
fn visitors(args: &Args, guard: &Guarded) -> anyhow::Result<Score> {
    let absent = NonZeroU64::new(args.keys * ABSENT_PER_KEY).context("no absent page")?;
    let exponent: Exponent = "1.1".parse()?;
    let numbers = Distribution::Zipf(exponent).queries(absent, args.seed).map(|number| args.keys + number);
    let mut score = Score::default();
    score.ask(guard, numbers.take((args.keys * SKEWED_PER_KEY) as usize))?;
    Ok(score)
}

/// First looks for slow answers, then asks for nothing else.
fn attacker(args: &Args, guard: &Guarded) -> anyhow::Result<Score> {
    let begin = args.keys * (1 + ABSENT_PER_KEY);
    let mut score = Score::default();
    let slow = score.ask(guard, begin..begin + args.keys)?;
    for _ in 0..REPLAYS {
        score.ask(guard, slow.iter().copied())?;
    }
    Ok(score)
}
