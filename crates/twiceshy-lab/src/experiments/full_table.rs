//! One trial of a filter under uniformly repeated queries: its rates at several A/S and numbers of queries a key.
//!
//! The absent keys of a small A/S are the first of those of a larger one. So the table is filled once, and the collisions are
//! counted once, which takes longer than the false positives unless cells are narrow.

use super::uniform_grid::{Kind, LOAD};
use crate::experiment::{Line, Planted, Point, TaskError, line};
use crate::models::swapping::SwappingModel;
use crate::models::{CyclicModel, EmptyCell, ModelError};
use crate::replay::{AnyFilter, FilterSpec};
use crate::uniform::{Collisions, Uniform};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Mutex;
use twiceshy::cuckoo::{CyclicFilter, SwappingFilter};
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;
use twiceshy::sizing::cuckoo_rate;

/// A filter with a number of cells, and what is asked of it.
#[derive(Clone, Debug)]
pub(super) struct FullTable {
    kind: Kind,
    bits: u32,
    cells: u64,
    /// The buckets that the model of Swapping draws.
    samples: u64,
    /// For each A/S the numbers of queries a key, which rise.
    asked: BTreeMap<u64, Vec<u64>>,
}

/// The rates that formulas predict.
#[derive(Clone, Copy, Debug)]
struct Predicted {
    /// With finite counts, without the value that means empty, and with each query counted once.
    refined: f64,
    /// As 003 section 3.1 prints it; unknown for filters that have no formula there.
    printed: f64,
}

/// What formulas predict at an A/S and a number of queries a key, computed in the first trial.
type Known = Mutex<BTreeMap<(u64, u64), Predicted>>;

impl FullTable {
    pub(super) fn new(kind: Kind, bits: u32, cells: u64, samples: u64) -> FullTable {
        FullTable { kind, bits, cells, samples, asked: BTreeMap::new() }
    }

    /// `true` if one trial can measure both.
    pub(super) fn is_like(&self, other: &FullTable) -> bool {
        (self.kind, self.bits, self.cells) == (other.kind, other.bits, other.cells)
    }

    /// Asks for another point of the grid.
    pub(super) fn ask(&mut self, ratio: u64, per_key: u64) {
        let all = self.asked.entry(ratio).or_default();
        all.push(per_key);
        all.sort_unstable();
    }

    fn stored(&self) -> u64 {
        (self.cells as f64 * LOAD) as u64
    }

    fn most_absent(&self) -> u64 {
        self.stored() * self.asked.keys().last().copied().unwrap_or(0)
    }

    /// The point that measures it. A planted wrong rule: the filter does not hear of its mistakes.
    pub(super) fn point(self, planted: Planted) -> Point {
        // A pass over all absent keys, and the false positives.
        let wrong = self.asked.iter().map(|(ratio, per_key)| {
            let queries = self.stored() * ratio * per_key.last().copied().unwrap_or(0);
            queries as f64 * self.kind.static_rate(self.bits)
        });
        let wrong = if self.kind == Kind::Plain { 0.0 } else { wrong.sum() };
        let work = self.cells as f64 * 1.5e-6 + self.most_absent() as f64 * 1e-7 + wrong * 1.5e-7;
        let name = format!("{}, {} bits, {} cells", self.kind.label(), self.bits, self.cells);
        let (settings, known) = ((self.clone(), planted), Known::default());
        Point::new(name, work, &settings, move |seed| self.measure(planted, &known, seed))
    }

    fn measure(&self, planted: Planted, known: &Known, seed: u64) -> Result<Vec<Line>, TaskError> {
        let rng = &mut Rng::stream(seed, 0);
        let (filter, keys) = self.filled(rng)?;
        let allocated = filter.local_bits() as f64 / self.stored() as f64;
        let adapts = self.kind.way().is_some() && planted != Planted::WrongRule;
        let wrong = if adapts { self.adapting(&filter, &keys, rng)? } else { self.plain(&filter, &keys) };
        let asked = self.asked.iter().flat_map(|(ratio, all)| all.iter().map(move |per_key| (*ratio, *per_key)));
        let mut lines = Vec::new();
        for ((ratio, per_key), wrong) in asked.zip(wrong) {
            let queries = self.stored() * ratio * per_key;
            let model = self.predicted(ratio, per_key, known, seed)?;
            lines.push(line![
                self.kind.label(),
                self.bits,
                per_key,
                ratio,
                self.cells,
                allocated,
                queries,
                wrong,
                wrong / queries as f64,
                planted.model(model.refined),
                planted.model(model.printed),
            ]);
        }
        Ok(lines)
    }

