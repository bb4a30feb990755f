//! Filters under uniformly repeated queries, compared with the models of 003: the data of its Figures 1 to 4.

use super::full_table::FullTable;
use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Picture, Point, Sample, Setup, Size, Statement, Table, contest,
};
use crate::uniform::Way;

pub(super) const COLUMNS: &[&str] = &[
    "filter",
    "cell_bits",
    "per_key",
    "ratio",
    "cells",
    "bits_per_key",
    "queries",
    "false_positives",
    "fpr",
    "model",
    "model_printed",
];

/// The load of all tables.
pub(super) const LOAD: f64 = 0.95;

/// The most trials of a [long](At::is_long) point: as in the paper.
const FEW: u64 = 10;

/// The A/S above 10 at which filters of 8 bits are asked 100 times for each key: up to 0.4 µs for each of 10⁸ false positives.
const FAR_RATIOS: [u64; 3] = [20, 50, 100];

/// In smaller tables the few hundred bits that a filter has besides its cells are more than 1 % of the memory.
const FEWEST: u64 = 8_400;

/// How many trials a point of the grid gets.
pub(super) fn budget(size: Size) -> Budget {
    size.of(Budget { first: 20, most: 80 }, Budget { first: 10, most: 80 }, Budget { first: 10, most: 40 })
}

/// The filters of 003.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Plain,
    Cyclic { s: u32 },
    Unequal { r: u32, s: u32 },
    Swapping,
}

impl Kind {
    pub(super) fn contender(self, bits: u32) -> Contender {
        match self {
            Kind::Plain => Contender::cuckoo(bits),
            Kind::Cyclic { s } => Contender::cyclic(bits, s),
            Kind::Unequal { r, s } => Contender::unequal(bits, r, s),
            Kind::Swapping => Contender::swapping(bits),
        }
    }

    pub(super) fn label(self) -> String {
        self.contender(8).label
    }

    /// What the filter does about a false positive; `None` if nothing.
    pub(super) fn way(self) -> Option<Way> {
        match self {
            Kind::Plain => None,
            Kind::Cyclic { .. } | Kind::Unequal { .. } => Some(Way::Next),
            Kind::Swapping => Some(Way::Swap),
        }
    }

    /// The number of its fingerprint functions.
    pub(super) fn functions(self) -> u8 {
        match self {
            Kind::Plain => 1,
            Kind::Cyclic { s } => 1 << s,
            Kind::Unequal { s, .. } => (1 << s) + 1,
            Kind::Swapping => 4,
        }
    }

    /// About the rate of a filter that has learned little, to estimate the work.
    pub(super) fn static_rate(self, bits: u32) -> f64 {
        let (compared, fingerprint) = match self {
            Kind::Plain => (4.0, bits),
            Kind::Cyclic { s } => (4.0, bits - s),
            Kind::Unequal { r, s } => (4.0, (bits - r - s).max(bits / 2)),
            Kind::Swapping => (8.0, bits),
        };
        f64::min(1.0, compared * LOAD / f64::from(1u32 << fingerprint))
    }

    pub(super) fn tables(self) -> u64 {
        if self == Kind::Swapping { 2 } else { 4 }
    }
}

/// A filter at a point of the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) kind: Kind,
    pub(super) at: At,
}

/// A point of the grid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct At {
    pub(super) bits: u32,
    pub(super) per_key: u64,
    pub(super) ratio: u64,
}

impl At {
    pub(super) const fn new(bits: u32, per_key: u64, ratio: u64) -> At {
        At { bits, per_key, ratio }
    }

    /// `true` if a trial has so many false positives, up to 10⁸, that the point gets few trials.
    pub(super) fn is_long(self) -> bool {
        self.bits <= 8 && self.per_key > 10 && self.ratio > 10
    }

    /// `true` for the long points that are measured.
    fn is_worth_it(self) -> bool {
        self.per_key < 1_000 && FAR_RATIOS.contains(&self.ratio)
    }

    /// The points of these widths, queries per key and ratios whose tables are large enough to mean anything.
    pub(super) fn grid(size: Size, widths: &[u32], per_key: &[u64], ratios: &[u64]) -> Vec<At> {
        let mut grid = Vec::new();
        for bits in widths {
            for per_key in per_key {
                grid.extend(ratios.iter().map(|ratio| At::new(*bits, *per_key, *ratio)));
            }
        }
        // With 8 bits and 1,000 queries a key there may be 10^9 false positives: `repeated-queries` measures those.
        grid.retain(|at| Effort::of(size, at.bits).cells(*at).is_some() && (!at.is_long() || at.is_worth_it()));
        grid
    }
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bits, {} queries a key, A/S {}", self.bits, self.per_key, self.ratio)
    }
}

/// The limits of the work for a trial.
#[derive(Clone, Copy, Debug)]
struct Effort {
    cells: u64,
    least_cells: u64,
    /// The most absent keys.
    absent: u64,
    /// The buckets that the model of Swapping draws.
    samples: u64,
}

impl Effort {
    fn of(size: Size, bits: u32) -> Effort {
        let tiny = Effort { cells: 4_096, least_cells: 256, absent: 60_000, samples: 2_000 };
        let cells = if bits <= 8 { FEWEST } else { 2_500 * u64::from(bits) };
        let quick = Effort { cells, least_cells: FEWEST, absent: 800_000, samples: 4_000 };
        let paper = Effort { cells: 131_072, least_cells: 131_072, absent: u64::MAX, samples: 20_000 };
        size.of(tiny, quick, paper)
    }

