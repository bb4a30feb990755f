//! `twiceshy demo`: why a filter should learn, in one table.

use crate::output::{columns, grouped, print, progress_bar};
use anyhow::{Context, ensure};
use indicatif::ProgressBar;
use std::collections::HashSet;
use std::num::NonZeroU64;
use twiceshy::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, SwappingFilter};
use twiceshy::filter::{Adaptive, Backed};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{ExtensionFilter, TelescopingFilter};
use twiceshy::remote::{ByHash, Remote};
use twiceshy_lab::workload::Distribution;
use twiceshy_lab::workload::zipf::Exponent;

/// Put a plain filter and five adaptive ones of the same size before the same set, and send skewed and hostile traffic.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys in the set
    #[arg(long, default_value_t = 200_000)]
    keys: u64,
    /// Bits of a cell; a slot of the last two spends three of them beside its remainder
    #[arg(long, default_value_t = 10)]
    bits: u32,
    /// Where all randomness comes from
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Queries of the skewed visitors, for each key in the set.
const SKEWED_PER_KEY: u64 = 10;
/// Absent keys that visitors ask for, for each key in the set.
const ABSENT_PER_KEY: u64 = 2;
/// How often the attacker replays what was slow.
const REPLAYS: usize = 100;
/// The load that the filters are filled to.
const LOAD: f64 = 0.93;

/// What one filter made of one kind of traffic.
#[derive(Default)]
struct Score {
    queries: u64,
    first: u64,
    repeated: u64,
}

impl Score {
    fn row(&self, name: &str, bits_per_key: f64) -> Vec<String> {
        let wrong = self.first + self.repeated;
        let saved = 100.0 * (1.0 - wrong as f64 / self.queries.max(1) as f64);
        vec![
            format!("  {name}"),
            format!("{bits_per_key:.1}"),
            grouped(self.queries),
            grouped(self.first),
            grouped(self.repeated),
            format!("{saved:.2} %"),
        ]
    }
}

/// The name of a page that is in the set, or is not.
fn page(number: u64) -> String {
    format!("/article/{number:016x}")
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    ensure!((1_000..=5_000_000).contains(&args.keys), "--keys {}: 1000 to 5000000 are possible here", args.keys);
    ensure!((4..=24).contains(&args.bits), "--bits {}: 4 to 24 make sense here", args.bits);
    let cells = (args.keys as f64 / LOAD) as u64;
    let hash = HashKey::fixed(args.seed);
    let bar = progress_bar(12, "asking");
    let (mut skewed, mut hostile) =
        (vec![head("Visitors, most after the same few pages")], vec![head("An attacker who replays what was slow")]);
    macro_rules! compare {
        ($name:literal, $options:expr, $learn:expr) => {{
            let mut remote = ByHash::new();
            let mut filter = $options.build(hash, &mut remote)?;
            for number in 0..args.keys {
                filter.insert(page(number).as_bytes(), &mut remote).context("while filling")?;
            }
            let bits = filter.local_bits() as f64 / args.keys as f64;
            skewed.push(visitors(args, &mut filter, &mut remote, $learn, &bar)?.row($name, bits));
            hostile.push(attacker(args, &mut filter, &mut remote, $learn, &bar)?.row($name, bits));
        }};
    }
    use twiceshy::filter::Filter as _;
    compare!("plain cuckoo", FullKeyFilter::with_cells(cells, args.bits), |_, _, _| Ok(()));
    compare!("cyclic", CyclicFilter::with_cells(cells, args.bits), learn);
    compare!("swapping", SwappingFilter::with_cells(cells, args.bits), learn);
    compare!("cuckooing", CuckooingFilter::with_cells(cells, args.bits), learn);
    let remainder = args.bits.saturating_sub(3).max(2);
    compare!("telescoping", TelescopingFilter::with_slots(cells, remainder), learn);
    compare!("extension", ExtensionFilter::with_slots(cells, remainder), learn);
    bar.finish_and_clear();
    print(&text(args, &skewed, &hostile))
}

fn head(title: &str) -> Vec<String> {
    ["", "bits a key", "absent asked", "wrong, first time", "wrong again", "store reads saved"]
        .iter()
        .map(|name| if name.is_empty() { title.to_owned() } else { (*name).to_owned() })
        .collect()
}

fn text(args: &Args, skewed: &[Vec<String>], hostile: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = skewed.iter().cloned().chain([Vec::new()]).chain(hostile.iter().cloned()).collect();
    format!(
        "A set of {} pages is kept in a slow store; a filter of {} bits a cell stands before it.\n\
         Everybody here asks for pages that do not exist. Where the filter is wrong, the store is read for nothing.\n\
         The adaptive filters are told of each mistake and change.\n\n{}\n\
         Nothing that is stored is ever turned away. Try `twiceshy replay --filter cyclic` next, or your own trace:\n\
         `twiceshy replay --filter cyclic --workload trace:FILE` (one key a line).\n",
        grouped(args.keys),
        args.bits,
        columns(&rows)
    )
}

type Learn<F, R> = fn(&mut F, &[u8], &mut R) -> anyhow::Result<()>;

/// Tells the filter of its mistake.
fn learn<F: Adaptive, R: Remote>(filter: &mut F, query: &[u8], remote: &mut R) -> anyhow::Result<()> {
    filter.adapt(query, remote)?;
    Ok(())
}

/// Asks for a page that does not exist, and counts.
fn ask<F: Backed, R: Remote>(
    filter: &mut F,
    remote: &mut R,
    learn: Learn<F, R>,
    number: u64,
    wrong: &mut HashSet<u64>,
    score: &mut Score,
) -> anyhow::Result<bool> {
    let name = page(number);
    score.queries += 1;
    if !filter.contains(name.as_bytes()) {
        return Ok(false);
    }
    match wrong.insert(number) {
        true => score.first += 1,
        false => score.repeated += 1,
    }
    learn(filter, name.as_bytes(), remote)?;
    Ok(true)
}

/// Traffic by a Zipf law: a few absent pages are asked for again and again.
fn visitors<F: Backed, R: Remote>(
    args: &Args,
    filter: &mut F,
    remote: &mut R,
    learn: Learn<F, R>,
    bar: &ProgressBar,
) -> anyhow::Result<Score> {
    let absent = NonZeroU64::new(args.keys * ABSENT_PER_KEY).context("no absent page")?;
    let exponent: Exponent = "1.1".parse()?;
    let queries = Distribution::Zipf(exponent).queries(absent, args.seed);
    let (mut wrong, mut score) = (HashSet::new(), Score::default());
    for number in queries.take((args.keys * SKEWED_PER_KEY) as usize) {
        ask(filter, remote, learn, args.keys + number, &mut wrong, &mut score)?;
    }
    bar.inc(1);
    Ok(score)
}

/// Somebody who looks for slow answers first, and then asks for nothing else.
fn attacker<F: Backed, R: Remote>(
    args: &Args,
    filter: &mut F,
    remote: &mut R,
    learn: Learn<F, R>,
    bar: &ProgressBar,
) -> anyhow::Result<Score> {
    let begin = args.keys * (1 + ABSENT_PER_KEY);
    let (mut wrong, mut score) = (HashSet::new(), Score::default());
    let mut slow = Vec::new();
    for number in begin..begin + args.keys {
        if ask(filter, remote, learn, number, &mut wrong, &mut score)? {
            slow.push(number);
        }
    }
    for _ in 0..REPLAYS {
        for number in &slow {
            ask(filter, remote, learn, *number, &mut wrong, &mut score)?;
        }
    }
    bar.inc(1);
    Ok(score)
}
