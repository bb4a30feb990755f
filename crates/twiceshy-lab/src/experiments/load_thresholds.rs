//! 002 section 2.2: how full cuckoo tables of different shapes get.

use crate::experiment::{Axis, Curve, Experiment, Finding, Line, Picture, Setup, Size, Table, Task, TaskError, line};
use crate::workload::rng::Rng;
use twiceshy::cuckoo::{CuckooTable, Insertion, Search, Shape};
use twiceshy::hash::HashKey;

/// More functions and larger buckets make fuller tables.
pub(super) struct LoadThresholds;

/// The shapes, and the load that 002 reports for them.
const SHAPES: [(u32, u32, Option<f64>); 8] = [
    (2, 1, Some(0.5)),
    (3, 1, Some(0.91)),
    (4, 1, None),
    (2, 2, Some(0.86)),
    (2, 4, None),
    (2, 8, None),
    (4, 4, Some(0.999)),
    (3, 8, Some(0.999)),
];

/// How many cells a search may visit. With fewer, a table counts as full too early.
const CELLS_SEEN: u32 = 1 << 17;

/// The load of a table when the first key finds no room.
fn load_when_full(tables: u32, cells_per_bucket: u32, cells: u64, seed: u64) -> Result<f64, TaskError> {
    let shape = Shape::with_cells(tables.into(), cells_per_bucket.into(), cells).map_err(TaskError::new)?;
    let mut rng = Rng::stream(seed, 0x1_0AD);
    let table = CuckooTable::new(shape, HashKey::fixed(rng.word())).map_err(TaskError::new)?;
    let search = Search::BreadthFirst { cells: CELLS_SEEN };
    let mut table = table.with_insertion(Insertion::Search(search));
    let first = rng.word();
    for number in 0..=shape.cells() {
        // A new hash key is the first sign that there was no room.
        if table.insert(&first.wrapping_add(number).to_le_bytes()).is_err() || table.rehashes() > 0 {
            return Ok(number as f64 / shape.cells() as f64);
        }
    }
    Err(TaskError::new("more keys than cells found room"))
}

fn measure(shape: (u32, u32, Option<f64>), cells: u64, trials: u64, seed: u64) -> Result<Vec<Line>, TaskError> {
    let (tables, cells_per_bucket, paper) = shape;
    let trial = |trial: u64| load_when_full(tables, cells_per_bucket, cells, Rng::stream(seed, trial).word());
    let loads = (0..trials).map(trial).collect::<Result<Vec<_>, _>>()?;
    let mean = loads.iter().sum::<f64>() / trials as f64;
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(0.0, f64::max);
    let threshold = crate::models::thresholds::load_threshold(tables, cells_per_bucket).map_err(TaskError::new)?;
    let name = format!("{tables}×{cells_per_bucket}");
    Ok(vec![line![
        name,
        tables,
        cells_per_bucket,
        cells,
        trials,
        mean,
        least,
        most,
        threshold,
        paper.unwrap_or(f64::NAN)
    ]])
}

impl Experiment for LoadThresholds {
    fn name(&self) -> &'static str {
        "load-thresholds"
    }

    fn claim(&self) -> &'static str {
        "More functions and larger buckets fill cuckoo tables to the last cells"
    }

    fn source(&self) -> &'static str {
        "002, section 2.2"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let (cells, trials) = (size.pick("20,000", "1,000,000"), size.pick(3, 10));
        vec![format!(
            "Exact cuckoo tables of {cells} cells are filled until the first key finds no room under its hash key, with a \
             breadth-first search over up to {CELLS_SEEN} cells; {trials} tables of each shape. The thresholds are those of \
             random hypergraphs, which a large table reaches and does not exceed."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &[
            "shape",
            "tables",
            "cells_per_bucket",
            "cells",
            "trials",
            "load",
            "least_load",
            "most_load",
            "threshold",
            "paper_load",
        ]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let (cells, trials) = setup.size.pick((20_000, 3), (1_000_000, 10));
        let seed = setup.seed;
        let task = |shape: (u32, u32, Option<f64>)| {
            let work = setup.size.pick(0.3, 60.0);
            Task::new(format!("{}×{}", shape.0, shape.1), work, move || measure(shape, cells, trials, seed))
        };
        SHAPES.map(task).into_iter().collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let mut lines = Vec::new();
        for (look, tables) in [2u32, 3, 4].into_iter().enumerate() {
            let own = table.only("tables", tables);
            let mut sorted: Vec<_> = own.rows().collect();
            sorted.sort_by_key(|row| row.number("cells_per_bucket").unwrap_or(0.0) as u64);
            let column = |name: &str| -> Vec<f64> { sorted.iter().filter_map(|row| row.number(name)).collect() };
            let along = |name: &str| column("cells_per_bucket").into_iter().zip(column(name)).collect::<Vec<_>>();
            let intervals = column("least_load").into_iter().zip(column("most_load")).collect();
            lines.push(Curve::measured(format!("{tables} functions"), look, along("load")).within(intervals));
            lines.push(Curve::model(format!("{tables} functions, threshold"), look, along("threshold")));
        }
        vec![Picture {
            name: "load-thresholds".into(),
            title: "The load at which the first key finds no room".into(),
            x: Axis::own_range("cells in a bucket"),
            y: Axis::own_range("keys over cells"),
            lines,
        }]
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let mut findings = Vec::new();
        for row in table.rows() {
            let (shape, load) = (row.text("shape"), row.number("load").unwrap_or(0.0));
            let Some(paper) = row.number("paper_load").filter(|load| load.is_finite()) else { continue };
            let says = match paper {
                0.5 => "section 2: two functions and single cells reach a load of about 1/2".to_owned(),
                paper => format!("section 2.2: {shape} reaches a load of {:.1} %", paper * 100.0),
            };
            // The first component with two cycles appears within about n^(-1/3) of the threshold of 1/2.
            let cells = row.number("cells").unwrap_or(f64::NAN);
            let holds = if paper == 0.5 { (load - 0.5).abs() < 1.5 / cells.cbrt() } else { load >= paper };
            let threshold = row.number("threshold").unwrap_or(0.0) * 100.0;
            let measured =
                format!("{:.2} % on average; the threshold of large tables is {threshold:.2} %", load * 100.0);
            findings.push(
                Finding::new(says, measured, holds)
                    .because("the load at which the first key finds no room differs from table to table"),
            );
        }
        let near = |row: &crate::experiment::Row<'_>| {
            Some((row.number("load")? - row.number("threshold")?).abs() / row.number("threshold")?)
        };
        let worst =
            table.rows().filter(|row| row.text("shape") != "2×1").filter_map(|row| near(&row)).fold(0.0, f64::max);
        findings.push(
            Finding::new(
                "Tables fill up to the thresholds of random hypergraphs (after 002's sources)",
                format!("the worst shape is {:.2} % of its threshold away", worst * 100.0),
                worst < 0.01,
            )
            .of(table.len()),
        );
        findings
    }
}
