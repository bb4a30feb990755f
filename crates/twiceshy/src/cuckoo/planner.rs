//! A plan in the making: what cells will hold, over what L holds now.

use super::edit::{Counted, Edit};
use super::fingerprint::{Function, Rule};
use super::local::{EMPTY, Local, Located};
use super::owners::{Owner, Owners, PartSizes};
use super::search::{Nest, Path, Resident};
use super::shape::{Buckets, Shape};
use crate::error::PlanError;
use crate::remote::{CellId, Generation, Keys, Write};
use crate::rng::SplitMix64;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A key in a cell, with the fingerprint function that it uses there.
#[derive(Clone, Debug)]
pub(crate) struct Lodger {
    pub(crate) located: Rc<Located>,
    pub(crate) function: Function,
}

/// Reads L and R, changes neither. A walk that comes back to a cell finds the key that the plan put there.
pub struct Planner<'a, R> {
    pub(crate) local: &'a Local<R>,
    pub(crate) owners: Owners<'a, R>,
    pub(crate) rng: SplitMix64,
    draft: BTreeMap<CellId, Option<Lodger>>,
    /// What the plan does to the number of orphans.
    orphans: i64,
}

/// A plan to come back to.
pub(crate) struct Draft(BTreeMap<CellId, Option<Lodger>>, i64);

/// What a finished plan does to L, and the moves that a mirror must hear of.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) edit: Edit,
    pub(crate) moves: Vec<(CellId, CellId)>,
    pub(crate) sizes: PartSizes,
}

impl Finished {
    /// What the remote must hear of the moves: nothing, unless it mirrors cells.
    pub(crate) fn writes(&self, generation: Generation, keys: &dyn Keys) -> impl Iterator<Item = Write> + use<'_> {
        let heard = if keys.knows_cells() { self.moves.as_slice() } else { &[] };
        heard.iter().map(move |(from, to)| Write::Move { generation, from: *from, to: *to })
    }
}

impl<'a, R: Rule> Planner<'a, R> {
    pub(crate) fn new(local: &'a Local<R>, keys: &'a dyn Keys, rng: SplitMix64) -> Self {
        let owners = Owners::new(local, keys);
        Planner { local, owners, rng, draft: BTreeMap::new(), orphans: 0 }
    }

    /// The value that a cell will have.
    pub(crate) fn value(&self, cell: CellId) -> u32 {
        match self.draft.get(&cell) {
            Some(Some(lodger)) => self.local.value(&lodger.located.key, lodger.function),
            Some(None) => EMPTY,
            None => self.local.get(cell),
        }
    }

    /// Whether a look-up of `query` will match this cell, which must be one of its own.
    pub(crate) fn matches(&self, query: &Located, cell: CellId) -> bool {
        self.local.fits(&query.key, cell, self.value(cell))
    }

    /// Whether a look-up of `query` will find it present.
    pub(crate) fn is_present(&self, query: &Located) -> bool {
        self.local.shape.cells_of(&query.buckets).any(|cell| self.matches(query, cell))
    }

    /// Who will be in a cell. An orphan that is met is cleared.
    pub(crate) fn lodger(&mut self, cell: CellId) -> Result<Option<Option<Lodger>>, PlanError> {
        if let Some(drafted) = self.draft.get(&cell) {
            return Ok(Some(drafted.clone()));
        }
        if self.local.get(cell) == EMPTY {
            return Ok(Some(None));
        }
        Ok(match self.owners.owner(cell)? {
            Owner::Key(located) => Some(Some(Lodger { located, function: self.local.function(cell) })),
            // Where no orphan was left behind, a cell without an owner means that L and R hold different sets.
            Owner::Nobody if self.local.orphans.saturating_add_signed(self.orphans) == 0 => {
                return Err(PlanError::Disagree);
            }
            Owner::Nobody => {
                self.draft.insert(cell, None);
                self.orphans -= 1;
                Some(None)
            }
            Owner::Unknown => None,
        })
    }

    /// The plan so far, to come back to.
    pub(crate) fn draft(&self) -> Draft {
        Draft(self.draft.clone(), self.orphans)
    }

    /// Forgets what was planned since. Owners stay decided: the matching does not change.
    pub(crate) fn return_to(&mut self, Draft(draft, orphans): Draft) {
        (self.draft, self.orphans) = (draft, orphans);
    }

    /// Plans a removal that cannot tell which cell to clear.
    pub(crate) fn leave_orphan(&mut self) {
        self.orphans += 1;
    }

    /// The cell that a key of the plan will be in.
    pub(crate) fn drafted_cell(&self, key: &Rc<Located>) -> Option<CellId> {
        let holds = |lodger: &Option<Lodger>| lodger.as_ref().is_some_and(|lodger| Rc::ptr_eq(&lodger.located, key));
        self.draft.iter().find(|(_, lodger)| holds(lodger)).map(|(cell, _)| *cell)
    }

    /// Plans the cell to be empty.
    pub(crate) fn clear(&mut self, cell: CellId) {
        self.draft.insert(cell, None);
    }

    /// Plans the cell to hold a key under exactly this function.
    pub(crate) fn put(&mut self, cell: CellId, lodger: Lodger) {
        self.draft.insert(cell, Some(lodger));
    }

    /// Plans the cell to hold a key that comes from elsewhere: it carries its function as far as the rule lets it.
    pub(crate) fn arrive(&mut self, cell: CellId, lodger: Lodger) {
        let function = self.local.rule.arriving(self.local.shape.spot(cell), lodger.function);
        self.put(cell, Lodger { function, ..lodger });
    }

    /// Sends a newcomer down a path: it takes the first cell, the key there the second, and so on.
    pub(crate) fn follow(&mut self, Path(path): &Path, newcomer: Lodger) -> Result<(), PlanError> {
        let mut homeless = Some(newcomer);
        for cell in path {
            let displaced = self.lodger(*cell)?;
            if let Some(lodger) = homeless.take() {
                self.arrive(*cell, lodger);
            }
            homeless = displaced.flatten();
        }
        // A path ends in a free cell, whose lodger is nobody.
        debug_assert!(homeless.is_none());
        Ok(())
    }

    /// The plan as new values and moves. `keys` is what it does to the number of keys.
    pub(crate) fn finish(self, keys: i64) -> Finished {
        let (orphans, rng) = (self.orphans, self.rng.state());
        let mut edit = Edit { cells: Vec::new(), keys, orphans, rng, counted: Counted::Nothing };
        let mut moves = Vec::new();
        for (&cell, drafted) in &self.draft {
            let value = self.value(cell);
            if value != self.local.get(cell) {
                edit.cells.push((cell, value));
            }
            if let Some(lodger) = drafted
                && let Some(from) = self.owners.decided_cell(&lodger.located.key)
                && from != cell
            {
                moves.push((from, cell));
            }
        }
        Finished { edit, moves, sizes: self.owners.sizes }
    }
}

impl<R: Rule> Nest for Planner<'_, R> {
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
        Ok(match self.lodger(cell)? {
            Some(Some(lodger)) => Resident::At(lodger.located.buckets),
            Some(None) => Resident::Nobody,
            None => Resident::Unknown,
        })
    }
}

/// The buckets of a lodger, for searches that start with it.
impl Lodger {
    pub(crate) fn buckets(&self) -> &Buckets {
        &self.located.buckets
    }
}
