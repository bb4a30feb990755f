//! A remote by hash in flat tables.

use super::sorted_table::SortedTable;
use super::{Lean, LeanError, key, number};
use twiceshy::remote::{
    CellId, Commit, CommitError, Frontier, Generation, Keys, Order, OrderWords, Phase, Place, Position, Remote,
    RemoteError, Schema, Write,
};

/// One flat table of hash words and keys for each order and generation. Answers as
/// [`ByHash`](twiceshy::remote::ByHash) does.
#[derive(Clone, Debug, Default)]
pub struct FlatByHash {
    sequence: u64,
    identity: u64,
    in_use: Option<Generation>,
    /// One or two.
    generations: Vec<Entries>,
    frontier: Frontier,
    /// `true` if a frontier was ever written: two generations are then the two functions of a phase.
    phases: bool,
}

#[derive(Clone, Debug)]
struct Entries {
    generation: Generation,
    schema: Schema,
    orders: Vec<SortedTable>,
}

impl FlatByHash {
    /// A remote that knows no key.
    pub fn new() -> FlatByHash {
        FlatByHash::default()
    }

    fn entries(&self, generation: Generation) -> Option<&Entries> {
        self.generations.iter().find(|entries| entries.generation == generation)
    }

    fn order(&self, generation: Generation, Order(order): Order) -> Result<&SortedTable, LeanError> {
        let orders = self.entries(generation).map(|entries| &entries.orders);
        orders.and_then(|orders| orders.get(usize::from(order))).ok_or(LeanError::NoGeneration(generation))
    }

    /// Checks that every key can be stored, and that the generation of every write exists when its turn comes.
    fn check(&self, writes: &[Write]) -> Result<(), LeanError> {
        for (at, write) in writes.iter().enumerate() {
            let needed = match write {
                Write::Begin { generation, .. } if self.in_use == Some(*generation) => {
                    return Err(LeanError::GenerationInUse(*generation));
                }
                Write::Begin { .. } | Write::Move { .. } | Write::Frontier { .. } => continue,
                Write::Add { generation, key, .. } | Write::Remove { generation, key, .. } => {
                    number(key)?;
                    generation
                }
                Write::Switch { generation } | Write::Abandon { generation } => generation,
            };
            let begins = |write: &Write| matches!(write, Write::Begin { generation, .. } if generation == needed);
            if self.entries(*needed).is_none() && !writes[..at].iter().any(begins) {
                return Err(LeanError::NoGeneration(*needed));
            }
        }
        Ok(())
    }

    fn apply(&mut self, write: &Write) {
        match write {
            Write::Begin { generation, schema } => {
                let orders = vec![SortedTable::new(schema.cells); usize::from(schema.orders)];
                self.generations.retain(|entries| entries.generation != *generation);
                self.generations.push(Entries { generation: *generation, schema: *schema, orders });
                self.in_use.get_or_insert(*generation);
            }
            Write::Add { generation, key, words, .. } => self.each(*generation, key, words, SortedTable::insert),
            Write::Remove { generation, key, words, .. } => self.each(*generation, key, words, SortedTable::remove),
            Write::Frontier { at } => {
                self.frontier = *at;
                self.phases = true;
            }
            Write::Move { .. } => {}
            Write::Switch { generation } => {
                self.generations.retain(|entries| entries.generation == *generation);
                self.in_use = Some(*generation);
            }
            Write::Abandon { generation } => self.generations.retain(|entries| entries.generation != *generation),
        }
    }

    fn each(
        &mut self,
        generation: Generation,
        key: &[u8],
        words: &OrderWords,
        change: impl Fn(&mut SortedTable, (u64, u64)),
    ) {
        let entries = self.generations.iter_mut().find(|entries| entries.generation == generation);
        if let (Some(entries), Ok(number)) = (entries, number(key)) {
            for (table, word) in entries.orders.iter_mut().zip(words.as_slice()) {
                change(table, (*word, number));
            }
        }
    }
}

impl Keys for FlatByHash {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let table = self.order(place.generation, place.order)?;
        table.range(*place.words.start(), *place.words.end()).for_each(|(_, number)| found(&number.to_be_bytes()));
        Ok(())
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        let first = after.map_or(0, |after| after.word);
        let left = self.order(generation, Order(0))?.range(first, u64::MAX);
        let positions = left.map(|(word, number)| Position { word, key: key(number) });
        positions.filter(|at| after.is_none_or(|after| at > after)).take(limit).for_each(found);
        Ok(())
    }
}

impl Remote for FlatByHash {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        commit.check(self.sequence, self.identity)?;
        self.check(&commit.writes).map_err(CommitError::failed)?;
        commit.writes.iter().for_each(|write| self.apply(write));
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
        let entries = self.in_use.and_then(|generation| self.entries(generation));
        Ok(entries.map(|entries| (entries.generation, entries.schema)))
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        let Some(old) = self.in_use()?.filter(|_| self.phases) else { return Ok(None) };
        let new = self.entries(Generation(old.0.0.saturating_add(1)));
        Ok(new.map(|new| Phase { old, new: (new.generation, new.schema), frontier: self.frontier }))
    }
}

impl Lean for FlatByHash {
    fn added(&self) -> Vec<(u64, Option<CellId>)> {
        let tables = self.generations.iter().filter_map(|entries| entries.orders.first());
        tables.flat_map(SortedTable::iter).map(|(_, number)| (number, None)).collect()
    }
}
