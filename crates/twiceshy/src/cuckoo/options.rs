//! The options of a full-key cuckoo filter.

use super::fingerprint::{Function, Rule};
use super::full_key::{FullKeyCuckoo, new_local};
use super::search::Search;
use super::shape::Shape;
use crate::error::{Error, OptionsError};
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::packed::PackedCells;
use crate::pair::AdaptiveFilter;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::{Generation, Remote};
use crate::sizing;

/// The options of one kind of full-key cuckoo filter beyond the common [`Options`].
pub trait RuleSpec: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The rule that these options make.
    type Rule: Rule;
    /// The kind of filter that they make.
    const KIND: Kind;

    /// `true` if buckets overlap.
    fn overlaps(&self) -> bool {
        false
    }

    /// The rule for cells of this width in this shape, or why it is impossible.
    fn rule(&self, shape: Shape, width: u32) -> Result<Self::Rule, OptionsError>;

    /// Saves the rule's parameters.
    fn write(rule: &Self::Rule, out: &mut Writer<'_>);

    /// Reads what [`RuleSpec::write`] wrote.
    fn read(from: &mut Reader) -> Result<Self, LoadError>;
}

/// The wanted size of a filter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Size {
    Capacity { keys: u64, rate: f64 },
    Cells { cells: u64, width: u32 },
}

/// What to build: the size, the shape, the search for room, and the kind's own options.
///
/// Every setting is checked in [`Options::build`]. An invalid combination is refused with an error that names a valid one.
///
/// Cells for a wanted rate have 4 bits or more. Narrower ones, down to 2 bits, are for experiments, and must be asked for by their width: many keys
/// have the same fingerprint then, so one insertion may read thousands of keys of the remote, which can take seconds, and a table may be full
/// at 40 % load.
#[derive(Clone, Debug, PartialEq)]
pub struct Options<S> {
    size: Size,
    tables: u64,
    cells_per_bucket: u64,
    search: Search,
    pub(crate) spec: S,
}

impl<S: RuleSpec> Options<S> {
    pub(crate) fn for_capacity(
        keys: u64,
        rate: f64,
        tables: u64,
        per_bucket: u64,
        spec: S,
    ) -> Result<Self, OptionsError> {
        sizing::check_capacity(keys)?;
        sizing::check_rate(rate)?;
        Ok(Options { size: Size::Capacity { keys, rate }, ..Options::with_cells(0, 0, tables, per_bucket, spec) })
    }

    pub(crate) fn with_cells(cells: u64, width: u32, tables: u64, cells_per_bucket: u64, spec: S) -> Self {
        Options { size: Size::Cells { cells, width }, tables, cells_per_bucket, search: Search::DEFAULT, spec }
    }

    /// d tables instead of the kind's default.
    #[must_use]
    pub fn tables(self, tables: u64) -> Self {
        Options { tables, ..self }
    }

    /// c cells per bucket instead of the kind's default.
    #[must_use]
    pub fn cells_per_bucket(self, cells_per_bucket: u64) -> Self {
        Options { cells_per_bucket, ..self }
    }

    /// How insertions look for room.
    #[must_use]
    pub fn search(self, search: Search) -> Self {
        Options { search, ..self }
    }

    /// The resulting shape and cell width.
    pub fn geometry(&self) -> Result<(Shape, u32), OptionsError> {
        let (tables, per_bucket) = (self.tables, self.cells_per_bucket);
        let one_bucket = Shape::new(tables, 1, per_bucket)?;
        let kind = if self.spec.overlaps() { one_bucket.overlapping() } else { one_bucket };
        match self.size {
            Size::Cells { cells, width } => {
                sizing::check_width(width)?;
                Ok((kind.resized(cells.max(1))?, width))
            }
            Size::Capacity { keys, rate } => {
                let shape = kind.resized(sizing::cuckoo_cells(keys, &kind))?;
                let load = keys as f64 / shape.cells() as f64;
                let enough = |width: &u32| {
                    let values = self.spec.rule(shape, *width).ok().map(|rule| rule.values(Function(0)).len);
                    values.is_some_and(|values| sizing::cuckoo_rate(load, values, tables * per_bucket) <= rate)
                };
                // If no width works, the rule's own reason is reported, or else the rate.
                let why = || self.spec.rule(shape, PackedCells::MAX_WIDTH).err().unwrap_or(OptionsError::Rate(rate));
                Ok((shape, sizing::OWNED_WIDTHS.clone().find(enough).ok_or_else(why)?))
            }
        }
    }

    /// The number of cells and their width.
    pub(crate) fn size(&self) -> Result<(u64, u32), OptionsError> {
        self.geometry().map(|(shape, width)| (shape.cells(), width))
    }

    fn parts(&self) -> Result<(Shape, u32, S::Rule), OptionsError> {
        self.search.check()?;
        let (shape, width) = self.geometry()?;
        Ok((shape, width, self.spec.rule(shape, width)?))
    }

    /// An empty filter for this generation of a remote.
    pub(crate) fn make(&self, hash: HashKey, generation: Generation) -> Result<FullKeyCuckoo<S::Rule>, OptionsError> {
        let (shape, width, rule) = self.parts()?;
        Ok(FullKeyCuckoo::new(new_local(shape, width, hash, rule, generation)?, self.search))
    }

    /// An empty filter over a remote that holds no set yet. The hash key determines all random choices.
    pub fn build<R: Remote>(
        &self,
        hash: HashKey,
        remote: R,
    ) -> Result<AdaptiveFilter<FullKeyCuckoo<S::Rule>, R>, Error> {
        AdaptiveFilter::over(Box::new(self.make(hash, Generation(0))?), remote)
    }

    /// A filter for the set that a remote already holds, under the hash key that the remote knows: after a crash, or if a
    /// saved filter was damaged. Scans the remote once, in order. The filter has learned nothing.
    pub fn recover<R: Remote>(&self, remote: R) -> Result<AdaptiveFilter<FullKeyCuckoo<S::Rule>, R>, Error> {
        AdaptiveFilter::recovered(|hash, generation| self.make(hash, generation).map(Box::new), remote)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, RememberingFilter, SwappingFilter};
    use crate::remote::{ByHash, Counting};

    /// The width for a rate, and the most reads of the remote that one insertion made on the way to the planned load.
    fn filled<S: RuleSpec>(options: Result<Options<S>, OptionsError>) -> (u32, u64) {
        let options = options.unwrap();
        let mut pair = options.build(HashKey::fixed(1), Counting::new(ByHash::new())).unwrap();
        let (mut most, mut before) = (0, 0);
        for key in 0..5_000u64 {
            pair.insert(&key.to_le_bytes()).unwrap();
            let reads = pair.remote().counts().reads;
            most = most.max(reads - before);
            before = reads;
        }
        (options.geometry().unwrap().1, most)
    }

    #[test]
    fn a_filter_for_a_high_rate_fills_as_planned_and_no_insertion_reads_much() {
        for rate in [0.999, 0.9, 0.5] {
            let all = [
                filled(FullKeyFilter::options(5_000, rate)),
                filled(CyclicFilter::options(5_000, rate)),
                filled(SwappingFilter::options(5_000, rate)),
                filled(CuckooingFilter::options(5_000, rate)),
                filled(RememberingFilter::options(5_000, rate)),
            ];
            for (width, most) in all {
                assert!(width >= 4 && most < 1_000, "{rate}: {width} bits, {most} reads");
            }
        }
        assert!(FullKeyFilter::with_cells(100, 2).geometry().is_ok_and(|(_, width)| width == 2), "for experiments");
    }
}
