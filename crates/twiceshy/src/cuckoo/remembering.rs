//! The remembering filter: a key moves to where none of its remembered queries matches it.

use super::adapt::{Adapting, Verdict};
use super::chain::{Chain, fix};
use super::fingerprint::{Choice, Function, Rule, Values};
use super::full_key::FullKeyCuckoo;
use super::local::Located;
use super::options::{Options, RuleSpec};
use super::planner::Planner;
use super::shape::{Shape, Spot};
use crate::error::{OptionsError, PlanError};
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::CellId;

/// The rule of [`RememberingFilter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remembering {
    values: Values,
    cells: u8,
}

/// The adaptive cuckoo filter that remembers its mistakes, and does not make one again to fix another.
///
/// A key has two windows of two neighbouring cells, one in each table, which may begin at any cell: four cells in two cache lines.
/// Each of the four has its own fingerprint function. When the filter has erred, the store's side
/// [remembers](crate::memory::Memory) which key the query was mistaken for. That key moves to another of its cells, if need be
/// others move too, and no key moves to a cell where a query of its own memory would match.
///
/// *Cost.* No bit is spent on adapting, but for a list of exceptions: where few reads of R find no such way, 32 bits of the query's hash
/// go there. It has at most one entry for 64 cells, and the longer it is, the longer a way is searched for. About half of all
/// mistakes are fixed with one read of R: the key swaps cells with its neighbour. Windows fill 96.5 % of their cells
/// (Lehman and Panigrahy, *3.5-way cuckoo hashing for the price of 2-and-a-bit*); tables are planned for 93.5 %.
///
/// *Layout.* A cell is a fingerprint of the whole width; 0 means empty. A key in table t and cell c is stored under function
/// 2t + c mod 2.
///
/// *Paper.* None: `docs/remembering.md` explains it. The cells and the moves are those of 000's Cuckooing filter, the swaps those of
/// 003's Swapping filter.
///
/// ```
/// use twiceshy::{cuckoo::RememberingFilter, filter::Adapted, hash::HashKey, remote::ByHash};
///
/// let mut filter = RememberingFilter::options(1000, 0.05)?.build(HashKey::fixed(1), ByHash::new())?;
/// for key in 0..1000u32 {
///     filter.insert(&key)?;
/// }
/// let mistakes: Vec<u32> = (1000..3000).filter(|query| filter.contains(query)).collect();
/// for mistake in &mistakes {
///     filter.was_wrong(mistake)?;
/// }
/// assert!(!mistakes.iter().any(|mistake| filter.contains(mistake)), "not one comes back");
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type RememberingFilter = FullKeyCuckoo<Remembering>;

impl Rule for Remembering {
    type Spec = RememberingSpec;
    const BY_SPOT: bool = true;
    const BY_CELL: bool = true;
    const MANY: bool = true;
    const OVERLAPS: bool = true;
    const LISTS: bool = true;

    #[inline]
    fn choice(&self) -> Choice {
        if self.cells == 1 { Choice::ByTable } else { Choice::BySpot }
    }

    #[inline]
    fn function(&self, spot: Spot, _: u32) -> Function {
        Function(spot.table * self.cells + spot.cell)
    }

    fn arriving(&self, spot: Spot, _: Function) -> Function {
        self.function(spot, 0)
    }

    #[inline]
    fn values(&self, _: Function) -> Values {
        self.values
    }
}

impl Adapting for Remembering {
    fn plan(
        &self,
        planner: &mut Planner<'_, Remembering>,
        query: &Located,
        cells: &[CellId],
    ) -> Result<Verdict, PlanError> {
        let before = planner.draft();
        for cell in cells {
            // An earlier chain of this plan may have cleared the collision.
            if planner.matches(query, *cell) && fix(planner, query, *cell)? == Chain::None {
                break;
            }
        }
        if planner.is_present(query) {
            planner.return_to(before);
        }
        Ok(Verdict::Planned)
    }
}

/// The options of [`RememberingFilter`] beyond the common ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberingSpec {
    aligned: bool,
}

impl RuleSpec for RememberingSpec {
    type Rule = Remembering;
    const KIND: Kind = Kind::Remembering;

    fn overlaps(&self) -> bool {
        !self.aligned
    }

    fn rule(&self, shape: Shape, width: u32) -> Result<Remembering, OptionsError> {
        Ok(Remembering { values: Values::all(width), cells: shape.cells_per_bucket() })
    }

    fn write(_: &Remembering, _: &mut Writer<'_>) {}

    fn read(_: &mut Reader) -> Result<RememberingSpec, LoadError> {
        Ok(RememberingSpec { aligned: false })
    }
}

impl RememberingFilter {
    /// Room for `capacity` keys at this false-positive rate, two tables with windows of two cells.
    pub fn options(capacity: u64, rate: f64) -> Result<Options<RememberingSpec>, OptionsError> {
        Options::for_capacity(capacity, rate, 2, 2, RememberingSpec { aligned: false })
    }

    /// At least `cells` cells of `bits` bits, two tables with windows of two cells.
    pub fn with_cells(cells: u64, bits: u32) -> Options<RememberingSpec> {
        Options::with_cells(cells, bits, 2, 2, RememberingSpec { aligned: false })
    }
}

impl Options<RememberingSpec> {
    /// `true` for buckets that lie side by side in place of windows. For experiments.
    #[doc(hidden)]
    #[must_use]
    pub fn aligned(mut self, aligned: bool) -> Self {
        self.spec.aligned = aligned;
        self
    }
}
