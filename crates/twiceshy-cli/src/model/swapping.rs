//! `twiceshy model swapping`.

use super::asking::{Asking, Sampling};
use super::{row, show};
use crate::numbers;
use crate::output::rate;
use serde::Serialize;
use twiceshy_lab::models::SwappingModel;
use twiceshy_lab::models::swapping::Occupancy;

/// The false-positive rate of a Swapping filter of 2 tables with 4 cells a bucket under uniformly repeated queries, by
/// sampling buckets (003 section 3.3).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy model swapping --bits 8 --ratio 10 --samples 100k")]
pub(crate) struct Args {
    /// The bits of a cell
    #[arg(long, default_value = "8", value_parser = numbers::count::<u32>)]
    bits: u32,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    sampling: Sampling,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    keys: u64,
    absent_keys: u64,
    queries: u64,
    samples: u64,
    seed: u64,
    fpr: f64,
    standard_error: f64,
}

/// The buckets of each table that a load other than 95 % is tried on.
const MEASURED: u64 = 1 << 14;

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let sizes = args.asking.sizes(2, 4)?;
    if !(1..=62).contains(&args.bits) {
        anyhow::bail!("--bits must be from 1 to 62, not {}", args.bits);
    }
    let values = (1u64 << args.bits) - 1;
    let samples = args.sampling.samples(&sizes, 8.0 / values as f64)?;
    let load = args.asking.load;
    let occupancy = if load == 0.95 {
        Occupancy::two_by_four_at_95_percent()
    } else {
        Occupancy::measured(load, MEASURED, args.sampling.seed)?
    };
    let model = SwappingModel::new(2, values, occupancy)?;
    let estimate = model.rate(sizes.buckets_per_table, sizes.absent, sizes.queries, samples, args.sampling.seed);
    let prediction = Prediction {
        model: "swapping",
        keys: sizes.keys,
        absent_keys: sizes.absent,
        queries: sizes.queries,
        samples,
        seed: args.sampling.seed,
        fpr: estimate.rate,
        standard_error: estimate.standard_error,
    };
    let rows = [
        row("false-positive rate over these queries", rate(estimate.rate)),
        row("  standard error of the sample", rate(estimate.standard_error)),
    ];
    show(args.json, &prediction, &format!("Swapping, {}", args.asking.words(&sizes)), &rows)
}
