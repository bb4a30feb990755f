//! Filters under uniformly repeated queries, compared with the models of 003: the data of its Figures 1 to 4.

use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Line, Picture, Planted, Point, Setup, Size, Statement, Table, TaskError,
    contest, line,
};
use crate::models::swapping::SwappingModel;
use crate::models::{CyclicModel, EmptyCell};
use crate::replay::{AnyFilter, FilterSpec};
use crate::uniform::false_positives;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::sync::OnceLock;
use twiceshy::cuckoo::Shape;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;
use twiceshy::sizing::cuckoo_rate;

pub(super) const COLUMNS: &[&str] =
    &["filter", "cell_bits", "per_key", "ratio", "cells", "bits_per_key", "queries", "false_positives", "fpr", "model"];

const LOAD: f64 = 0.95;

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

    fn tables(self) -> u64 {
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

    /// The points of these widths, queries per key and ratios whose tables are large enough to mean anything.
    pub(super) fn grid(size: Size, widths: &[u32], per_key: &[u64], ratios: &[u64]) -> Vec<At> {
        let mut grid = Vec::new();
        for bits in widths {
            for per_key in per_key {
                grid.extend(ratios.iter().map(|ratio| At::new(*bits, *per_key, *ratio)));
            }
        }
        grid.retain(|at| Effort::of(size, at.bits).cells(*at).is_some());
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
    /// The most queries.
    queries: u64,
    /// The buckets that the model of Swapping draws.
    samples: u64,
}

impl Effort {
    /// With cells of 8 bits no query is skipped, because mistakes are frequent; with more, absent keys are the work.
    fn of(size: Size, bits: u32) -> Effort {
        let (few, many) = (bits <= 8, u64::MAX);
        let tiny = Effort { cells: 4_096, least_cells: 256, absent: 60_000, queries: 200_000, samples: 2_000 };
        let quick = Effort {
            cells: if few { FEWEST } else { 2_500 * u64::from(bits) },
            least_cells: FEWEST,
            absent: 800_000,
            queries: many,
            samples: 4_000,
        };
        let queries = if few { 100_000_000 } else { 2_000_000_000 };
        let paper = Effort { cells: 131_072, least_cells: FEWEST, absent: many, queries, samples: 200_000 };
        size.of(tiny, quick, paper)
    }

    /// As many cells as the effort allows; `None` if the table would be too small to mean anything.
    fn cells(self, at: At) -> Option<u64> {
        let absent = self.absent.min(self.queries / at.per_key);
        let most = absent as f64 / at.ratio as f64 / LOAD;
        let cells = self.cells.min(most as u64 / 8 * 8);
        (cells >= self.least_cells).then_some(cells)
    }
}

impl Run {
    pub(super) fn name(self) -> String {
        format!("{}, {}", self.kind.label(), self.at)
    }

    /// The point that measures it. A planted wrong rule: the filter does not hear of its mistakes.
    pub(super) fn point(self, setup: &Setup) -> Option<Point> {
        let effort = Effort::of(setup.size, self.at.bits);
        let cells = effort.cells(self.at)?;
        let absent = cells as f64 * self.at.ratio as f64;
        // With many bits mistakes are rare, and the queries in between are skipped.
        let asked = absent * self.at.per_key as f64 * if self.at.bits > 8 { 0.02 } else { 1.0 };
        let work = cells as f64 * 1e-6 + absent * 2e-7 + asked * 4e-8;
        let (planted, model) = (setup.planted, OnceLock::new());
        let measure = move |seed: u64| self.measure(cells, effort, planted, &model, seed);
        Some(Point::new(self.name(), work, &(self, cells, effort, planted), measure))
    }

    fn measure(
        self,
        cells: u64,
        effort: Effort,
        planted: Planted,
        known: &OnceLock<f64>,
        seed: u64,
    ) -> Result<Vec<Line>, TaskError> {
        let At { bits, per_key, ratio } = self.at;
        let stored = (cells as f64 * LOAD) as u64;
        let absent = stored * ratio;
        let queries = absent * per_key;
        let rng = &mut Rng::stream(seed, 0);
        let model = match (known.get(), self.kind) {
            (Some(model), _) => *model,
            (None, Kind::Swapping) => self.sampled(cells, absent, queries, effort.samples, seed)?,
            (None, _) => {
                let model = self.formula(cells, absent, queries)?;
                *known.get_or_init(|| model)
            }
        };
        let deaf = planted == Planted::WrongRule;
        let skips = !deaf && model * 4.0 * (ratio as f64) < 1.0;
        let asking = Asking { absent: absent as u32, queries, skips, deaf };
        let spec = self.kind.contender(bits).spec;
        let (tables, per_bucket) = spec.buckets();
        let shape = Shape::with_cells(tables, per_bucket, cells).map_err(TaskError::new)?;
        let (mut filter, keys) = filled(&spec, cells, stored, absent, rng)?;
        let allocated = filter.local_bits() as f64 / stored as f64;
        let wrong = match filter.filter().kind().learns() {
            true => adapting(&mut filter, shape, &keys, asking, rng)?,
            false => plain(&filter, &keys, asking),
        };
        Ok(vec![line![
            self.kind.label(),
            bits,
            per_key,
            ratio,
            cells,
            allocated,
            queries,
            wrong,
            wrong / queries as f64,
            planted.model(model)
        ]])
    }

    /// The rate that a formula predicts. 0 for Swapping, which has none.
    fn formula(self, cells: u64, absent: u64, queries: u64) -> Result<f64, TaskError> {
        let (per_table, bits) = (cells / self.kind.tables(), self.at.bits);
        let cyclic = |model: Result<CyclicModel, _>| {
            let counted = model.map_err(TaskError::new)?.rate_finite(per_table, absent, queries);
            // The model adds up the cells, and counts a query twice that collides in two of its four.
            Ok(1.0 - (1.0 - counted / 4.0).powi(4))
        };
        match self.kind {
            Kind::Plain => Ok(cuckoo_rate(LOAD, (1 << bits) - 1, 4)),
            Kind::Cyclic { s } => cyclic(CyclicModel::equal_ranges(4, LOAD, bits - s, s, EmptyCell::Reserved)),
            Kind::Unequal { r, s } => cyclic(CyclicModel::unequal_ranges(4, LOAD, bits, s, r, EmptyCell::Reserved)),
            Kind::Swapping => Ok(0.0),
        }
    }

    /// The rate that the model of Swapping predicts by sampling: anew in each trial, so that its error is part of the
    /// trials' spread.
    fn sampled(self, cells: u64, absent: u64, queries: u64, samples: u64, seed: u64) -> Result<f64, TaskError> {
        let buckets = cells / self.kind.tables() / 4;
        let model = SwappingModel::two_by_four(self.at.bits).map_err(TaskError::new)?;
        Ok(model.rate(buckets, absent, queries, samples, Rng::stream(seed, 1).word()).rate)
    }

    /// Its lines in a table.
    pub(super) fn of(self, table: &Table) -> Table {
        table.only("point", self.name())
    }

    /// The rate of one over the rate of another.
    pub(super) fn over(self, other: Run, table: &Table) -> Evidence {
        let at = if self.at == other.at { String::new() } else { format!(" at {}", other.at) };
        let label = format!("{} over {}{at}", self.name(), other.kind.label());
        Evidence::ratio(label, &self.of(table).sample("fpr"), &other.of(table).sample("fpr"))
    }
}

/// That the filters have the same memory at each of these points.
pub(super) fn equal_memory(table: &Table, grid: &[At], kinds: &[Kind]) -> Statement {
    let worst = |at: &At| {
        let of = |kind: &Kind| Run { kind: *kind, at: *at }.of(table).sample("bits_per_key").values();
        let all: Vec<Vec<f64>> = kinds.iter().map(of).collect();
        let bits = if all.iter().any(Vec::is_empty) { Vec::new() } else { all.concat() };
        let most = bits.iter().copied().reduce(f64::max).unwrap_or(f64::NAN);
        let least = bits.iter().copied().reduce(f64::min).unwrap_or(f64::NAN);
        Evidence::exact(at.to_string(), most / least).below(1.01)
    };
    Statement::new(
        "This project: the filters of a point have the same memory",
        "the most bits a key over the fewest, as allocated, over all trials: at most 1.01",
    )
    .every(grid.iter().map(worst).collect())
}

/// The queries of a point.
#[derive(Clone, Copy, Debug)]
struct Asking {
    absent: u32,
    queries: u64,
    /// `true` if checking the keys affected by each mistake is less work than asking every query.
    skips: bool,
    /// `true` if the filter does not hear of its mistakes.
    deaf: bool,
}

/// Asks, and counts the false positives.
fn plain(filter: &AnyFilter<Mirror>, keys: &Keys, asking: Asking) -> f64 {
    let wrong = (0..asking.absent).filter(|number| filter.contains(&keys.absent((*number).into()))).count();
    wrong as f64 * (asking.queries / u64::from(asking.absent)) as f64
}

fn adapting(
    filter: &mut AnyFilter<Mirror>,
    shape: Shape,
    keys: &Keys,
    asking: Asking,
    rng: &mut Rng,
) -> Result<f64, TaskError> {
    let key = |number: u32| keys.absent(number.into());
    if asking.skips {
        let counted = false_positives(filter, shape, asking.absent, key, asking.queries, rng);
        return counted.map(|count| count as f64).ok_or_else(|| TaskError::new("an adaptation failed"));
    }
    let mut count = 0u64;
    for _ in 0..asking.queries {
        let query = key(rng.below(asking.absent.into()) as u32);
        if filter.contains(&query) {
            count += 1;
            if !asking.deaf {
                filter.was_wrong(&query).map_err(TaskError::new)?;
            }
        }
    }
    Ok(count as f64)
}

/// A full filter. A small table may be full slightly early under an unlucky hash key; then another is used.
fn filled(
    spec: &FilterSpec,
    cells: u64,
    stored: u64,
    absent: u64,
    rng: &mut Rng,
) -> Result<(AnyFilter<Mirror>, Keys), TaskError> {
    let keys = Keys::new(stored, absent, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
    let options = spec.options(cells).ok_or_else(|| TaskError::new("a rival"))?;
    for _ in 0..100 {
        let hash = HashKey::fixed(rng.word()).for_trusted_keys();
        let mut filter = options.build(hash, Mirror::new()).map_err(TaskError::new)?;
        if keys.stored_keys().all(|key| filter.insert(&key).is_ok()) {
            return Ok((filter, keys));
        }
    }
    Err(TaskError::new("no hash key of a hundred leaves room for all keys"))
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
