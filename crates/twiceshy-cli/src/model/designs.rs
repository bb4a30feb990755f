//! `twiceshy model designs`.

use super::show;
use crate::numbers;
use crate::output::rate;
use serde::Serialize;
use twiceshy_lab::models::designs::Design;

/// The static false-positive rate and the bits a key of every filter, as formulas of its design: before anything is
/// learned, for large tables.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy model designs --bits 11 --load 0.95")]
pub(crate) struct Args {
    /// The bits of a cell; remainders of the quotient family have 3 bits less, those of the plain one 2
    #[arg(long, default_value = "11", value_parser = numbers::count::<u32>)]
    bits: u32,
    /// Keys over cells or slots
    #[arg(long, default_value = "0.95", value_parser = numbers::fraction)]
    load: f64,
    /// s: the selector bits of Cyclic
    #[arg(long, default_value = "1", value_parser = numbers::count::<u32>)]
    selector_bits: u32,
    /// r: of Cyclic with unequal ranges
    #[arg(long, default_value = "2", value_parser = numbers::count::<u32>)]
    range_split: u32,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    load: f64,
    designs: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    filter: &'static str,
    /// The bits of a cell or remainder.
    bits: u32,
    static_fpr: f64,
    bits_per_key: f64,
}

/// Every filter with cells or slots of about the same size.
fn designs(args: &Args) -> Vec<(&'static str, u32, Design)> {
    let Args { bits, selector_bits, range_split, .. } = *args;
    let remainder = |overhead: u32| bits.saturating_sub(overhead);
    let slots = |name, overhead, design: fn(u32) -> Design| (name, remainder(overhead), design(remainder(overhead)));
    let cells = |name, design| (name, bits, design);
    vec![
        cells("cuckoo, 4×1", Design::Cuckoo { tables: 4, cells: 1, bits }),
        cells("cuckoo, partial-key 2×4", Design::PartialKey { tables: 2, cells: 4, bits }),
        cells("cyclic", Design::Cyclic { tables: 4, bits, selector_bits }),
        cells("cyclic, unequal ranges", Design::CyclicUnequal { tables: 4, bits, split: range_split }),
        cells("swapping, 2×4", Design::Swapping { tables: 2, cells: 4, bits }),
        cells("cuckooing, 4×1", Design::Cuckooing { tables: 4, cells: 1, bits }),
        slots("quotient", 2, |bits| Design::Quotient { bits }),
        slots("telescoping", 3, |bits| Design::Telescoping { bits }),
        slots("telescoping-plain", 3, |bits| Design::TelescopingPlain { bits }),
        slots("extension", 3, |bits| Design::Extension { bits }),
        slots("broom, two levels", 6, |bits| Design::BroomTwoLevels { bits }),
    ]
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    if !(7..=62).contains(&args.bits) {
        anyhow::bail!("--bits must be from 7 to 62, so that all filters have a fingerprint, not {}", args.bits);
    }
    let row = |(filter, bits, design): (&'static str, u32, Design)| {
        let (static_fpr, bits_per_key) = (design.static_rate(args.load)?, design.bits_per_key(args.load)?);
        Ok::<_, anyhow::Error>(Row { filter, bits, static_fpr, bits_per_key })
    };
    let designs = designs(args).into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let mut rows = vec![["filter", "bits", "static rate", "bits a key"].map(str::to_owned).to_vec()];
    rows.extend(designs.iter().map(|it| {
        vec![it.filter.to_owned(), it.bits.to_string(), rate(it.static_fpr), format!("{:.2}", it.bits_per_key)]
    }));
    let prediction = Prediction { model: "designs", load: args.load, designs };
    show(args.json, &prediction, &format!("Filters at load {}, before anything is learned", args.load), &rows)
}
