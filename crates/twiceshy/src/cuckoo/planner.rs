//! A plan under construction: what cells will hold, on top of what L holds now.

use super::edit::{Counted, Edit};
use super::fingerprint::{Function, Rule};
use super::local::{EMPTY, Local, Located};
use super::owners::{Owner, Owners, PartSizes};
use super::search::{Path, Resident, Tables};
use super::shape::{Buckets, Shape};
use crate::error::PlanError;
use crate::remote::{CellId, Generation, Keys, Write};
use crate::rng::SplitMix64;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A key in a cell, with the fingerprint function that it uses there.
#[derive(Clone, Debug)]
pub(crate) struct Occupant {
    pub(crate) located: Rc<Located>,
    pub(crate) function: Function,
}

/// Reads L and R, changes neither. A walk that returns to a cell finds the key that the plan put there.
pub struct Planner<'a, R> {
    pub(crate) local: &'a Local<R>,
    pub(crate) owners: Owners<'a, R>,
    pub(crate) rng: SplitMix64,
    draft: BTreeMap<CellId, Option<Occupant>>,
    /// The plan's change to the number of orphans.
    orphans: i64,
    /// `true` if a search may not move a key to where a query of its memory matches it.
    pub(crate) is_careful: bool,
}

/// A saved state of a plan.
pub(crate) struct Draft(BTreeMap<CellId, Option<Occupant>>, i64);

/// A finished plan's changes to L, and the moves that a mirror must be told.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) edit: Edit,
    pub(crate) moves: Vec<(CellId, CellId)>,
    pub(crate) sizes: PartSizes,
}

impl Finished {
    /// The moves for the remote: empty, unless it mirrors cells.
    pub(crate) fn writes(&self, generation: Generation, keys: &dyn Keys) -> impl Iterator<Item = Write> + use<'_> {
        let heard = if keys.knows_cells() { self.moves.as_slice() } else { &[] };
        heard.iter().map(move |(from, to)| Write::Move { generation, from: *from, to: *to })
    }
}

impl<'a, R: Rule> Planner<'a, R> {
    pub(crate) fn new(local: &'a Local<R>, keys: &'a dyn Keys, rng: SplitMix64) -> Self {
        let owners = Owners::new(local, keys);
        Planner { local, owners, rng, draft: BTreeMap::new(), orphans: 0, is_careful: false }
    }

    /// The value that a cell will have.
    pub(crate) fn value(&self, cell: CellId) -> u32 {
        match self.draft.get(&cell) {
            Some(Some(occupant)) => self.local.value(&occupant.located.key, occupant.function),
            Some(None) => EMPTY,
            None => self.local.get(cell),
        }
    }

    /// `true` if a look-up of `query` will match this cell, which must be one of the query's cells.
    pub(crate) fn matches(&self, query: &Located, cell: CellId) -> bool {
        self.local.fits(&query.key, cell, self.value(cell))
    }

    /// `true` if a look-up of `query` will report it present.
    pub(crate) fn is_present(&self, query: &Located) -> bool {
        self.local.shape.cells_of(&query.buckets).any(|cell| self.matches(query, cell))
    }

    /// `true` if a query that the key is remembered to have been mistaken for would match it in this cell. For rules by spot.
    pub(crate) fn recalls(&self, key: &Located, cell: CellId) -> bool {
        let (local, mut recalls) = (self.local, false);
        let function = local.rule.function(local.shape.spot(cell), EMPTY);
        self.owners.keys.mistaken_for(&key.key, &mut |query| {
            let words = local.hash.words(query);
            let is_there = local.shape.cells_of(&local.shape.buckets_of(&words)).any(|own| own == cell);
            recalls |= is_there && local.value_of(words, function) == local.value(&key.key, function);
        });
        recalls
    }

    /// The key that will be in a cell. Clears the cell if it holds an orphan. The outer `None` means unknown.
    pub(crate) fn occupant(&mut self, cell: CellId) -> Result<Option<Option<Occupant>>, PlanError> {
        if let Some(drafted) = self.draft.get(&cell) {
            return Ok(Some(drafted.clone()));
        }
        if self.local.get(cell) == EMPTY {
            return Ok(Some(None));
        }
        Ok(match self.owners.owner(cell)? {
            Owner::Key(located) => Some(Some(Occupant { located, function: self.local.function(cell) })),
            // If no orphan was left behind, a cell without an owner means that L and R hold different sets.
            Owner::NoKey if self.local.orphans.saturating_add_signed(self.orphans) == 0 => {
                return Err(PlanError::Disagree);
            }
            Owner::NoKey => {
                self.draft.insert(cell, None);
                self.orphans -= 1;
                Some(None)
            }
            Owner::Unknown => None,
        })
    }

