//! Who owns a fingerprint: one matching between cells and keys, computed on L before a plan.
//!
//! A remote by hash answers with candidates. Draw an edge between an occupied cell and every key of L's set that has the
//! cell among its own and whose fingerprint there, under the function that the cell's value names, is the cell's value.
//! The true owners are a matching that leaves out no key.
//!
//! **Any such matching is as good as the true one.** Let M be the true matching and M′ another one that leaves out no key.
//! A plan built on M′ rewrites some cells and puts every key that M′ had in them into another cell, under a fingerprint
//! of its own, and so ends with each of those keys matched to a cell that holds its fingerprint; every other key keeps the
//! cell that M′ gave it, whose value did not change. So after the plan every key still has a cell of its own, which is all
//! that a look-up sees: it compares values, and does not know who wrote them.
//!
//! **Cell by cell.** [`Owners`] keeps the cells and keys that it has decided and takes them out of the graph. What is left
//! always has a matching that leaves out no key:
//! * A cell with one key left: some matching of what is left covers that key; move it to this cell, and it still covers
//!   every key. So the pair may be decided. The same holds for a key with one cell left.
//! * A cell with no key left has no owner: it is an orphan.
//! * Otherwise the whole connected part is searched for a matching, and the cell gets the owner that this matching gives
//!   it, possibly none.
//! * A part that passes the bound is not read to its end. Among the keys that were read, those with one cell left and
//!   cells with one key left are decided as above, over and over ([`Parts::settled`]). If the cell is not among these, its
//!   owner is unknown.
//!
//! Two matchings taken separately would not do: they may give two cells to one key and lose another.

use super::fingerprint::Rule;
use super::local::{EMPTY, Local, Located};
use super::matching::Parts;
use crate::error::PlanError;
use crate::remote::{CellId, Key, Keys};
use std::collections::HashMap;
use std::rc::Rc;

/// The most keys of a connected part that are read. In a larger part only what these settle is decided.
const PART_BOUND: usize = 64;

/// Where buckets overlap, a read for a cell serves the cells up to this distance from it.
const AROUND: u64 = 3;

/// The owner of a cell.
#[derive(Clone, Debug)]
pub(crate) enum Owner {
    Key(Rc<Located>),
    /// No owner: an orphan of an earlier removal.
    NoKey,
    /// The connected part is too large, and the keys that were read do not settle it.
    Unknown,
}

/// What the search for owners cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PartSizes {
    /// The most keys that had to be distinguished for one cell.
    pub(crate) largest: usize,
    /// Cells whose owner could not be determined.
    pub(crate) unknown: u64,
}

/// The matching of one plan, decided cell by cell.
pub(crate) struct Owners<'a, R> {
    local: &'a Local<R>,
    pub(crate) keys: &'a dyn Keys,
    read: HashMap<CellId, Vec<Rc<Located>>>,
    decided: HashMap<CellId, Owner>,
    cell_of: HashMap<Key, CellId>,
    pub(crate) sizes: PartSizes,
    /// How often R was read.
    pub(crate) reads: u32,
}

impl<'a, R: Rule> Owners<'a, R> {
    pub(crate) fn new(local: &'a Local<R>, keys: &'a dyn Keys) -> Self {
        Owners {
            local,
            keys,
            read: HashMap::new(),
            decided: HashMap::new(),
            cell_of: HashMap::new(),
            sizes: PartSizes::default(),
            reads: 0,
        }
    }

