//! `twiceshy model insertion`.

use super::{row, show};
use crate::numbers;
use crate::output::{grouped, rate};
use serde::Serialize;
use twiceshy_lab::models::insertion::{Alternating, overfull_groups};

/// What 002 proves about insertions: Theorem 1 for a cuckoo table of two halves, and Lemma 2 for a partial-key filter.
#[derive(clap::Args)]
#[command(
    after_help = "Example, a table of 2.1 million cells and a filter of 262,144 buckets with 4 cells of 7 bits:\n  \
                        twiceshy model insertion --keys 1M --slack 0.1 --buckets 262144 --bits 7 --cells-per-bucket 4"
)]
pub(crate) struct Args {
    /// n, the number of keys
    #[arg(long, value_parser = numbers::count::<u64>)]
    keys: u64,
    /// δ: the table has (2 + δ)·n cells
    #[arg(long, default_value = "0.1", value_parser = numbers::fraction)]
    slack: f64,
    /// Lemma 2: the buckets of a partial-key filter, both tables together
    #[arg(long, requires = "bits", value_parser = numbers::count::<u64>)]
    buckets: Option<u64>,
    /// Lemma 2: the bits of a fingerprint
    #[arg(long, requires = "buckets", value_parser = numbers::count::<u32>)]
    bits: Option<u32>,
    /// Lemma 2: the cells of a bucket
    #[arg(long, default_value = "4", value_parser = numbers::count::<u32>)]
    cells_per_bucket: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    keys: u64,
    slack: f64,
    /// Steps after which an insertion gives up.
    most_steps: u64,
    /// Upper bounds.
    mean_steps: f64,
    bad_configuration: f64,
    rehash: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    overfull_groups: Option<f64>,
}

/// More cells of a bucket, or bits of a fingerprint, than any filter has.
const MOST: u32 = 64;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let bounds = Alternating::new(args.slack, args.keys)?;
    let lemma = match (args.buckets, args.bits) {
        (Some(buckets), Some(bits)) => {
            if !(1..=MOST).contains(&bits) || args.cells_per_bucket > MOST {
                anyhow::bail!("--bits must be from 1 to {MOST}, and --cells-per-bucket at most {MOST}");
            }
            Some(overfull_groups(args.keys, buckets, bits, args.cells_per_bucket)?)
        }
        _ => None,
    };
    let prediction = Prediction {
        model: "insertion",
        keys: args.keys,
        slack: args.slack,
        most_steps: bounds.most_steps(),
        mean_steps: bounds.mean_steps(),
        bad_configuration: bounds.bad_configuration(),
        rehash: bounds.rehash(),
        overfull_groups: lemma,
    };
    let mut rows = vec![
        row("steps after which an insertion gives up", grouped(prediction.most_steps)),
        row("mean steps, at most", format!("{:.2}", prediction.mean_steps)),
        row("a bad configuration, at most", rate(prediction.bad_configuration)),
        row("a re-hash, at most", rate(prediction.rehash)),
    ];
    if let Some(groups) = lemma {
        let alike = 2 * args.cells_per_bucket + 1;
        rows.push(row(&format!("groups of {alike} keys that cannot all be stored"), format!("{groups:.3e}")));
    }
    let heading = format!("Insertions of {} keys at a load of {:.3}", grouped(args.keys), 1.0 / (2.0 + args.slack));
    show(args.json, &prediction, &heading, &rows)
}
