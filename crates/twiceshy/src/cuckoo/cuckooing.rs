//! The Cuckooing filter: a colliding key moves to its next table.

use super::adapt::{Adapting, Verdict};
use super::fingerprint::{Choice, Function, Rule, Values};
use super::full_key::FullKeyCuckoo;
use super::local::Located;
use super::options::{Options, RuleSpec};
use super::planner::{Occupant, Planner};
use super::search::{MOST_STEPS, Tables, breadth_first};
use super::shape::{Shape, Spot};
use crate::error::{OptionsError, PlanError};
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::CellId;
use std::rc::Rc;

/// How a colliding key finds its new cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Moves {
    /// The walk of 000 section 2.3. The colliding key goes to its next table. A displaced key takes any of its free cells,
    /// or else goes to its next table, and so on.
    Walk {
        /// The most keys that one walk moves. A longer walk changes nothing, and asks for a rebuild.
        steps: u32,
    },
    /// The shortest path from the colliding key's other tables to a free cell, which disturbs as few keys as possible.
    ShortestPath {
        /// The most cells whose owner is looked up.
        cells: u32,
    },
}

impl Moves {
    /// The paper's walk of at most 500 steps: at 95 % load one walk in five is longer than log2 n.
    pub const DEFAULT: Moves = Moves::Walk { steps: 500 };
}

/// The rule of [`CuckooingFilter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuckooing {
    values: Values,
    shared: bool,
    moves: Moves,
}

/// The adaptive cuckoo filter that fixes a mistake by moving the colliding key to another table, 4×1 by default.
///
/// *Cost.* As for the plain filter: no bit is spent on adapting. An adaptation reads R for every key that it moves. At 95 %
/// load a walk moves a dozen keys in the median, and sometimes hundreds.
///
/// *Layout.* A cell is a fingerprint of the whole width; 0 means empty. A key in table t is stored under function t (004
/// A.2), or under one function in all tables (000 section 2.1) with [`Options::shared_fingerprint`].
///
/// *Paper.* 000 sections 2.2 and 2.3. Theorem 1 there: over at most n queries with support Q, 2×1 has about ε|Q| false
/// positives. That holds below half load. At half load (n keys, two tables of n cells) about n^(2/3) keys are *stuck*: their
/// connected part of the cuckoo graph has as many keys as cells, they are not on its cycle, and so they have one possible
/// cell. A query that collides with one of them is wrong each time that it is asked, and of all distinct queries about
/// ε/n^(1/3) do.
///
/// *Departure.* In 2×1 the walk of a stuck key leads back to its cell. Such a walk is dropped, and the answer is
/// [`Adapted::Unfixable`](crate::filter::Adapted::Unfixable). The paper rebuilds the filter when a walk passes its bound. Here the plan is dropped, nothing changes, and
/// [`Backed::wants_rebuild`](crate::filter::Backed::wants_rebuild) returns `true`: the caller chooses when to rebuild. Of
/// several colliding keys, one that an earlier walk of the same plan has moved does not move again, and one that agrees with
/// the query in every table does not move at all.
///
/// ```
/// use twiceshy::{cuckoo::CuckooingFilter, filter::Adapted, hash::HashKey, remote::ByHash};
///
/// let mut filter = CuckooingFilter::options(1000, 0.05)?.build(HashKey::fixed(1), ByHash::new())?;
/// for key in 0..900u32 {
///     filter.insert(&key)?;
/// }
/// let mistake = (1000..u32::MAX).find(|query| filter.contains(query)).expect("one in twenty");
/// assert_eq!(filter.was_wrong(&mistake)?, Adapted::Fixed);
/// assert!(!filter.contains(&mistake), "once bitten");
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type CuckooingFilter = FullKeyCuckoo<Cuckooing>;

impl Rule for Cuckooing {
    type Spec = CuckooingSpec;
    const BY_SPOT: bool = true;
    const MANY: bool = true;

    #[inline]
    fn choice(&self) -> Choice {
        if self.shared { Choice::First } else { Choice::ByTable }
    }

    #[inline]
    fn function(&self, spot: Spot, _: u32) -> Function {
        Function(if self.shared { 0 } else { spot.table })
    }

    fn arriving(&self, spot: Spot, _: Function) -> Function {
        self.function(spot, 0)
    }

    #[inline]
    fn values(&self, _: Function) -> Values {
        self.values
    }
}