    /// The keys that R knows for the bucket of a cell, or for the cell itself if R knows cells. One read for each. Where buckets
    /// overlap, one read serves the cells around too.
    pub(crate) fn candidates(&mut self, cell: CellId) -> Result<Vec<Rc<Located>>, PlanError> {
        let shape = self.local.shape;
        let asked = self.asked(cell);
        if let Some(found) = self.read.get(&asked) {
            return Ok(found.clone());
        }
        let table = shape.spot(cell).table;
        let alone = self.keys.knows_cells() || !shape.overlaps();
        let near = if alone { cell..=cell } else { shape.around(cell, AROUND) };
        let buckets = *shape.buckets_of_cell(*near.start()).start()..=*shape.buckets_of_cell(*near.end()).end();
        let place = shape.place_at(table, buckets.clone(), cell, self.local.generation);
        let mut found = Vec::new();
        self.keys.candidates(&place, &mut |key| {
            let located = self.local.locate(key.into());
            if buckets.contains(&located.buckets[usize::from(table)]) {
                found.push(Rc::new(located));
            }
        })?;
        self.reads += 1;
        if alone {
            self.read.insert(asked, found.clone());
            return Ok(found);
        }
        (near.start().0..=near.end().0).for_each(|cell| drop(self.read.insert(CellId(cell), Vec::new())));
        for located in found {
            for cell in shape.bucket_cells(table, located.buckets[usize::from(table)]) {
                if let Some(known) = self.read.get_mut(&cell).filter(|_| near.contains(&cell)) {
                    known.push(located.clone());
                }
            }
        }
        Ok(self.read.get(&cell).cloned().unwrap_or_default())
    }

    /// The cell that a read for a cell is kept under.
    fn asked(&self, cell: CellId) -> CellId {
        let shape = self.local.shape;
        if self.keys.knows_cells() || shape.overlaps() {
            return cell;
        }
        shape.first_cell(shape.spot(cell).table, shape.bucket_of_cell(cell))
    }

    /// `true` if R was read for a cell.
    pub(crate) fn has_read(&self, cell: CellId) -> bool {
        self.read.contains_key(&self.asked(cell))
    }

