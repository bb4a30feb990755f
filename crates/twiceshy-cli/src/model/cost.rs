//! `twiceshy model cost`.

use super::{row, show};
use crate::numbers;
use crate::output::rate;
use serde::Serialize;
use twiceshy_lab::models::cost::{Costs, Operations, Workload};

/// The mean cost of an operation on a slow memory behind a filter (003 section 3), at one false-positive rate or two.
#[derive(clap::Args)]
#[command(after_help = "Example, a plain filter and an adaptive one:\n  \
                        twiceshy model cost --fpr 1.5% --than 0.1% --positive 100 --negative 1")]
pub(crate) struct Args {
    /// The false-positive rate
    #[arg(long, value_parser = numbers::rate)]
    fpr: f64,
    /// Another false-positive rate to compare with
    #[arg(long, value_parser = numbers::rate)]
    than: Option<f64>,
    /// The share of look-ups among all operations; the rest are insertions and deletions
    #[arg(long, default_value = "1", value_parser = numbers::fraction)]
    lookups: f64,
    /// The share of insertions
    #[arg(long, default_value = "0", value_parser = numbers::fraction)]
    insertions: f64,
    /// The share of deletions
    #[arg(long, default_value = "0", value_parser = numbers::fraction)]
    deletions: f64,
    /// The share of the look-ups whose key is stored
    #[arg(long, default_value = "0.1", value_parser = numbers::fraction)]
    stored: f64,
    /// The cost of a look-up that reaches the slow memory, in any unit
    #[arg(long, default_value = "100", value_parser = numbers::fraction)]
    positive: f64,
    /// The cost of a look-up that the filter answers
    #[arg(long, default_value = "1", value_parser = numbers::fraction)]
    negative: f64,
    /// The cost of an insertion
    #[arg(long, default_value = "0", value_parser = numbers::fraction)]
    insertion: f64,
    /// The cost of a deletion
    #[arg(long, default_value = "0", value_parser = numbers::fraction)]
    deletion: f64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    fpr: f64,
    cost: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    than: Option<Other>,
}

#[derive(Serialize)]
struct Other {
    fpr: f64,
    cost: f64,
    saved: f64,
    ratio: f64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let operations = Operations {
        lookups: args.lookups,
        insertions: args.insertions,
        deletions: args.deletions,
        true_positives: args.stored,
    };
    let costs =
        Costs { positive: args.positive, negative: args.negative, insertion: args.insertion, deletion: args.deletion };
    let workload = Workload::new(operations, costs)?;
    let cost = workload.cost(args.fpr)?;
    let mut rows = vec![row(&format!("at a false-positive rate of {}", rate(args.fpr)), format!("{cost:.6}"))];
    let other = |fpr: f64| {
        let pair = workload.compare(args.fpr, fpr)?;
        Ok::<_, anyhow::Error>(Other { fpr, cost: pair.second, saved: pair.saved(), ratio: pair.ratio() })
    };
    let than = args.than.map(other).transpose()?;
    if let Some(other) = &than {
        rows.push(row(&format!("at a false-positive rate of {}", rate(other.fpr)), format!("{:.6}", other.cost)));
        rows.push(row("saved per operation", format!("{:.6}", other.saved)));
        rows.push(row("the second over the first", format!("{:.4}", other.ratio)));
    }
    let prediction = Prediction { model: "cost", fpr: args.fpr, cost, than };
    show(args.json, &prediction, "The mean cost of an operation, without what an adaptation costs", &rows)
}