/// The result of one move.
enum Moved {
    Done,
    /// The colliding key is in its cell again.
    Returned,
    OverBound,
    /// On every path, some owner is unknown.
    Unknown,
}

impl Cuckooing {
    /// `true` if the key matches the query in every table: then no move helps.
    fn agree_everywhere(&self, planner: &Planner<'_, Cuckooing>, key: &Located, query: &Located) -> bool {
        let local = planner.local;
        (0..local.shape.tables()).all(|table| {
            let function = self.function(Spot { table, cell: 0 }, 0);
            let at = usize::from(table);
            key.buckets[at] == query.buckets[at] && local.value(&key.key, function) == local.value(&query.key, function)
        })
    }

    /// `true` if a walk that leads the colliding key back to its cell proves that no placement of the keys has it elsewhere.
    ///
    /// With two tables of single cells it does. Let C be the cells that the walk went through, without the one that it began at.
    /// Each of them held a key, or else the walk would have ended there. These are |C| keys, and the colliding key is none of
    /// them, since it was in the first cell. Each of them was displaced, and the walk went on with its other cell, which is in C
    /// too. So |C| keys have no cells but those of C, and fill them in every placement. The colliding key's second cell is in
    /// C, which leaves it the first.
    ///
    /// The walk of a key that has another placement never returns. So in this shape the answer is exact, unless the walk
    /// passes its bound or meets a cell whose owner is unknown. With more tables or wider buckets, a walk tries only some of the cells that its keys may have.
    fn proves_stuck(shape: Shape) -> bool {
        shape.tables() == 2 && shape.cells_per_bucket() == 1
    }

    /// The walk of 000 section 2.3.
    fn walk(
        &self,
        planner: &mut Planner<'_, Cuckooing>,
        from: CellId,
        colliding: Occupant,
        steps: u32,
    ) -> Result<Moved, PlanError> {
        planner.clear(from);
        let shape = planner.local.shape;
        let key = colliding.located.clone();
        let (mut moving, mut left) = (colliding, shape.spot(from).table);
        for step in 0..steps {
            let table = (left + 1) % shape.tables();
            // The colliding key must leave its table. Keys that it displaces may take any of their free cells.
            let tables = if step == 0 { table..table + 1 } else { 0..shape.tables() };
            for at in tables {
                for cell in shape.bucket_cells(at, moving.buckets()[usize::from(at)]) {
                    if planner.is_free(cell)? {
                        let is_back = cell == from && Rc::ptr_eq(&moving.located, &key);
                        planner.arrive(cell, moving);
                        return Ok(if is_back { Moved::Returned } else { Moved::Done });
                    }
                }
            }
            let CellId(first) = shape.first_cell(table, moving.buckets()[usize::from(table)]);
            let per_bucket = u64::from(shape.cells_per_bucket());
            let start = planner.rng.below(per_bucket);
            let mut displaced = None;
            for turn in 0..per_bucket {
                let cell = CellId(first + (start + turn) % per_bucket);
                if let Some(occupant) = planner.occupant(cell)? {
                    displaced = Some((cell, occupant));
                    break;
                }
            }
            let Some((cell, occupant)) = displaced else { return Ok(Moved::Unknown) };
            planner.arrive(cell, moving);
            let Some(occupant) = occupant else { return Ok(Moved::Done) };
            (moving, left) = (occupant, table);
        }
        Ok(Moved::OverBound)
    }

    fn shortest(
        &self,
        planner: &mut Planner<'_, Cuckooing>,
        from: CellId,
        colliding: Occupant,
        query: &Located,
        budget: u32,
    ) -> Result<Moved, PlanError> {
        let local = planner.local;
        let table = local.shape.spot(from).table;
        let buckets = *colliding.buckets();
        // The key must not stay in its table, nor go where it would collide with the query again. Its old cell stays free.
        let clash = |at: u8| {
            let function = self.function(Spot { table: at, cell: 0 }, 0);
            let bucket = usize::from(at);
            buckets[bucket] == query.buckets[bucket]
                && local.value(&colliding.located.key, function) == local.value(&query.key, function)
        };
        let barred: Vec<CellId> = (0..local.shape.tables())
            .filter(|at| *at == table || clash(*at))
            .flat_map(|at| local.shape.bucket_cells(at, buckets[usize::from(at)]))
            .collect();
        let unknown = planner.owners.sizes.unknown;
        let path = breadth_first(planner, &buckets, |cell| !barred.contains(&cell), budget)?;
        let Some(path) = path else {
            return Ok(if planner.owners.sizes.unknown > unknown { Moved::Unknown } else { Moved::OverBound });
        };
        planner.clear(from);
        planner.follow(&path, colliding)?;
        Ok(Moved::Done)
    }
}