    /// A full filter. A small table may be full slightly early under an unlucky hash key; then another is used.
    fn filled(&self, rng: &mut Rng) -> Result<(AnyFilter<Mirror>, Keys), TaskError> {
        let spec: FilterSpec = self.kind.contender(self.bits).spec;
        let keys = Keys::new(self.stored(), self.most_absent(), rng.word());
        let keys = keys.ok_or_else(|| TaskError::new("too many keys"))?;
        let options = spec.options(self.cells).ok_or_else(|| TaskError::new("a rival"))?;
        for _ in 0..100 {
            let hash = HashKey::fixed(rng.word()).for_trusted_keys();
            let mut filter = options.build(hash, Mirror::new()).map_err(TaskError::new)?;
            if keys.stored_keys().all(|key| filter.insert(&key).is_ok()) {
                return Ok((filter, keys));
            }
        }
        Err(TaskError::new("no hash key of a hundred leaves room for all keys"))
    }

    /// The false positives of a filter that does not learn: every key is asked for equally often.
    fn plain(&self, filter: &AnyFilter<Mirror>, keys: &Keys) -> Vec<f64> {
        let (mut wrong, mut next, mut counts) = (0u64, 0, Vec::new());
        for (ratio, per_key) in &self.asked {
            let absent = self.stored() * ratio;
            wrong += (next..absent).filter(|number| filter.contains(&keys.absent(*number))).count() as u64;
            next = absent;
            counts.extend(per_key.iter().map(|per_key| (wrong * per_key) as f64));
        }
        counts
    }

    /// The false positives of a filter that adapts to each.
    fn adapting(&self, filter: &AnyFilter<Mirror>, keys: &Keys, rng: &mut Rng) -> Result<Vec<f64>, TaskError> {
        let other = || TaskError::new("the filter is neither Cyclic nor Swapping over a mirror");
        let table = filter.remote().table().ok_or_else(other)?;
        let (functions, way) = (self.kind.functions(), self.kind.way().ok_or_else(other)?);
        let most = u32::try_from(self.most_absent()).map_err(TaskError::new)?;
        let key = |number: u32| keys.absent(number.into());
        // The absent keys that collide, in order.
        let mut colliding: Vec<u32> = Vec::new();
        let note = |number: u32| colliding.push(number);
        let any: &dyn Any = filter.filter();
        let collisions = if let Some(cyclic) = any.downcast_ref::<CyclicFilter>() {
            Collisions::counted(cyclic, table, functions, most, key, note)
        } else {
            let swapping = any.downcast_ref::<SwappingFilter>().ok_or_else(other)?;
            Collisions::counted(swapping, table, functions, most, key, note)
        };
        let mut counts = Vec::new();
        for (ratio, per_key) in &self.asked {
            let absent = self.stored() * ratio;
            let own = collisions.of_first(colliding.partition_point(|number| u64::from(*number) < absent));
            let queries: Vec<u64> = per_key.iter().map(|per_key| absent * per_key).collect();
            let wrong = Uniform::new(&own, way).false_positives(absent, &queries, rng);
            counts.extend(wrong.into_iter().map(|count| count as f64));
        }
        Ok(counts)
    }

    /// The rates that formulas predict. Those of Swapping are sampled anew in each trial, so that their error is part of the
    /// trials' spread.
    fn predicted(&self, ratio: u64, per_key: u64, known: &Known, seed: u64) -> Result<Predicted, TaskError> {
        let absent = self.stored() * ratio;
        let queries = absent * per_key;
        if self.kind == Kind::Swapping {
            let model = SwappingModel::two_by_four(self.bits).map_err(TaskError::new)?;
            let buckets = self.cells / self.kind.tables() / 4;
            let rate = model.rate(buckets, absent, queries, self.samples, Rng::stream(seed, 1).word()).rate;
            return Ok(Predicted { refined: rate, printed: f64::NAN });
        }
        let found = || known.lock().ok()?.get(&(ratio, per_key)).copied();
        if let Some(found) = found() {
            return Ok(found);
        }
        let computed = self.formula(absent, queries)?;
        if let Ok(mut known) = known.lock() {
            known.insert((ratio, per_key), computed);
        }
        Ok(computed)
    }

    /// The rates that the formulas of 003 predict; not for Swapping, which has none.
    fn formula(&self, absent: u64, queries: u64) -> Result<Predicted, TaskError> {
        let (per_table, bits) = (self.cells / self.kind.tables(), self.bits);
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
            Kind::Swapping => Err(TaskError::new("Swapping has no formula")),
        }
    }
}
