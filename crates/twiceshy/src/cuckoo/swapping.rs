//! The Swapping filter: two keys of a bucket swap cells.

use super::adapt::{Adapting, Verdict};
use super::fingerprint::{Choice, Function, Rule, Values};
use super::full_key::FullKeyCuckoo;
use super::local::Located;
use super::options::{Options, RuleSpec};
use super::planner::{Occupant, Planner};
use super::shape::{Shape, Spot};
use crate::error::{OptionsError, PlanError};
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::CellId;

/// The rule of [`SwappingFilter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swapping {
    values: Values,
    cells: u8,
    all: bool,
}

/// The adaptive cuckoo filter whose fingerprint function is the cell's number in its bucket, 2×4 by default.
///
/// *Cost.* Two buckets of four cells per look-up, which lie in two cache lines, and two hash words for cells of up to 12
/// bits. No bit is spent on adapting, but eight cells are compared where 4×1 compares four. An adaptation reads R once for
/// the bucket (a mirror twice) and writes nothing to a remote by hash.
///
/// *Layout.* A cell is a fingerprint of the whole width; 0 means empty. A key in cell j is stored under function j.
///
/// *Paper.* 003 section 3.3 and Algorithms 3 and 4, 000 section 2.5: the colliding key swaps with a random other
/// cell of its bucket, empty or not. One swap for each false positive, as footnote 2 of 003 says; all colliding cells with
/// [`Options::all_cells`].
///
/// *Departure.* If a [memory](crate::memory::Memory) of mistakes is kept, a swap that would bring one back is drawn again, as long as
/// there is one that does not.
///
/// *Narrow cells.* A remote by hash has to work out who owns a cell, and in cells of 4 bits or fewer it cannot always: then
/// nothing is swapped, and the mistake stays. 2×4 at 95 % load and 4 bits, that was one owner in 1,700 mistakes, and the
/// filter erred as often as over a [`Mirror`](crate::remote::Mirror), within 1 %. At 5 bits every owner was found.
///
/// ```
/// use twiceshy::{cuckoo::SwappingFilter, hash::HashKey, remote::ByHash};
///
/// let mut filter = SwappingFilter::options(1000, 0.05)?.build(HashKey::fixed(1), ByHash::new())?;
/// for key in 0..1000u32 {
///     filter.insert(&key)?;
/// }
/// let mistake = (1000..u32::MAX).find(|query| filter.contains(query)).expect("one in twenty");
/// filter.was_wrong(&mistake)?;
/// assert!((0..1000u32).all(|key| filter.contains(&key)), "nothing is lost");
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type SwappingFilter = FullKeyCuckoo<Swapping>;

impl Rule for Swapping {
    type Spec = SwappingSpec;
    const BY_SPOT: bool = true;
    const BY_CELL: bool = true;
    const MANY: bool = true;

    #[inline]
    fn choice(&self) -> Choice {
        Choice::ByCell
    }

    #[inline]
    fn function(&self, spot: Spot, _: u32) -> Function {
        Function(spot.cell)
    }

    fn arriving(&self, spot: Spot, _: Function) -> Function {
        Function(spot.cell)
    }

    #[inline]
    fn values(&self, _: Function) -> Values {
        self.values
    }
}

impl Swapping {
    /// Another cell of the bucket, chosen uniformly.
    fn other(&self, planner: &mut Planner<'_, Swapping>, cell: CellId) -> CellId {
        let at = u64::from(planner.local.shape.spot(cell).cell);
        let chosen = planner.rng.below(u64::from(self.cells) - 1);
        CellId(cell.0 - at + chosen + u64::from(chosen >= at))
    }

    /// The same, but if that swap brings a remembered mistake back, one of those that do not, if there are any.
    fn without_an_old_mistake(
        &self,
        planner: &mut Planner<'_, Swapping>,
        cell: CellId,
        colliding: &Occupant,
    ) -> Result<CellId, PlanError> {
        let drawn = self.other(planner, cell);
        if !brings_back(planner, cell, drawn, colliding)? {
            return Ok(drawn);
        }
        let first = cell.0 - u64::from(planner.local.shape.spot(cell).cell);
        let mut better = Vec::new();
        for other in (first..first + u64::from(self.cells)).map(CellId) {
            if other != cell && !brings_back(planner, cell, other, colliding)? {
                better.push(other);
            }
        }
        let count = better.len() as u64;
        Ok(if count == 0 { drawn } else { better[planner.rng.below(count) as usize] })
    }

