//! 002 section 2.1: the cost of an insertion as the table fills.

use crate::experiment::{
    Axis, Budget, Curve, Evidence, Experiment, Line, Picture, Planted, Point, Row, Sample, Setup, Size, Statement,
    Table, TaskError, line,
};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::{FullKeyFilter, Search};
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

/// Insertions move a constant number of keys until the table is nearly full.
pub(super) struct InsertionCost;

const SHAPES: [(u64, u64, f64); 4] = [(2, 1, 0.49), (4, 1, 0.97), (2, 4, 0.975), (3, 1, 0.91)];

/// The shapes of a run; no statement is about the last, and the tests have time for one.
fn shapes(size: Size) -> &'static [(u64, u64, f64)] {
    size.of(&SHAPES[2..3], &SHAPES[..3], &SHAPES)
}

/// The cells of the small and of the large table.
fn cells(size: Size) -> [u64; 2] {
    size.of([4_000, 16_000], [16_000, 64_000], [100_000, 1_000_000])
}

const SEARCHES: [(&str, Search); 2] = [
    ("shortest path", Search::BreadthFirst { cells: 1 << 16 }),
    ("random walk", Search::RandomWalk { steps: 1 << 16 }),
];

/// The loads between which costs are averaged, as shares of the most that the shape takes.
const STEPS: usize = 20;

fn measure(
    shape: (u64, u64, f64),
    search: (&'static str, Search),
    cells: u64,
    seed: u64,
) -> Result<Vec<Line>, TaskError> {
    let (tables, cells_per_bucket, most) = shape;
    let mut rng = Rng::stream(seed, cells);
    for _ in 0..20 {
        let options = FullKeyFilter::with_cells(cells, 16).tables(tables).cells_per_bucket(cells_per_bucket);
        let mut filter =
            options.search(search.1).build(HashKey::fixed(rng.word()), Mirror::new()).map_err(TaskError::new)?;
        let keys = Keys::new(cells, 0, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
        let mut lines = Vec::new();
        let mut filled = 0;
        let name = format!("{tables}×{cells_per_bucket}");
        for step in 1..=STEPS {
            let until = (filter.filter().cells() as f64 * most * step as f64 / STEPS as f64) as u64;
            let before = filter.filter().stats();
            let put = |number: u64| filter.insert(&keys.stored(number));
            let full = (filled..until).map(put).any(|inserted| inserted.is_err());
            if full {
                break;
            }
            let after = filter.filter().stats();
            // A path of one cell moves no key.
            let moved = (after.path_cells - before.path_cells) - (after.insertions - before.insertions);
            let middle = (filled + until) as f64 / 2.0 / filter.filter().cells() as f64;
            let a_key = moved as f64 / (until - filled).max(1) as f64;
            lines.push(line![name.as_str(), search.0, cells, middle, a_key, after.longest_path]);
            filled = until;
        }
        if lines.len() == STEPS {
            return Ok(lines);
        }
    }
    Err(TaskError::new(format!("no hash key of 20 fills a table of {tables}×{cells_per_bucket} to {most}")))
}

impl Experiment for InsertionCost {
    fn name(&self) -> &'static str {
        "insertion-cost"
    }

    fn claim(&self) -> &'static str {
        "Insertions move a constant number of keys until the table is nearly full"
    }

    fn measures(&self) -> &'static str {
        "Keys moved by an insertion, over the load"
    }

    fn source(&self) -> &'static str {
        "002, Theorem 1"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Filters of {} cells are filled; for each twentieth of the shape's capacity, the keys that an insertion moves on \
             average, with shortest paths (breadth-first) and with the random walk of 003 section 2.1.",
            size.pick("16,000 and 64,000", "100,000 and 1,000,000")
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["shape", "search", "cells", "load", "moved_per_insertion", "longest_path"]
    }

    fn budget(&self, size: Size) -> Budget {
        size.of(Budget { first: 20, most: 80 }, Budget { first: 20, most: 80 }, Budget { first: 10, most: 40 })
    }

    /// A planted wrong rule: the large tables are searched by random walks only.
    fn points(&self, setup: &Setup) -> Vec<Point> {
        let [small, large] = cells(setup.size);
        let mut points = Vec::new();
        for cells in [small, large] {
            for &shape in shapes(setup.size) {
                // Of small tables only the cost of shortest paths is compared, and of all in the tests.
                let count = if cells == small || setup.size == Size::Tiny { 1 } else { 2 };
                for (name, search) in SEARCHES.into_iter().take(count) {
                    let wrong = setup.planted == Planted::WrongRule && cells == large;
                    let search = (name, if wrong { SEARCHES[1].1 } else { search });
                    let name = format!("{}×{}, {name}, {cells} cells", shape.0, shape.1);
                    let measure = move |seed: u64| measure(shape, search, cells, seed);
                    points.push(Point::new(name, cells as f64 * 2e-6, &(shape, search, cells), measure));
                }
            }
        }
        points
    }

    fn pictures(&self, table: &Table) -> Vec<Picture> {
        let most = table.rows().filter_map(|row| row.number("cells")).fold(0.0, f64::max);
        let large = table.only("cells", most);
        SEARCHES
            .map(|(search, _)| Picture {
                name: crate::experiment::contest::file_name(&format!("insertion-cost {search}")),
                title: format!("Keys moved by an insertion, {search}"),
                x: Axis::linear("keys over cells"),
                y: Axis::log("keys moved"),
                lines: SHAPES
                    .iter()
                    .enumerate()
                    .map(|(look, (tables, cells, _))| {
                        let shape = format!("{tables}×{cells}");
                        let own = large.only("search", search).only("shape", shape.as_str());
                        Curve::measured(shape, look, own.means("load", "moved_per_insertion"))
                    })
                    .collect(),
            })
            .into()
    }

    fn statements(&self, table: &Table, size: Size) -> Vec<Statement> {
        if size == Size::Tiny {
            return vec![constant(table, "2×4", 0.9, size)];
        }
        let [_, large] = cells(size);
        let [early, late] = [0.5, 0.95].map(|load| moved(table, "4×1", "random walk", large, load));
        vec![
            constant(table, "2×1", 0.4, size),
            constant(table, "4×1", 0.9, size),
            constant(table, "2×4", 0.9, size),
            Statement::new(
                "section 2: the cost deteriorates as the load nears the shape's limit",
                "4×1, random walk: keys moved at a load of 0.95 over those at 0.5, at least 5",
            )
            .every(vec![Evidence::ratio("0.95 over 0.5", &late, &early).above(5.0)]),
        ]
    }
}

