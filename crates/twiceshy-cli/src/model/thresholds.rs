//! `twiceshy model thresholds`.

use super::show;
use crate::numbers;
use serde::Serialize;
use twiceshy::sizing::design_load;
use twiceshy_lab::models::thresholds::load_threshold;

/// The load at which cuckoo tables are full (002 section 2.2), for one shape or for the usual ones.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  twiceshy model thresholds --tables 2 --cells-per-bucket 4")]
pub(crate) struct Args {
    /// The number of tables [default: a list of shapes]
    #[arg(long, requires = "cells_per_bucket", value_parser = numbers::count::<u32>)]
    tables: Option<u32>,
    /// The cells of a bucket
    #[arg(long, requires = "tables", value_parser = numbers::count::<u32>)]
    cells_per_bucket: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The shapes of the papers.
const USUAL: [(u32, u32); 9] = [(2, 1), (2, 2), (2, 4), (2, 8), (3, 1), (3, 2), (3, 4), (4, 1), (4, 2)];

#[derive(Serialize)]
struct Prediction {
    model: &'static str,
    shapes: Vec<Shape>,
}

#[derive(Serialize)]
struct Shape {
    tables: u32,
    cells_per_bucket: u32,
    /// Of infinitely large tables.
    threshold: f64,
    /// The load that this project plans for.
    planned: f64,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    let shapes = match (args.tables, args.cells_per_bucket) {
        (Some(tables), Some(cells)) => vec![(tables, cells)],
        _ => USUAL.to_vec(),
    };
    let shape = |(tables, cells): (u32, u32)| {
        let threshold = load_threshold(tables, cells)?;
        let planned = design_load(tables.into(), cells.into());
        Ok::<_, anyhow::Error>(Shape { tables, cells_per_bucket: cells, threshold, planned })
    };
    let shapes = shapes.into_iter().map(shape).collect::<Result<Vec<_>, _>>()?;
    let mut rows = vec![["shape", "threshold", "planned for"].map(str::to_owned).to_vec()];
    rows.extend(shapes.iter().map(|it| {
        let shape = format!("{}×{}", it.tables, it.cells_per_bucket);
        vec![shape, format!("{:.4}", it.threshold), format!("{:.4}", it.planned)]
    }));
    show(args.json, &Prediction { model: "thresholds", shapes }, "Keys over cells, tables × cells a bucket", &rows)
}