    /// As many cells as the effort allows; `None` if the table would be too small to mean anything.
    fn cells(self, at: At) -> Option<u64> {
        let most = self.absent as f64 / at.ratio as f64 / LOAD;
        let cells = self.cells.min(most as u64 / 8 * 8);
        (cells >= self.least_cells).then_some(cells)
    }
}

impl Run {
    pub(super) fn name(self) -> String {
        format!("{}, {}", self.kind.label(), self.at)
    }

    /// The points that measure some runs, long ones apart from the others.
    pub(super) fn points(runs: &[Run], setup: &Setup) -> Vec<Point> {
        let (long, others): (Vec<Run>, Vec<Run>) = runs.iter().partition(|run| run.at.is_long());
        let few = |point: Point| {
            let name = format!("{}, long", point.name);
            point.at_most(FEW).named(name)
        };
        let long = Run::together(&long, setup).into_iter().map(few);
        Run::together(&others, setup).into_iter().chain(long).collect()
    }

    /// The points that measure some runs. One trial of a point measures all runs of a filter whose table has the same size.
    fn together(runs: &[Run], setup: &Setup) -> Vec<Point> {
        let mut tables: Vec<FullTable> = Vec::new();
        for Run { kind, at } in runs {
            let effort = Effort::of(setup.size, at.bits);
            let Some(cells) = effort.cells(*at) else { continue };
            let table = FullTable::new(*kind, at.bits, cells, effort.samples);
            let same = tables.iter().position(|other| other.is_like(&table)).unwrap_or_else(|| {
                tables.push(table);
                tables.len() - 1
            });
            tables[same].ask(at.ratio, at.per_key);
        }
        tables.into_iter().map(|table| table.point(setup.planted)).collect()
    }

    /// Its lines in a table.
    pub(super) fn of(self, table: &Table) -> Table {
        // By its values, since a point with few trials has another name.
        let own = table.only("filter", self.kind.label()).only("cell_bits", self.at.bits);
        own.only("ratio", self.at.ratio).only("per_key", self.at.per_key)
    }

    /// How the rate of one compares with that of another here, over how they compare at another point.
    pub(super) fn shifted(self, other: Kind, to: At, table: &Table) -> Evidence {
        let fpr = |run: Run| run.of(table).sample("fpr");
        let [here, there] = [self.at, to].map(|at| [Run { at, ..self }, Run { kind: other, at }].map(fpr));
        let product = |one: &Sample, other: &Sample| one.with(other, |one, other| one * other);
        let label = format!("{} over {}, over the same at {to}", self.name(), other.label());
        Evidence::ratio(label, &product(&here[0], &there[1]), &product(&here[1], &there[0]))
    }

    /// The rate of one over the rate of another.
    pub(super) fn over(self, other: Run, table: &Table) -> Evidence {
        let at = if self.at == other.at { String::new() } else { format!(" at {}", other.at) };
        let label = format!("{} over {}{at}", self.name(), other.kind.label());
        Evidence::ratio(label, &self.of(table).sample("fpr"), &other.of(table).sample("fpr"))
    }
}

/// The most memory of some filters at a point over the least.
pub(super) fn memory(table: &Table, at: At, kinds: &[Kind]) -> Evidence {
    let of = |kind: &Kind| Run { kind: *kind, at }.of(table).sample("bits_per_key").values();
    let all: Vec<Vec<f64>> = kinds.iter().map(of).collect();
    let bits = if all.iter().any(Vec::is_empty) { Vec::new() } else { all.concat() };
    let most = bits.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
    let least = bits.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
    Evidence::exact(at.to_string(), most / least)
}

/// That the filters have the same memory at each of some points.
pub(super) fn equal_memory(points: Vec<Evidence>) -> Statement {
    Statement::new(
        "This project: the filters of a point have the same memory",
        "the most bits a key over the fewest, as allocated, over all trials: at most 1.01",
    )
    .every(points.into_iter().map(|it| it.below(1.01)).collect())
}

/// A picture for each width and number of queries per key: measured rates, and the models' rates.
pub(super) fn pictures(experiment: &str, table: &Table, kinds: &[Kind]) -> Vec<Picture> {
    let mut pictures = Vec::new();
    for bits in table.values("cell_bits") {
        for per_key in table.values("per_key") {
            let own = table.only("cell_bits", bits.clone()).only("per_key", per_key.clone());
            if own.is_empty() {
                continue;
            }
            let width = bits.number().unwrap_or(8.0) as u32;
            pictures.push(Picture {
                name: contest::file_name(&format!("{experiment} {bits} bits {per_key}")),
                title: format!("{bits} bits a cell, {per_key} queries a key"),
                x: Axis::log("A/S: absent keys asked for over stored keys"),
                y: Axis::log("false-positive rate"),
                lines: kinds.iter().flat_map(|kind| curves(&own, kind.contender(width))).collect(),
            });
        }
    }
    pictures
}

fn curves(table: &Table, contender: Contender) -> Vec<Curve> {
    let own = table.only("filter", contender.label.as_str());
    if own.is_empty() {
        return Vec::new();
    }
    let measured = Curve::measured(contender.label.as_str(), contender.look, own.means("ratio", "fpr"));
    let model = Curve::model(format!("{}, model", contender.label), contender.look, own.means("ratio", "model"));
    vec![measured, model]
}
