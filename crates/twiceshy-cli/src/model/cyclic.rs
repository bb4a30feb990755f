//! `twiceshy model cyclic`.

use super::asking::Asking;
use super::{row, show};
use crate::numbers;
use crate::output::rate;
use serde::Serialize;
use twiceshy_lab::models::{CyclicModel, EmptyCell};

/// The false-positive rate of a Cyclic filter under uniformly repeated queries (003 sections 3.1 and 3.2).
#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy model cyclic --bits 12 --selector-bits 1 --ratio 10")]
pub(crate) struct Args {
    #[command(flatten)]
    cells: Cells,
    #[command(flatten)]
    asking: Asking,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// More functions than any filter has: with many more the model takes minutes.
const MOST_SELECTOR_BITS: u32 = 6;

/// The cells of a Cyclic filter.
#[derive(clap::Args)]
pub(super) struct Cells {
    /// The bits of a cell, selector included
    #[arg(long, default_value = "8", value_parser = numbers::count::<u32>)]
    bits: u32,
    /// s: 2^s fingerprint functions
    #[arg(long, default_value = "1", value_parser = numbers::count::<u32>)]
    selector_bits: u32,
    /// r: unequal ranges, in which the later functions share one value of 2^r
    #[arg(long, value_parser = numbers::count::<u32>)]
    range_split: Option<u32>,
    /// The number of tables, each with one cell a bucket
    #[arg(long, default_value = "4", value_parser = numbers::count::<u32>)]
    pub(super) tables: u32,
    /// Ignore that one value of a cell means empty, as the paper's formulas do
    #[arg(long)]
    as_printed: bool,
}

impl Cells {
    /// The model of such a filter.
    pub(super) fn model(&self, load: f64) -> anyhow::Result<CyclicModel> {
        let empty = if self.as_printed { EmptyCell::Ignored } else { EmptyCell::Reserved };
        if self.bits > 63 {
            anyhow::bail!("--bits must be at most 63, not {}", self.bits);
        }
        if self.selector_bits > MOST_SELECTOR_BITS {
            anyhow::bail!("--selector-bits must be at most {MOST_SELECTOR_BITS}, not {}", self.selector_bits);
        }
        if !(1..=8).contains(&self.tables) {
            anyhow::bail!("--tables must be from 1 to 8, usually 4, not {}", self.tables);
        }
        Ok(match self.range_split {
            Some(split) => CyclicModel::unequal_ranges(self.tables, load, self.bits, self.selector_bits, split, empty)?,
            None => {
                let left = self.bits.checked_sub(self.selector_bits).ok_or_else(|| {
                    anyhow::anyhow!(
                        "{} selector bits do not fit into {} bits: raise --bits",
                        self.selector_bits,
                        self.bits
                    )
                })?;
                CyclicModel::equal_ranges(self.tables, load, left, self.selector_bits, empty)?
            }
        })
    }
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    keys: u64,
    absent_keys: u64,
    queries: u64,
    /// Over these queries.
    fpr: f64,
    /// As 003 prints it, for very many queries.
    fpr_as_printed: f64,
    /// Before anything is learned.
    static_fpr: f64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let sizes = args.asking.sizes(args.cells.tables, 1)?;
    let model = args.cells.model(args.asking.load)?;
    let (buckets, absent, queries) = (sizes.buckets_per_table, sizes.absent, sizes.queries);
    let first = model.collision().first().copied().unwrap_or(1.0);
    let tables = i32::try_from(model.tables()).unwrap_or(i32::MAX);
    let prediction = Prediction {
        model: "cyclic",
        keys: sizes.keys,
        absent_keys: absent,
        queries,
        fpr: model.rate_finite(buckets, absent, queries),
        fpr_as_printed: model.rate(buckets, absent, queries),
        static_fpr: 1.0 - (1.0 - model.load() * first).powi(tables),
    };
    if !(prediction.fpr.is_finite() && prediction.fpr_as_printed.is_finite()) {
        anyhow::bail!("the model cannot be computed for these numbers: lower --ratio, --bits or --selector-bits");
    }
    let rows = [
        row("false-positive rate over these queries", rate(prediction.fpr)),
        row("  by the paper's formula, for very many queries", rate(prediction.fpr_as_printed)),
        row("static rate, before anything is learned", rate(prediction.static_fpr)),
    ];
    show(args.json, &prediction, &format!("Cyclic, {}", args.asking.words(&sizes)), &rows)
}
