//! 002 section 2.2: how full cuckoo tables of different shapes get.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Row, Setup, Size, Statement, Table,
    TaskError, line,
};
use crate::models::thresholds::load_threshold;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::{CuckooTable, Insertion, Search, Shape};
use twiceshy::hash::HashKey;

/// More functions and larger buckets make fuller tables.
pub(super) struct LoadThresholds;

/// Tables of buckets, and the load that 002 reports for them.
#[derive(Clone, Copy, Debug)]
struct Filled {
    tables: u32,
    cells_per_bucket: u32,
    paper: Option<f64>,
}

const fn filled(tables: u32, cells_per_bucket: u32, paper: Option<f64>) -> Filled {
    Filled { tables, cells_per_bucket, paper }
}

const SHAPES: [Filled; 8] = [
    filled(2, 1, Some(0.5)),
    filled(3, 1, Some(0.91)),
    filled(2, 2, Some(0.86)),
    filled(4, 4, Some(0.999)),
    filled(3, 8, Some(0.999)),
    filled(4, 1, None),
    filled(2, 4, None),
    filled(2, 8, None),
];

/// The shapes of a run: the tests leave out those that take longest.
fn shapes(size: Size) -> &'static [Filled] {
    size.of(&SHAPES[..3], &SHAPES[..7], &SHAPES)
}

/// How many cells a search may visit. With fewer, a table counts as full too early.
const CELLS_SEEN: u32 = 1 << 17;

/// The same with the planted wrong rule: a shallow search.
const FEW_CELLS_SEEN: u32 = 8;

impl Filled {
    fn name(self) -> String {
        format!("{}×{}", self.tables, self.cells_per_bucket)
    }

    fn measure(self, cells: u64, planted: Planted, seed: u64) -> Result<Vec<Line>, TaskError> {
        let Filled { tables, cells_per_bucket, paper } = self;
        let seen = if planted == Planted::WrongRule { FEW_CELLS_SEEN } else { CELLS_SEEN };
        let shape = Shape::with_cells(tables.into(), cells_per_bucket.into(), cells).map_err(TaskError::new)?;
        let load = load_when_full(shape, seen, seed)?;
        let threshold = planted.model(load_threshold(tables, cells_per_bucket).map_err(TaskError::new)?);
        Ok(vec![line![self.name(), tables, cells_per_bucket, cells, load, threshold, paper.unwrap_or(f64::NAN)]])
    }

    /// Its lines in a table.
    fn of(self, table: &Table) -> Table {
        table.only("point", self.name())
    }

    /// The statement that it gets as full as the paper says.
    fn reaches(self, paper: f64, table: &Table) -> Statement {
        let (name, load) = (self.name(), self.of(table).sample("load"));
        if paper == 0.5 {
            let tested = "load at which the first key finds no room, on average over tables: 0.8 to 1.25 times 1/2";
            return Statement::new("section 2: two functions and single cells reach a load of about 1/2", tested)
                .every(vec![Evidence::mean(name, &load).within(0.4, 0.625)]);
        }
        // Tables with few cells to spare are often full to the last one: loads are equal, and far from normal.
        let (which, evidence) = match paper > 0.99 {
            true => ("in the median table", Evidence::median(name.as_str(), &load)),
            false => ("on average over tables", Evidence::mean(name.as_str(), &load)),
        };
        Statement::new(
            format!("section 2.2: {name} reaches a load of {:.1} %", paper * 100.0),
            format!("load at which the first key finds no room, {which}: at least {paper}"),
        )
        .every(vec![evidence.above(paper)])
    }
}

/// The load of a table when the first key finds no room.
fn load_when_full(shape: Shape, cells_seen: u32, seed: u64) -> Result<f64, TaskError> {
    let mut rng = Rng::stream(seed, 0x1_0AD);
    let table = CuckooTable::new(shape, HashKey::fixed(rng.word())).map_err(TaskError::new)?;
    let search = Search::BreadthFirst { cells: cells_seen };
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

impl Experiment for LoadThresholds {
    fn name(&self) -> &'static str {
        "load-thresholds"
    }

    fn claim(&self) -> &'static str {
        "More functions and larger buckets fill cuckoo tables to the last cells"
    }

    fn measures(&self) -> &'static str {
        "The load at which the first key finds no room, for eight shapes"
    }

    fn source(&self) -> &'static str {
        "002, section 2.2"
    }

    fn method(&self, size: Size) -> Vec<String> {
        let cells = size.pick("10,000", "1,000,000");
        vec![format!(
            "Exact cuckoo tables of {cells} cells are filled until the first key finds no room under its hash key, with a \
             breadth-first search over up to {CELLS_SEEN} cells. A trial is one table. The thresholds are those of \
             random hypergraphs, which a large table reaches and does not exceed."
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["shape", "tables", "cells_per_bucket", "cells", "load", "threshold", "paper_load"]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 24, most: 96 }, Budget { first: 24, most: 96 }, Budget { first: 24, most: 48 })
    }

    fn points(&self, setup: &Setup) -> Vec<Point> {
        let (cells, work) = setup.size.of((4_000, 0.01), (10_000, 0.08), (1_000_000, 10.0));
        let planted = setup.planted;
        let point = |shape: &Filled| {
            let shape = *shape;
            let measure = move |seed: u64| shape.measure(cells, planted, seed);
            Point::new(shape.name(), work, &(shape, cells, planted), measure)
        };
        shapes(setup.size).iter().map(point).collect()
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let mut lines = Vec::new();
        for (look, tables) in [2u32, 3, 4].into_iter().enumerate() {
            let own = table.only("tables", tables);
            let along = |name: &str| own.means("cells_per_bucket", name);
            lines.push(Curve::measured(format!("{tables} functions"), look, along("load")));
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

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        let shapes = shapes(size).iter();
        let mut statements: Vec<Statement> =
            shapes.clone().filter_map(|shape| Some(shape.reaches(shape.paper?, table))).collect();
        let near = |shape: &Filled| {
            let quotient = |row: &Row<'_>| Some(row.number("load")? / row.number("threshold")?);
            let sample = shape.of(table).sample_by(|rows| rows.first().and_then(quotient));
            Evidence::median(shape.name(), &sample).within(0.99, 1.01)
        };
        // Around 1/2 the load varies by about n^(-1/3) with the first component that has two cycles.
        let others = shapes.filter(|shape| (shape.tables, shape.cells_per_bucket) != (2, 1));
        statements.push(
            Statement::new(
                "Tables fill up to the thresholds of random hypergraphs (after 002's sources)",
                "load of the median table over the threshold, for every shape but 2×1: 0.99 to 1.01",
            )
            .every(others.map(near).collect()),
        );
        statements
    }
}
