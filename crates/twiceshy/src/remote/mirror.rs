//! The mirror of cells: the papers' remote.

use super::{Commit, CommitError, Generation, Keys, MemoryError, Place, Position, Remote, RemoteError, Schema, Write};
use crate::cuckoo::{CuckooTable, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// An exact cuckoo hash table with the same cells as the filter (003 section 3), in memory.
///
/// It knows the owner of each cell, and so needs no matching, but it must be told every move: each kick and swap is a
/// write, and a grown filter needs a new mirror. Use [`ByHash`](super::ByHash) for a store, and this one to compare with
/// the papers.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    sequence: u64,
    identity: u64,
    in_use: Option<(Generation, Schema)>,
    generations: BTreeMap<Generation, CuckooTable>,
    /// The schemas of generations that are not in use.
    beside: BTreeMap<Generation, Schema>,
    /// While a generation is filled from another, the keys of that other by order 0.
    walked: Option<(Generation, BTreeSet<Position>)>,
}

impl Mirror {
    /// A mirror without cells; a filter creates them.
    pub fn new() -> Mirror {
        Mirror::default()
    }

    /// The exact table behind the filter in use.
    pub fn table(&self) -> Option<&CuckooTable> {
        self.in_use.and_then(|(generation, _)| self.generations.get(&generation))
    }

    fn generation(&self, generation: Generation) -> Result<&CuckooTable, MemoryError> {
        self.generations.get(&generation).ok_or(MemoryError::NoGeneration(generation))
    }

    /// Makes every check before any change, on a copy of only the changed cells.
    fn check(&self, commit: &Commit) -> Result<(), MemoryError> {
        let mut begun: BTreeMap<Generation, u64> =
            self.generations.iter().map(|(generation, table)| (*generation, table.shape().cells())).collect();
        let mut changed: BTreeMap<(Generation, super::CellId), bool> = BTreeMap::new();
        let occupied = |changed: &BTreeMap<_, bool>, generation, cell| {
            let before = || self.generations.get(&generation).is_some_and(|table| table.at(cell).is_some());
            changed.get(&(generation, cell)).copied().unwrap_or_else(before)
        };
        // Removals, then all moves at once (every source is left before any target is taken), then additions.
        for write in in_order(commit) {
            match write {
                Write::Begin { generation, schema } => {
                    if self.in_use.is_some_and(|(used, _)| used == *generation) {
                        return Err(MemoryError::GenerationInUse(*generation));
                    }
                    begun.insert(*generation, schema.cells);
                }
                Write::Switch { generation } | Write::Abandon { generation } => {
                    begun.get(generation).ok_or(MemoryError::NoGeneration(*generation))?;
                }
                Write::Remove { generation, cell, key, .. } => {
                    let cell = cell.ok_or(MemoryError::NoCell)?;
                    if self.generation(*generation)?.at(cell) != Some(key) {
                        return Err(MemoryError::Cell(cell));
                    }
                    changed.insert((*generation, cell), false);
                }
                Write::Move { generation, from, .. } => {
                    if !occupied(&changed, *generation, *from) {
                        return Err(MemoryError::Cell(*from));
                    }
                    changed.insert((*generation, *from), false);
                }
                Write::Add { .. } => {}
                Write::Frontier { .. } => return Err(MemoryError::NoFrontier),
            }
        }
        for write in &commit.writes {
            let (generation, cell) = match write {
                Write::Move { generation, to, .. } => (generation, *to),
                Write::Add { generation, cell, .. } => (generation, cell.ok_or(MemoryError::NoCell)?),
                _ => continue,
            };
            let cells = *begun.get(generation).ok_or(MemoryError::NoGeneration(*generation))?;
            if cell.0 >= cells || occupied(&changed, *generation, cell) {
                return Err(MemoryError::Cell(cell));
            }
            changed.insert((*generation, cell), true);
        }
        Ok(())
    }