/// The statement that the cost does not depend on the size of the table.
fn constant(table: &Table, shape: &str, load: f64, size: Size) -> Statement {
    let [small, large] = cells(size);
    let [few, many] = [small, large].map(|cells| moved(table, shape, "shortest path", cells, load));
    let words = match shape {
        "2×1" => "Theorem 1: expected constant time, so the cost does not grow with the table",
        _ => "This project, beyond the theorem: the same is expected of other shapes below their thresholds",
    };
    Statement::new(
        format!("{words} ({shape}, load {load})"),
        format!("shortest path: keys moved in {large} cells over those in {small}, 0.9 to 1.1"),
    )
    .every(vec![Evidence::ratio("large over small", &many, &few).within(0.9, 1.1)])
}

/// How far from a load costs are still counted as costs at this load.
const NEAR: f64 = 0.05;

/// The keys that an insertion moves around a load, for each trial.
fn moved(table: &Table, shape: &str, search: &str, cells: u64, load: f64) -> Sample {
    let own = table.only("shape", shape).only("search", search).only("cells", cells);
    let cost = |row: &Row<'_>| {
        let near = (row.number("load")? - load).abs() <= NEAR;
        if near { row.number("moved_per_insertion") } else { None }
    };
    own.sample_by(|rows| {
        let costs: Vec<f64> = rows.iter().filter_map(cost).collect();
        (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64)
    })
}
