//! 002 section 2.1: the cost of an insertion as the table fills.

use crate::experiment::{
    Axis, Curve, Experiment, Finding, Line, Picture, Row, Setup, Size, Table, Task, TaskError, line,
};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::{FullKeyFilter, Search};
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

/// Insertions move a constant number of keys until the table is nearly full.
pub(super) struct InsertionCost;

const SHAPES: [(u64, u64, f64); 4] = [(2, 1, 0.49), (3, 1, 0.91), (4, 1, 0.97), (2, 4, 0.975)];

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

    fn source(&self) -> &'static str {
        "002, Theorem 1"
    }

    fn method(&self, size: Size) -> Vec<String> {
        vec![format!(
            "Filters of {} cells are filled; for each twentieth of the shape's capacity, the keys that an insertion moves on \
             average, with shortest paths (breadth-first) and with the random walk of 003 section 2.1.",
            size.pick("10,000 and 40,000", "100,000 and 1,000,000")
        )]
    }

    fn columns(&self) -> &'static [&'static str] {
        &["shape", "search", "cells", "load", "moved_per_insertion", "longest_path"]
    }

    fn tasks(&self, setup: &Setup) -> Vec<Task> {
        let sizes = setup.size.pick([10_000, 40_000], [100_000, 1_000_000]);
        let mut tasks = Vec::new();
        for cells in sizes {
            for shape in SHAPES {
                for search in SEARCHES {
                    let seed = setup.seed;
                    let name = format!("{}×{}, {}, {cells} cells", shape.0, shape.1, search.0);
                    tasks.push(Task::new(name, cells as f64 * 5e-6, move || measure(shape, search, cells, seed)));
                }
            }
        }
        tasks
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
                        Curve::measured(shape, look, own.pairs("load", "moved_per_insertion"))
                    })
                    .collect(),
            })
            .into()
    }

    fn findings(&self, table: &Table, _: Size) -> Vec<Finding> {
        let at = |row: &Row<'_>, shape: &str, search: &str| row.text("shape") == shape && row.text("search") == search;
        let moved = |shape: &str, search: &str, cells: f64, load: f64| -> f64 {
            let rows = table.rows().filter(|row| at(row, shape, search) && row.number("cells") == Some(cells));
            let nearest = rows.min_by(|a, b| {
                let away = |row: &Row<'_>| (row.number("load").unwrap_or(2.0) - load).abs();
                away(a).total_cmp(&away(b))
            });
            nearest.and_then(|row| row.number("moved_per_insertion")).unwrap_or(f64::NAN)
        };
        let mut sizes: Vec<f64> = table.values("cells").iter().filter_map(crate::experiment::Value::number).collect();
        sizes.sort_by(f64::total_cmp);
        let (Some(small), Some(large)) = (sizes.first().copied(), sizes.last().copied()) else { return Vec::new() };
        // |T| = (2 + δ)n: at a load of 0.4, δ = 0.5.
        let delta = 0.5f64;
        let bound = 1.0 + 2.0 / (1.0 - (1.0 + delta / 2.0).powf(-1.0 / 3.0));
        let walk = moved("2×1", "random walk", large, 0.4);
        let mut findings = vec![Finding::new(
            format!(
                "Theorem 1: at a load of 0.4 (δ = 0.5) an insertion takes no more than {bound:.0} steps on average"
            ),
            format!("{walk:.3} keys moved"),
            walk < bound,
        )];
        for (shape, load) in [("2×1", 0.4), ("4×1", 0.9), ("2×4", 0.9)] {
            let pair = [small, large].map(|cells| moved(shape, "shortest path", cells, load));
            findings.push(Finding::new(
                if shape == "2×1" {
                    format!("Theorem 1: expected constant time, so the cost does not grow with the table ({shape}, load {load})")
                } else {
                    format!("Beyond the theorem, the same is expected of other shapes below their thresholds ({shape}, load {load})")
                },
                format!("{:.3} keys moved in {small} cells, {:.3} in {large}", pair[0], pair[1]),
                (pair[0] - pair[1]).abs() < 0.15 * pair[1] + 0.02,
            ));
        }
        let (early, late) = (moved("4×1", "random walk", large, 0.5), moved("4×1", "random walk", large, 0.95));
        findings.push(Finding::new(
            "section 2: the cost deteriorates as the load nears the shape's limit",
            format!("4×1, random walk: {early:.3} keys moved at half load, {late:.1} at 95 %"),
            late > 5.0 * early,
        ));
        findings
    }
}
