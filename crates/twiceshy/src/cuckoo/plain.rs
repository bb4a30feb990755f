//! The full-key filter that does not adapt: the papers' baseline.

use super::adapt::{Adapting, Verdict};
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

/// The rule of [`FullKeyFilter`]: one fingerprint function for every cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plain {
    values: Values,
}

/// The full-key cuckoo filter without adaptation, 4×1 by default: the baseline of 003 section 4.
///
/// *Cost.* Three hash words and four cells per look-up, which can all be loaded at once. An insertion writes one entry to R
/// for each table.
///
/// *Layout.* A cell is a fingerprint of the whole width; 0 means empty, so `2^w − 1` values are in use.
///
/// *Paper.* 003 section 2 with the full keys of section 3; 000 section 2.2. See [`CuckooFilter`](super::CuckooFilter) for
/// the partial-key form that needs no remote.
///
/// ```
/// use twiceshy::{cuckoo::FullKeyFilter, hash::HashKey, remote::ByHash};
///
/// let mut filter = FullKeyFilter::options(1000, 0.01)?.build(HashKey::random()?, ByHash::new())?;
/// assert!(filter.insert("owl")?, "it is new");
/// assert!(filter.contains("owl"));
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type FullKeyFilter = FullKeyCuckoo<Plain>;

impl Rule for Plain {
    type Spec = PlainSpec;
    const BY_SPOT: bool = true;

    #[inline]
    fn choice(&self) -> Choice {
        Choice::First
    }

    #[inline]
    fn function(&self, _: Spot, _: u32) -> Function {
        Function(0)
    }

    fn arriving(&self, _: Spot, _: Function) -> Function {
        Function(0)
    }

    #[inline]
    fn values(&self, _: Function) -> Values {
        self.values
    }
}

impl Adapting for Plain {
    fn plan(&self, _: &mut Planner<'_, Plain>, _: &Located, _: &[CellId]) -> Result<Verdict, PlanError> {
        Ok(Verdict::Static)
    }
}

/// The options of [`FullKeyFilter`] beyond the common ones: none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlainSpec;

impl RuleSpec for PlainSpec {
    type Rule = Plain;
    const KIND: Kind = Kind::FullKey;

    fn rule(&self, _: Shape, width: u32) -> Result<Plain, OptionsError> {
        Ok(Plain { values: Values::all(width) })
    }

    fn write(_: &Plain, _: &mut Writer<'_>) {}

    fn read(_: &mut Reader) -> Result<PlainSpec, LoadError> {
        Ok(PlainSpec)
    }
}

impl FullKeyFilter {
    /// Room for `capacity` keys at this false-positive rate, 4×1.
    pub fn options(capacity: u64, rate: f64) -> Result<Options<PlainSpec>, OptionsError> {
        Options::for_capacity(capacity, rate, 4, 1, PlainSpec)
    }

    /// At least `cells` cells of `bits` bits, 4×1.
    pub fn with_cells(cells: u64, bits: u32) -> Options<PlainSpec> {
        Options::with_cells(cells, bits, 4, 1, PlainSpec)
    }
}