    /// `true` if a key that these cells match is among the keys that R knows for them.
    pub(crate) fn stores(&mut self, key: &[u8], cells: &[CellId]) -> Result<bool, PlanError> {
        for cell in cells {
            if self.candidates(*cell)?.iter().any(|candidate| *candidate.key == *key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The owner of an occupied cell of L.
    pub(crate) fn owner(&mut self, cell: CellId) -> Result<Owner, PlanError> {
        if let Some(owner) = self.decided.get(&cell) {
            return Ok(owner.clone());
        }
        let left = self.fitting(cell)?;
        self.sizes.largest = self.sizes.largest.max(left.len());
        let owner = match left.as_slice() {
            [] => Owner::NoKey,
            [only] => Owner::Key(only.clone()),
            _ => match left.iter().find(|key| self.cells_left(key).len() == 1) {
                Some(key) => Owner::Key(key.clone()),
                None => self.match_part(cell)?,
            },
        };
        self.decide(cell, &owner);
        Ok(owner)
    }

    /// The keys that may own an occupied cell: one, or several if that cannot be determined.
    pub(crate) fn may_own(&mut self, cell: CellId) -> Result<Vec<Key>, PlanError> {
        Ok(match self.owner(cell)? {
            Owner::Key(located) => vec![located.key.clone()],
            Owner::NoKey => Vec::new(),
            Owner::Unknown => self.fitting(cell)?.iter().map(|located| located.key.clone()).collect(),
        })
    }

    /// The cell of a key in L's set; `None` if its part is too large to tell.
    pub(crate) fn cell_of(&mut self, key: &Rc<Located>) -> Result<Option<CellId>, PlanError> {
        if let Some(cell) = self.cell_of.get(&key.key) {
            return Ok(Some(*cell));
        }
        let cells = self.cells_left(key);
        let cell = match cells.as_slice() {
            [] => return Err(PlanError::Disagree),
            [only] => Some(*only),
            _ => {
                // By hash, the key itself fits all of these. A mirror names the owner, which may be another key.
                let sole = |cell: &CellId| -> Result<bool, PlanError> {
                    Ok(matches!(self.fitting(*cell)?.as_slice(), [only] if only.key == key.key))
                };
                match find_ok(&cells, sole)? {
                    Some(cell) => Some(cell),
                    None => match self.part(cells[0])? {
                        Some(part) => Some(part.cell_of(&key.key)?),
                        None => self.decided_cell(&key.key),
                    },
                }
            }
        };
        match cell {
            Some(cell) => self.decide(cell, &Owner::Key(key.clone())),
            None => self.sizes.unknown += 1,
        }
        Ok(cell)
    }

    /// The cell that was decided for a key, if any.
    pub(crate) fn decided_cell(&self, key: &[u8]) -> Option<CellId> {
        self.cell_of.get(key).copied()
    }

    fn decide(&mut self, cell: CellId, owner: &Owner) {
        match owner {
            Owner::Key(key) => {
                self.cell_of.insert(key.key.clone(), cell);
            }
            Owner::Unknown => self.sizes.unknown += 1,
            Owner::NoKey => {}
        }
        self.decided.insert(cell, owner.clone());
    }

    /// The undecided keys whose fingerprint the cell holds.
    fn fitting(&mut self, cell: CellId) -> Result<Vec<Rc<Located>>, PlanError> {
        let mut keys = self.candidates(cell)?;
        let value = self.local.get(cell);
        keys.retain(|key| !self.cell_of.contains_key(&key.key) && self.local.fits(&key.key, cell, value));
        Ok(keys)
    }

    /// The undecided cells that hold a key's fingerprint.
    fn cells_left(&self, key: &Located) -> Vec<CellId> {
        let cells = self.local.shape.cells_of(&key.buckets);
        let holds = |cell: &CellId| {
            let value = self.local.get(*cell);
            value != EMPTY && !self.is_decided(*cell) && self.local.fits(&key.key, *cell, value)
        };
        cells.filter(holds).collect()
    }

    fn is_decided(&self, cell: CellId) -> bool {
        matches!(self.decided.get(&cell), Some(Owner::Key(_) | Owner::NoKey))
    }

    fn match_part(&mut self, cell: CellId) -> Result<Owner, PlanError> {
        if let Some(part) = self.part(cell)? {
            return Ok(part.owner(cell).map_or(Owner::NoKey, Owner::Key));
        }
        // The part passed the bound, and what could be settled without the rest of it was.
        let settled = self.decided.get(&cell).cloned();
        Ok(match settled {
            Some(owner) => owner,
            None if self.fitting(cell)?.is_empty() => Owner::NoKey,
            None => Owner::Unknown,
        })
    }

    /// A matching of the connected part around a cell; `None` if the part passes the bound. Then decides what the keys
    /// that were read can settle.
    fn part(&mut self, cell: CellId) -> Result<Option<Parts>, PlanError> {
        let mut part = Parts::default();
        let mut to_visit = vec![cell];
        while let Some(cell) = to_visit.pop() {
            for key in self.fitting(cell)? {
                if part.knows(&key.key) {
                    continue;
                }
                let cells = self.cells_left(&key);
                to_visit.extend(cells.iter().copied().filter(|cell| part.is_new(*cell)));
                part.add(key, cells);
            }
            part.close(cell);
            if part.len() > PART_BOUND {
                for (key, cell) in part.settled().ok_or(PlanError::Disagree)? {
                    self.decide(cell, &Owner::Key(key));
                }
                return Ok(None);
            }
        }
        self.sizes.largest = self.sizes.largest.max(part.len());
        if part.match_all() { Ok(Some(part)) } else { Err(PlanError::Disagree) }
    }
}

/// The first cell for which `ask` returns `true`.
fn find_ok<E>(cells: &[CellId], mut ask: impl FnMut(&CellId) -> Result<bool, E>) -> Result<Option<CellId>, E> {
    for cell in cells {
        if ask(cell)? {
            return Ok(Some(*cell));
        }
    }
    Ok(None)
}
