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
                Ok((shape, sizing::WIDTHS.clone().find(enough).ok_or_else(why)?))
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
