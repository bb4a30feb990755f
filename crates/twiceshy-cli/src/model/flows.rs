//! `twiceshy model flows`.

use super::asking::{Asking, Sampling};
use super::cyclic::Cells;
use super::{row, show};
use crate::numbers;
use crate::output::rate;
use serde::Serialize;
use twiceshy_lab::models::flows::{FlowClass, FlowModel};

/// The false-positive rate of a Cyclic filter whose absent keys are asked for at different rates, by sampling buckets (003
/// section 3.1, its last paragraph).
#[derive(clap::Args)]
#[command(after_help = "Example, one key in ten is asked for 91 times as often as the others:\n  \
                        twiceshy model flows --bits 8 --class 0.9:1 --class 0.1:91")]
pub(crate) struct Args {
    /// A class of keys as SHARE:RATE, such as 0.1:91; may be given several times. Shares and rates are relative
    #[arg(long = "class", value_name = "SHARE:RATE", required = true, value_parser = class)]
    classes: Vec<FlowClass>,
    /// How the queries of a key come
    #[arg(long, value_enum, default_value_t = Law::Poisson)]
    law: Law,
    #[command(flatten)]
    cells: Cells,
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    sampling: Sampling,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Law {
    /// A Poisson number of queries, over the whole time
    Poisson,
    /// Exactly as many queries as its rate says; then the flow is over
    FixedSizes,
    /// Cells that can come to rest have done so
    LongRun,
}

fn class(text: &str) -> Result<FlowClass, String> {
    let (share, rate) = text.split_once(':').ok_or("write a class as SHARE:RATE, such as 0.1:91")?;
    Ok(FlowClass { share: numbers::fraction(share)?, rate: numbers::fraction(rate)? })
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    law: Law,
    keys: u64,
    absent_keys: u64,
    queries: u64,
    samples: u64,
    seed: u64,
    fpr: f64,
    standard_error: f64,
    /// If all keys were asked for equally often.
    fpr_equal_rates: f64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let sizes = args.asking.sizes(args.cells.tables, 1)?;
    let cyclic = args.cells.model(args.asking.load)?;
    let first = cyclic.collision().first().copied().unwrap_or(1.0);
    let samples = args.sampling.samples(&sizes, f64::from(args.cells.tables) * first)?;
    let (buckets, absent, queries, seed) = (sizes.buckets_per_table, sizes.absent, sizes.queries, args.sampling.seed);
    let equal = match args.law {
        Law::LongRun => cyclic.rate(buckets, absent, queries),
        Law::Poisson | Law::FixedSizes => cyclic.rate_finite(buckets, absent, queries),
    };
    let model = FlowModel::new(cyclic, args.classes.clone())?;
    let estimate = match args.law {
        Law::Poisson => model.rate_finite(buckets, absent, queries, samples, seed),
        Law::FixedSizes => model.rate_fixed_sizes(buckets, absent, queries, samples, seed),
        Law::LongRun => model.rate(buckets, absent, queries, samples, seed),
    };
    let prediction = Prediction {
        model: "flows",
        law: args.law,
        keys: sizes.keys,
        absent_keys: absent,
        queries,
        samples,
        seed,
        fpr: estimate.rate,
        standard_error: estimate.standard_error,
        fpr_equal_rates: equal,
    };
    let rows = [
        row("false-positive rate", rate(estimate.rate)),
        row("  standard error of the sample", rate(estimate.standard_error)),
        row("if all keys were asked for equally often", rate(equal)),
    ];
    let heading = format!("Cyclic on {} classes of keys, {}", args.classes.len(), args.asking.words(&sizes));
    show(args.json, &prediction, &heading, &rows)
}
