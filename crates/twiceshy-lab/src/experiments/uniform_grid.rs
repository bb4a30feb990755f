//! Filters under uniformly repeated queries, compared with the models of 003: the data of its Figures 1 to 4.

use crate::experiment::{
    Axis, Budget, Contender, Curve, Evidence, Line, Picture, Planted, Point, Sample, Setup, Size, Statement, Table,
    TaskError, contest, line,
};
use crate::models::swapping::SwappingModel;
use crate::models::{CyclicModel, EmptyCell, ModelError};
use crate::replay::{AnyFilter, FilterSpec};
use crate::uniform::{Collisions, Uniform, Way};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::any::Any;
use std::sync::OnceLock;
use twiceshy::cuckoo::{CyclicFilter, SwappingFilter};
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
    "queries",
    "false_positives",
    "fpr",
    "model",
    "model_printed",
];

/// The rates that formulas predict.
#[derive(Clone, Copy, Debug)]
struct Predicted {
    /// With finite counts, without the value that means empty, and with each query counted once.
    refined: f64,
    /// As 003 section 3.1 prints it; unknown for filters that have no formula there.
    printed: f64,
}

const LOAD: f64 = 0.95;

/// The A/S above 10 at which filters of 8 bits are asked 100 times for each key: 0.5 µs for each of up to 10⁸ false positives.
pub(super) const FAR_RATIOS: [u64; 3] = [20, 50, 100];

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
    fn way(self) -> Option<Way> {
        match self {
            Kind::Plain => None,
            Kind::Cyclic { .. } | Kind::Unequal { .. } => Some(Way::Next),
            Kind::Swapping => Some(Way::Swap),
        }
    }

    /// The number of its fingerprint functions.
    fn functions(self) -> u8 {
        match self {
            Kind::Plain => 1,
            Kind::Cyclic { s } => 1 << s,
            Kind::Unequal { s, .. } => (1 << s) + 1,
            Kind::Swapping => 4,
        }
    }

    /// About the rate of a filter that has learned little, to estimate the work.
    fn static_rate(self, bits: u32) -> f64 {
        let (compared, fingerprint) = match self {
            Kind::Plain => (4.0, bits),
            Kind::Cyclic { s } => (4.0, bits - s),
            Kind::Unequal { r, s } => (4.0, (bits - r - s).max(bits / 2)),
            Kind::Swapping => (8.0, bits),
        };
        f64::min(1.0, compared * LOAD / f64::from(1u32 << fingerprint))
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

    /// `true` if a trial has so many false positives that the point is left out: with 8 bits and 1,000 queries a key, where
    /// they may be 10⁹ ([`repeated-queries`](super::repeated_queries)), and with 100 at most A/S between 20 and 100.
    fn is_left_out(self) -> bool {
        let far = match self.per_key {
            0..100 => false,
            100..1_000 => self.ratio > 10 && !FAR_RATIOS.contains(&self.ratio),
            _ => self.ratio > 10,
        };
        self.bits <= 8 && far
    }

    /// The points of these widths, queries per key and ratios whose tables are large enough to mean anything.
    pub(super) fn grid(size: Size, widths: &[u32], per_key: &[u64], ratios: &[u64]) -> Vec<At> {
        let mut grid = Vec::new();
        for bits in widths {
            for per_key in per_key {
                grid.extend(ratios.iter().map(|ratio| At::new(*bits, *per_key, *ratio)));
            }
        }
        grid.retain(|at| Effort::of(size, at.bits).cells(*at).is_some() && !at.is_left_out());
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
        let paper = Effort { cells: 131_072, least_cells: 131_072, absent: u64::MAX, samples: 200_000 };
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

    /// The points that measure some runs. Runs that differ only in their queries a key are one point: one trial measures all
    /// of them.
    pub(super) fn points(runs: &[Run], setup: &Setup) -> Vec<Point> {
        let mut points: Vec<(Run, Vec<u64>)> = Vec::new();
        for run in runs {
            match points.iter_mut().find(|(first, _)| first.point_name() == run.point_name()) {
                Some((_, per_key)) => per_key.push(run.at.per_key),
                None => points.push((*run, vec![run.at.per_key])),
            }
        }
        points.into_iter().filter_map(|(run, per_key)| run.point(per_key, setup)).collect()
    }

    /// The name of the point that measures it.
    fn point_name(self) -> String {
        format!("{}, {} bits, A/S {}", self.kind.label(), self.at.bits, self.at.ratio)
    }

    /// The point that measures it at these queries a key. A planted wrong rule: the filter does not hear of its mistakes.
    fn point(self, mut per_key: Vec<u64>, setup: &Setup) -> Option<Point> {
        per_key.sort_unstable();
        let effort = Effort::of(setup.size, self.at.bits);
        let cells = effort.cells(self.at)?;
        let absent = cells as f64 * self.at.ratio as f64;
        // A pass over all absent keys, and the false positives.
        let wrong = absent * per_key.last().copied().unwrap_or(0) as f64 * self.kind.static_rate(self.at.bits);
        let work = cells as f64 * 1.5e-6 + absent * 1e-7 + if self.kind == Kind::Plain { 0.0 } else { wrong * 1.5e-7 };
        let (planted, models) = (setup.planted, per_key.iter().map(|_| OnceLock::new()).collect::<Vec<_>>());
        let settings = (self, per_key.clone(), cells, effort, planted);
        let measure = move |seed: u64| self.measure(&per_key, cells, effort, planted, &models, seed);
        Some(Point::new(self.point_name(), work, &settings, measure))
    }

    fn measure(
        self,
        per_key: &[u64],
        cells: u64,
        effort: Effort,
        planted: Planted,
        known: &[OnceLock<Predicted>],
        seed: u64,
    ) -> Result<Vec<Line>, TaskError> {
        let At { bits, ratio, .. } = self.at;
        let stored = (cells as f64 * LOAD) as u64;
        let absent = stored * ratio;
        let rng = &mut Rng::stream(seed, 0);
        let queries: Vec<u64> = per_key.iter().map(|per_key| absent * per_key).collect();
        let spec = self.kind.contender(bits).spec;
        let (filter, keys) = filled(&spec, cells, stored, absent, rng)?;
        let allocated = filter.local_bits() as f64 / stored as f64;
        let wrong = match self.kind.way() {
            Some(way) if planted != Planted::WrongRule => {
                adapting(&filter, way, self.kind.functions(), &keys, absent, &queries, rng)?
            }
            _ => plain(&filter, &keys, absent, per_key),
        };
        let mut lines = Vec::new();
        for (((per_key, queries), wrong), known) in per_key.iter().zip(&queries).zip(wrong).zip(known) {
            let model = match (known.get(), self.kind) {
                (Some(model), _) => *model,
                (None, Kind::Swapping) => {
                    let refined = self.sampled(cells, absent, *queries, effort.samples, seed)?;
                    Predicted { refined, printed: f64::NAN }
                }
                (None, _) => {
                    let model = self.formula(cells, absent, *queries)?;
                    *known.get_or_init(|| model)
                }
            };
            let rate = wrong / *queries as f64;
            let (label, refined, printed) =
                (self.kind.label(), planted.model(model.refined), planted.model(model.printed));
            lines.push(line![label, bits, *per_key, ratio, cells, allocated, *queries, wrong, rate, refined, printed]);
        }
        Ok(lines)
    }

    /// The rates that formulas predict; unknown for Swapping, which has none.
    fn formula(self, cells: u64, absent: u64, queries: u64) -> Result<Predicted, TaskError> {
        let (per_table, bits) = (cells / self.kind.tables(), self.at.bits);
        let cyclic = |of: &dyn Fn(EmptyCell) -> Result<CyclicModel, ModelError>| {
            let counted = of(EmptyCell::Reserved).map_err(TaskError::new)?.rate_finite(per_table, absent, queries);
            // The model adds up the cells, and counts a query twice that collides in two of its four.
            let refined = 1.0 - (1.0 - counted / 4.0).powi(4);
            let printed = of(EmptyCell::Ignored).map_err(TaskError::new)?.rate(per_table, absent, queries);
            Ok(Predicted { refined, printed })
        };
        match self.kind {
            Kind::Plain => Ok(Predicted { refined: cuckoo_rate(LOAD, (1 << bits) - 1, 4), printed: f64::NAN }),
            Kind::Cyclic { s } => cyclic(&|empty| CyclicModel::equal_ranges(4, LOAD, bits - s, s, empty)),
            Kind::Unequal { r, s } => cyclic(&|empty| CyclicModel::unequal_ranges(4, LOAD, bits, s, r, empty)),
            Kind::Swapping => Ok(Predicted { refined: 0.0, printed: f64::NAN }),
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

/// The false positives of a filter that does not learn, at these queries a key: every key is asked for equally often.
fn plain(filter: &AnyFilter<Mirror>, keys: &Keys, absent: u64, per_key: &[u64]) -> Vec<f64> {
    let wrong = (0..absent).filter(|number| filter.contains(&keys.absent(*number))).count();
    per_key.iter().map(|per_key| wrong as f64 * *per_key as f64).collect()
}

/// The false positives of a filter that adapts to each, after these numbers of queries.
fn adapting(
    filter: &AnyFilter<Mirror>,
    way: Way,
    functions: u8,
    keys: &Keys,
    absent: u64,
    queries: &[u64],
    rng: &mut Rng,
) -> Result<Vec<f64>, TaskError> {
    let other = || TaskError::new("the filter is neither Cyclic nor Swapping over a mirror");
    let table = filter.remote().table().ok_or_else(other)?;
    let count = u32::try_from(absent).map_err(TaskError::new)?;
    let key = |number: u32| keys.absent(number.into());
    let any: &dyn Any = filter.filter();
    let collisions = if let Some(cyclic) = any.downcast_ref::<CyclicFilter>() {
        Collisions::counted(cyclic, table, functions, count, key, |_| ())
    } else {
        let swapping = any.downcast_ref::<SwappingFilter>().ok_or_else(other)?;
        Collisions::counted(swapping, table, functions, count, key, |_| ())
    };
    let counts = Uniform::new(&collisions, way).false_positives(absent, queries, rng);
    Ok(counts.into_iter().map(|count| count as f64).collect())
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