    /// Saves the plan so far.
    pub(crate) fn draft(&self) -> Draft {
        Draft(self.draft.clone(), self.orphans)
    }

    /// Returns to a saved state. Owners stay decided: the matching does not change.
    pub(crate) fn return_to(&mut self, Draft(draft, orphans): Draft) {
        (self.draft, self.orphans) = (draft, orphans);
    }

    /// Plans a removal that cannot determine which cell to clear.
    pub(crate) fn leave_orphan(&mut self) {
        self.orphans += 1;
    }

    /// The cell that a key of the plan will be in.
    pub(crate) fn drafted_cell(&self, key: &Rc<Located>) -> Option<CellId> {
        let holds =
            |occupant: &Option<Occupant>| occupant.as_ref().is_some_and(|occupant| Rc::ptr_eq(&occupant.located, key));
        self.draft.iter().find(|(_, occupant)| holds(occupant)).map(|(cell, _)| *cell)
    }

    /// Plans to empty the cell.
    pub(crate) fn clear(&mut self, cell: CellId) {
        self.draft.insert(cell, None);
    }

    /// Plans to put a key into the cell under exactly this function.
    pub(crate) fn put(&mut self, cell: CellId, occupant: Occupant) {
        self.draft.insert(cell, Some(occupant));
    }

    /// Plans to move a key into the cell. It keeps its function if the rule allows it.
    pub(crate) fn arrive(&mut self, cell: CellId, occupant: Occupant) {
        let function = self.local.rule.arriving(self.local.shape.spot(cell), occupant.function);
        self.put(cell, Occupant { function, ..occupant });
    }

    /// Moves a new key along a path: it takes the first cell, the key there the second, and so on.
    pub(crate) fn follow(&mut self, Path(path): &Path, newcomer: Occupant) -> Result<(), PlanError> {
        let mut moving = Some(newcomer);
        for cell in path {
            let displaced = self.occupant(*cell)?;
            if let Some(occupant) = moving.take() {
                self.arrive(*cell, occupant);
            }
            moving = displaced.flatten();
        }
        // A path ends in a free cell, which has no occupant.
        debug_assert!(moving.is_none());
        Ok(())
    }

    /// The plan as new values and moves. `keys` is the change to the number of keys.
    pub(crate) fn finish(self, keys: i64) -> Finished {
        let (orphans, rng) = (self.orphans, self.rng.state());
        let mut edit = Edit { cells: Vec::new(), keys, orphans, rng, counted: Counted::Nothing, flipped: None };
        let mut moves = Vec::new();
        for (&cell, drafted) in &self.draft {
            let value = self.value(cell);
            if value != self.local.get(cell) {
                edit.cells.push((cell, value));
            }
            if let Some(occupant) = drafted
                && let Some(from) = self.owners.decided_cell(&occupant.located.key)
                && from != cell
            {
                moves.push((from, cell));
            }
        }
        Finished { edit, moves, sizes: self.owners.sizes }
    }
}

impl<R: Rule> Tables for Planner<'_, R> {
    type Error = PlanError;

    fn shape(&self) -> Shape {
        self.local.shape
    }

    fn is_free(&mut self, cell: CellId) -> Result<bool, Self::Error> {
        Ok(match self.draft.get(&cell) {
            Some(drafted) => drafted.is_none(),
            None => self.local.get(cell) == EMPTY,
        })
    }

    fn resident(&mut self, cell: CellId) -> Result<Resident, Self::Error> {
        Ok(match self.occupant(cell)? {
            Some(Some(occupant)) => Resident::At(occupant.located.buckets),
            Some(None) => Resident::NoKey,
            None => Resident::Unknown,
        })
    }

    fn is_barred(&mut self, from: CellId, to: CellId) -> Result<bool, Self::Error> {
        if !self.is_careful {
            return Ok(false);
        }
        let Some(Some(occupant)) = self.occupant(from)? else { return Ok(false) };
        Ok(self.recalls(&occupant.located, to))
    }
}

/// The buckets of an occupant, for searches that start with it.
impl Occupant {
    pub(crate) fn buckets(&self) -> &Buckets {
        &self.located.buckets
    }
}
