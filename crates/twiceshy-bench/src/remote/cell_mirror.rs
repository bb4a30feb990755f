//! A mirror of cells in one array.

use super::{Lean, LeanError, key, number};
use twiceshy::Kind;
use twiceshy::remote::{
    CellId, Commit, CommitError, Generation, Keys, Place, Position, Remote, RemoteError, Schema, Write,
};

/// One array from a cell to the key in it. Answers as [`Mirror`](twiceshy::remote::Mirror) does.
#[derive(Clone, Debug, Default)]
pub struct CellMirror {
    sequence: u64,
    identity: u64,
    in_use: Option<(Generation, Schema)>,
    /// The number of the key in each cell; 0 if the cell is empty.
    cells: Vec<u64>,
    /// The moves of a commit while it is applied: where to, and which key. Kept for its memory.
    lifted: Vec<(usize, u64)>,
}

impl CellMirror {
    /// A mirror without cells; a filter creates them.
    pub fn new() -> CellMirror {
        CellMirror::default()
    }

    fn known(&self, generation: Generation) -> Result<(), LeanError> {
        match self.in_use {
            Some((used, _)) if used == generation => Ok(()),
            _ => Err(LeanError::NoGeneration(generation)),
        }
    }

    /// The number of the key in a cell; 0 for an empty cell.
    fn at(&self, cell: CellId) -> Result<u64, LeanError> {
        self.cells.get(cell.0 as usize).copied().ok_or(LeanError::Cell(cell))
    }

    /// Makes every check before any change.
    fn check(&self, writes: &[Write]) -> Result<(), LeanError> {
        // A cell that the commit empties, by a removal or by a move, may be taken. Commits have few writes.
        let empties = |cell: CellId| {
            writes.iter().any(|write| match write {
                Write::Move { from, .. } => *from == cell,
                Write::Remove { cell: Some(removed), .. } => *removed == cell,
                _ => false,
            })
        };
        let takes = |cell: CellId| match self.at(cell)? {
            0 => Ok(()),
            _ if empties(cell) => Ok(()),
            _ => Err(LeanError::Cell(cell)),
        };
        for write in writes {
            match write {
                Write::Begin { .. } if self.in_use.is_none() && writes.len() == 1 => {}
                Write::Add { generation, key, cell, .. } => {
                    self.known(*generation)?;
                    number(key)?;
                    takes(cell.ok_or(LeanError::NoCell)?)?;
                }
                Write::Remove { generation, key, cell, .. } => {
                    self.known(*generation)?;
                    let cell = cell.ok_or(LeanError::NoCell)?;
                    if self.at(cell)? != number(key)? {
                        return Err(LeanError::Cell(cell));
                    }
                }
                Write::Move { generation, from, to } => {
                    self.known(*generation)?;
                    if self.at(*from)? == 0 {
                        return Err(LeanError::Cell(*from));
                    }
                    takes(*to)?;
                }
                _ => return Err(LeanError::OneGeneration),
            }
        }
        Ok(())
    }

    /// Removals, then all moves at once, then additions. The commit is checked, so every cell exists.
    fn apply(&mut self, writes: &[Write]) {
        for write in writes {
            match write {
                Write::Begin { generation, schema } => {
                    self.in_use = Some((*generation, *schema));
                    self.cells = vec![0; schema.cells as usize];
                }
                Write::Remove { cell: Some(CellId(cell)), .. } => self.cells[*cell as usize] = 0,
                _ => {}
            }
        }
        for write in writes {
            if let Write::Move { from: CellId(from), to: CellId(to), .. } = write {
                self.lifted.push((*to as usize, std::mem::take(&mut self.cells[*from as usize])));
            }
        }
        for (to, key) in self.lifted.drain(..) {
            self.cells[to] = key;
        }
        for write in writes {
            if let Write::Add { key, cell: Some(CellId(cell)), .. } = write
                && let Ok(number) = number(key)
            {
                self.cells[*cell as usize] = number;
            }
        }
    }

    /// The keys that are stored, with their cells.
    fn stored(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..).zip(&self.cells).filter(|(_, key)| **key != 0).map(|(cell, key)| (cell, *key))
    }
}

impl Keys for CellMirror {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.known(place.generation)?;
        match self.at(place.cell)? {
            0 => {}
            key => found(&key.to_be_bytes()),
        }
        Ok(())
    }

    /// Sorts all keys at each call: the benchmark never walks.
    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.known(generation)?;
        let Some((_, schema)) = self.in_use else { return Ok(()) };
        // All kinds with cells have the same order words.
        let word = |number: u64| {
            let words = Kind::FullKey.order_words(&schema, &number.to_be_bytes());
            words.as_slice().first().copied().unwrap_or(0)
        };
        let positions = self.stored().map(|(_, number)| Position { word: word(number), key: key(number) });
        let mut left: Vec<Position> = positions.filter(|at| after.is_none_or(|after| at > after)).collect();
        left.sort_unstable();
        left.into_iter().take(limit).for_each(found);
        Ok(())
    }

    fn knows_cells(&self) -> bool {
        true
    }
}

impl Remote for CellMirror {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        commit.check(self.sequence, self.identity)?;
        self.check(&commit.writes).map_err(CommitError::failed)?;
        self.apply(&commit.writes);
        (self.sequence, self.identity) = (commit.sequence, commit.identity);
        Ok(())
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        Ok(self.sequence)
    }

    fn identity(&self) -> Result<u64, RemoteError> {
        Ok(self.identity)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        Ok(self.in_use)
    }
}

impl Lean for CellMirror {
    fn added(&self) -> Vec<(u64, Option<CellId>)> {
        self.stored().map(|(cell, key)| (key, Some(CellId(cell)))).collect()
    }
}