    /// Begins come first, so that one that cannot be allocated fails before anything has changed.
    fn apply(&mut self, commit: &Commit) -> Result<(), MemoryError> {
        let mut lifted = Vec::new();
        for write in in_order(commit) {
            match write {
                Write::Begin { generation, schema } => {
                    let table = Self::fresh(schema)?;
                    self.begin(*generation, schema, table);
                }
                Write::Remove { generation, cell: Some(cell), .. } => {
                    if let Some(table) = self.generations.get_mut(generation)
                        && let Some(key) = table.take(*cell)
                    {
                        let position = table.position(&key);
                        self.note(*generation, |set| set.remove(&position));
                    }
                }
                Write::Move { generation, from, to } => {
                    let key = self.generations.get_mut(generation).and_then(|table| table.take(*from));
                    lifted.extend(key.map(|key| (*generation, *to, key)));
                }
                _ => {}
            }
        }
        for (generation, to, key) in lifted {
            if let Some(table) = self.generations.get_mut(&generation) {
                table.put(to, key);
            }
        }
        for write in &commit.writes {
            match write {
                Write::Add { generation, key, cell: Some(cell), .. } => {
                    if let Some(table) = self.generations.get_mut(generation) {
                        table.put(*cell, key.clone());
                        let position = table.position(key);
                        self.note(*generation, |set| set.insert(position));
                    }
                }
                Write::Switch { generation } => {
                    self.generations.retain(|kept, _| kept == generation);
                    if let Some(schema) = self.beside.remove(generation) {
                        self.in_use = Some((*generation, schema));
                    }
                    self.beside.clear();
                    self.walked = None;
                }
                Write::Abandon { generation } => {
                    self.generations.remove(generation);
                    self.beside.remove(generation);
                    self.walked = None;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// An empty table of cells for a schema.
    fn fresh(schema: &Schema) -> Result<CuckooTable, MemoryError> {
        let (orders, per_bucket) = (u64::from(schema.orders), u64::from(schema.cells_per_bucket));
        let shape =
            Shape::with_cells(orders, per_bucket, schema.cells).map_err(|_| MemoryError::NoRoom(schema.cells))?;
        CuckooTable::new(shape, schema.hash).map_err(|_| MemoryError::NoRoom(schema.cells))
    }

    fn begin(&mut self, generation: Generation, schema: &Schema, table: CuckooTable) {
        match self.in_use {
            Some((source, _)) => {
                let positions = self.generations.get(&source).into_iter().flat_map(CuckooTable::positions);
                self.walked = Some((source, positions.collect()));
                self.beside.insert(generation, *schema);
            }
            None => self.in_use = Some((generation, *schema)),
        }
        self.generations.insert(generation, table);
    }

    fn note(&mut self, generation: Generation, change: impl FnOnce(&mut BTreeSet<Position>) -> bool) {
        if let Some((walked, set)) = &mut self.walked
            && *walked == generation
        {
            change(set);
        }
    }
}

/// Begins and removals before moves; the rest after, in the plan's order.
fn in_order(commit: &Commit) -> impl Iterator<Item = &Write> {
    let stage = |write: &Write| match write {
        Write::Begin { .. } => 0,
        Write::Remove { .. } => 1,
        Write::Move { .. } => 2,
        Write::Add { .. } | Write::Switch { .. } | Write::Abandon { .. } | Write::Frontier { .. } => 3,
    };
    let mut writes: Vec<&Write> = commit.writes.iter().collect();
    writes.sort_by_key(|write| stage(write));
    writes.into_iter()
}

impl Keys for Mirror {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        if let Some(key) = self.generation(place.generation)?.at(place.cell) {
            found(key);
        }
        Ok(())
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        let table = self.generation(generation)?;
        let sorted_now: BTreeSet<Position>;
        let set = match &self.walked {
            Some((walked, set)) if *walked == generation => set,
            _ => {
                sorted_now = table.positions().collect();
                &sorted_now
            }
        };
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        set.range((from, Bound::Unbounded)).take(limit).cloned().for_each(found);
        Ok(())
    }

    fn knows_cells(&self) -> bool {
        true
    }
}

impl Remote for Mirror {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        commit.check(self.sequence, self.identity)?;
        self.check(commit).map_err(CommitError::failed)?;
        self.apply(commit).map_err(CommitError::failed)?;
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