    fn swap(&self, planner: &mut Planner<'_, Swapping>, cell: CellId) -> Result<Option<Occupant>, PlanError> {
        let Some(Some(colliding)) = planner.occupant(cell)? else { return Ok(None) };
        let other = self.without_an_old_mistake(planner, cell, &colliding)?;
        // If the owner is unknown, nothing is swapped: the next false positive draws another cell.
        let Some(swapped) = planner.occupant(other)? else { return Ok(Some(colliding)) };
        match swapped {
            Some(swapped) => planner.arrive(cell, swapped),
            None => planner.clear(cell),
        }
        planner.arrive(other, colliding.clone());
        Ok(Some(colliding))
    }
}

/// `true` if a swap puts one of the two keys where a query of its memory matches it.
fn brings_back(
    planner: &mut Planner<'_, Swapping>,
    cell: CellId,
    other: CellId,
    colliding: &Occupant,
) -> Result<bool, PlanError> {
    if planner.recalls(&colliding.located, other) {
        return Ok(true);
    }
    Ok(match planner.occupant(other)? {
        Some(Some(swapped)) => planner.recalls(&swapped.located, cell),
        _ => false,
    })
}

impl Adapting for Swapping {
    fn plan(
        &self,
        planner: &mut Planner<'_, Swapping>,
        query: &Located,
        cells: &[CellId],
    ) -> Result<Verdict, PlanError> {
        let mut verdict = Verdict::Planned;
        for cell in cells.iter().take(if self.all { cells.len() } else { 1 }) {
            // An earlier swap of this plan may have removed the collision, or caused a new one.
            if !planner.matches(query, *cell) {
                continue;
            }
            if let Some(colliding) = self.swap(planner, *cell)? {
                let local = planner.local;
                let agree = |function| {
                    local.value(&colliding.located.key, Function(function))
                        == local.value(&query.key, Function(function))
                };
                if (0..self.cells).all(agree) {
                    verdict = Verdict::Unfixable;
                }
            }
        }
        Ok(verdict)
    }
}

/// The options of [`SwappingFilter`] beyond the common ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwappingSpec {
    all: bool,
}

impl RuleSpec for SwappingSpec {
    type Rule = Swapping;
    const KIND: Kind = Kind::Swapping;

    fn rule(&self, shape: Shape, width: u32) -> Result<Swapping, OptionsError> {
        if shape.cells_per_bucket() < 2 {
            return Err(OptionsError::Bound(
                "swapping needs at least 2 cells per bucket, since keys swap cells within a bucket",
            ));
        }
        Ok(Swapping { values: Values::all(width), cells: shape.cells_per_bucket(), all: self.all })
    }

    fn write(rule: &Swapping, out: &mut Writer<'_>) {
        out.u8(rule.all.into());
    }

    fn read(from: &mut Reader) -> Result<SwappingSpec, LoadError> {
        match from.u8()? {
            flag @ 0..=1 => Ok(SwappingSpec { all: flag == 1 }),
            other => Err(LoadError::invalid(format!("its flag for all cells is {other}"))),
        }
    }
}

impl SwappingFilter {
    /// Room for `capacity` keys at this false-positive rate, 2×4.
    pub fn options(capacity: u64, rate: f64) -> Result<Options<SwappingSpec>, OptionsError> {
        Options::for_capacity(capacity, rate, 2, 4, SwappingSpec::default())
    }

    /// At least `cells` cells of `bits` bits, 2×4.
    pub fn with_cells(cells: u64, bits: u32) -> Options<SwappingSpec> {
        Options::with_cells(cells, bits, 2, 4, SwappingSpec::default())
    }
}

impl Options<SwappingSpec> {
    /// `true` if a false positive swaps every colliding cell; `false` (the default) if only the first.
    #[must_use]
    pub fn all_cells(mut self, all: bool) -> Self {
        self.spec.all = all;
        self
    }
}
