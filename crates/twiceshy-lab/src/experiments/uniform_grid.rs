//! Filters under uniformly repeated queries, compared with the models of 003: the data of its Figures 1 to 4.

use crate::experiment::{Axis, Contender, Curve, Line, Picture, Setup, Size, Table, Task, TaskError, contest, line};
use crate::models::swapping::SwappingModel;
use crate::models::{CyclicModel, EmptyCell};
use crate::replay::{AnyFilter, FilterSpec};
use crate::uniform::false_positives;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::Shape;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;
use twiceshy::sizing::cuckoo_rate;

pub(super) const COLUMNS: &[&str] = &[
    "filter",
    "cell_bits",
    "per_key",
    "ratio",
    "cells",
    "bits_per_key",
    "trials",
    "queries",
    "false_positives",
    "fpr",
    "standard_error",
    "model",
    "model_error",
];

const LOAD: f64 = 0.95;

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

/// A point of the grid.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) kind: Kind,
    pub(super) bits: u32,
    pub(super) per_key: u64,
    pub(super) ratio: u64,
}

/// The limits of the work for a point.
#[derive(Clone, Copy, Debug)]
struct Effort {
    cells: u64,
    least_cells: u64,
    queries: u64,
    trials: u64,
    samples: u64,
}

impl Effort {
    /// With cells of 8 bits no query is skipped, because mistakes are frequent.
    fn of(size: Size, bits: u32) -> Effort {
        let queries = if bits > 8 { 2_000_000_000 } else { 100_000_000 };
        let quick = Effort { cells: 8_192, least_cells: 256, queries: 3_000_000, trials: 4, samples: 10_000 };
        let paper = Effort { cells: 131_072, least_cells: 1_024, queries, trials: 10, samples: 200_000 };
        size.pick(quick, paper)
    }
}

impl Point {
    /// As many cells as the effort allows; `None` if the table would be too small to mean anything.
    fn cells(self, effort: Effort) -> Option<u64> {
        let most = effort.queries as f64 / (self.ratio * self.per_key) as f64 / LOAD;
        let cells = effort.cells.min(most as u64 / 8 * 8);
        (cells >= effort.least_cells).then_some(cells)
    }

    pub(super) fn task(self, setup: &Setup) -> Option<Task> {
        let effort = Effort::of(setup.size, self.bits);
        let cells = self.cells(effort)?;
        let Point { kind, bits, per_key, ratio } = self;
        let name = format!("{} of {bits} bits, {per_key} queries a key, A/S {ratio}", kind.label());
        let seed = setup.seed;
        let absent = cells as f64 * ratio as f64;
        // With many bits mistakes are rare, and the queries in between are skipped.
        let asked = absent * per_key as f64 * if bits > 8 { 0.02 } else { 1.0 };
        let work = effort.trials as f64 * (cells as f64 * 3e-6 + absent * 2e-7 + asked * 2e-7);
        Some(Task::new(name, work, move || self.measure(cells, effort, seed)).with_settings(&(self, effort)))
    }

    fn measure(self, cells: u64, effort: Effort, seed: u64) -> Result<Vec<Line>, TaskError> {
        let stored = (cells as f64 * LOAD) as u64;
        let absent = stored * self.ratio;
        let queries = absent * self.per_key;
        let model = self.model(cells, absent, queries, effort, seed)?;
        let asking = Asking { absent: absent as u32, queries, skips: model.0 * 4.0 * (self.ratio as f64) < 1.0 };
        let spec = self.kind.contender(self.bits).spec;
        let (tables, per_bucket) = spec.buckets();
        let shape = Shape::with_cells(tables, per_bucket, cells).map_err(TaskError::new)?;
        let (mut rates, mut wrong, mut bits_per_key) = (Vec::new(), 0.0, 0.0);
        for trial in 0..effort.trials {
            let rng = &mut Rng::stream(seed, trial);
            let (mut filter, keys) = filled(&spec, cells, stored, absent, rng)?;
            bits_per_key = filter.local_bits() as f64 / stored as f64;
            let false_positives = match filter.filter().kind().learns() {
                true => adapting(&mut filter, shape, &keys, asking, rng)?,
                false => plain(&filter, &keys, asking),
            };
            rates.push(false_positives / queries as f64);
            wrong += false_positives;
        }
        let trials = effort.trials as f64;
        let mean = rates.iter().sum::<f64>() / trials;
        let squares: f64 = rates.iter().map(|rate| (rate - mean).powi(2)).sum();
        let error = (squares / (trials - 1.0).max(1.0) / trials).sqrt();
        let Point { kind, bits, per_key, ratio } = self;
        Ok(vec![line![
            kind.label(),
            bits,
            per_key,
            ratio,
            cells,
            bits_per_key,
            effort.trials,
            queries * effort.trials,
            wrong,
            mean,
            error,
            model.0,
            model.1
        ]])
    }

    /// The model's prediction, and its standard error.
    fn model(self, cells: u64, absent: u64, queries: u64, effort: Effort, seed: u64) -> Result<(f64, f64), TaskError> {
        let per_table = cells / self.kind.tables();
        let bits = self.bits;
        let cyclic = |model: Result<CyclicModel, _>| {
            let counted = model.map_err(TaskError::new)?.rate_finite(per_table, absent, queries);
            // The model adds up the cells, and counts a query twice that collides in two of its four.
            Ok((1.0 - (1.0 - counted / 4.0).powi(4), 0.0))
        };
        match self.kind {
            Kind::Plain => Ok((cuckoo_rate(LOAD, (1 << bits) - 1, 4), 0.0)),
            Kind::Cyclic { s } => cyclic(CyclicModel::equal_ranges(4, LOAD, bits - s, s, EmptyCell::Reserved)),
            Kind::Unequal { r, s } => cyclic(CyclicModel::unequal_ranges(4, LOAD, bits, s, r, EmptyCell::Reserved)),
            Kind::Swapping => {
                let model = SwappingModel::two_by_four(bits).map_err(TaskError::new)?;
                let estimate = model.rate(per_table / 4, absent, queries, effort.samples, seed);
                Ok((estimate.rate, estimate.standard_error))
            }
        }
    }
}

/// The queries of a point.
#[derive(Clone, Copy, Debug)]
struct Asking {
    absent: u32,
    queries: u64,
    /// `true` if checking the keys affected by each mistake is less work than asking every query.
    skips: bool,
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
            filter.was_wrong(&query).map_err(TaskError::new)?;
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
                x: Axis::linear(format!("A/S: absent keys asked for over stored keys; {bits} bits a cell")),
                y: Axis::log("false-positive rate"),
                lines: kinds.iter().flat_map(|kind| curves(&own, kind.contender(width))).collect(),
            });
        }
    }
    pictures
}

fn curves(table: &Table, contender: Contender) -> Vec<Curve> {
    let own = table.only("filter", contender.label.as_str());
    let Some(bits) = contest::bits_per_key_label(&own) else { return Vec::new() };
    let measured = Curve::measured(format!("{}, {bits}", contender.label), contender.look, own.pairs("ratio", "fpr"));
    let model = Curve::model(format!("{}, model", contender.label), contender.look, own.pairs("ratio", "model"));
    vec![measured, model]
}

/// The rate of a filter at a point.
pub(super) fn rate(table: &Table, kind: Kind, bits: u32, per_key: u64, ratio: u64) -> Option<f64> {
    let own = table.only("filter", kind.label()).only("cell_bits", bits).only("per_key", per_key);
    own.only("ratio", ratio).first("fpr")
}