impl Adapting for Cuckooing {
    fn plan(
        &self,
        planner: &mut Planner<'_, Cuckooing>,
        query: &Located,
        cells: &[CellId],
    ) -> Result<Verdict, PlanError> {
        let mut verdict = Verdict::Planned;
        for cell in cells {
            // An earlier move of this plan may have cleared the collision.
            if !planner.matches(query, *cell) {
                continue;
            }
            let Some(Some(colliding)) = planner.occupant(*cell)? else { continue };
            if self.agree_everywhere(planner, &colliding.located, query) {
                verdict = Verdict::Unfixable;
                continue;
            }
            let before = planner.draft();
            let moved = match self.moves {
                Moves::Walk { steps } => self.walk(planner, *cell, colliding, steps)?,
                Moves::ShortestPath { cells } => self.shortest(planner, *cell, colliding, query, cells)?,
            };
            match moved {
                Moved::Returned if Self::proves_stuck(planner.local.shape) => {
                    planner.return_to(before);
                    verdict = Verdict::Stuck;
                }
                Moved::Done | Moved::Returned => {}
                Moved::Unknown => planner.return_to(before),
                Moved::OverBound => return Ok(Verdict::OverBound),
            }
        }
        Ok(verdict)
    }
}

/// The options of [`CuckooingFilter`] beyond the common ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CuckooingSpec {
    shared: bool,
    moves: Moves,
}

impl RuleSpec for CuckooingSpec {
    type Rule = Cuckooing;
    const KIND: Kind = Kind::Cuckooing;

    fn rule(&self, _: Shape, width: u32) -> Result<Cuckooing, OptionsError> {
        let (Moves::Walk { steps: bound } | Moves::ShortestPath { cells: bound }) = self.moves;
        if !(1..=MOST_STEPS).contains(&bound) {
            return Err(OptionsError::Bound("the bound of a move must be 1 to 1048576 steps (the default is 500)"));
        }
        Ok(Cuckooing { values: Values::all(width), shared: self.shared, moves: self.moves })
    }

    fn write(rule: &Cuckooing, out: &mut Writer<'_>) {
        out.u8(rule.shared.into());
        let (kind, bound) = match rule.moves {
            Moves::Walk { steps } => (0, steps),
            Moves::ShortestPath { cells } => (1, cells),
        };
        out.u8(kind);
        out.u32(bound);
    }

    fn read(from: &mut Reader) -> Result<CuckooingSpec, LoadError> {
        let (shared, kind, bound) = (from.u8()?, from.u8()?, from.u32()?);
        let moves = match kind {
            0 => Moves::Walk { steps: bound },
            1 => Moves::ShortestPath { cells: bound },
            other => return Err(LoadError::invalid(format!("its way to move is {other}"))),
        };
        if shared > 1 {
            return Err(LoadError::invalid(format!("its flag for a shared fingerprint is {shared}")));
        }
        Ok(CuckooingSpec { shared: shared == 1, moves })
    }
}

const DEFAULT: CuckooingSpec = CuckooingSpec { shared: false, moves: Moves::DEFAULT };

impl CuckooingFilter {
    /// Room for `capacity` keys at this false-positive rate, 4×1.
    pub fn options(capacity: u64, rate: f64) -> Result<Options<CuckooingSpec>, OptionsError> {
        Options::for_capacity(capacity, rate, 4, 1, DEFAULT)
    }

    /// At least `cells` cells of `bits` bits, 4×1.
    pub fn with_cells(cells: u64, bits: u32) -> Options<CuckooingSpec> {
        Options::with_cells(cells, bits, 4, 1, DEFAULT)
    }
}

impl Options<CuckooingSpec> {
    /// `true` if a key has the same fingerprint in all tables. `false` by default.
    #[must_use]
    pub fn shared_fingerprint(mut self, shared: bool) -> Self {
        self.spec.shared = shared;
        self
    }

    /// How a colliding key finds its new cell.
    #[must_use]
    pub fn moves(mut self, moves: Moves) -> Self {
        self.spec.moves = moves;
        self
    }
}
