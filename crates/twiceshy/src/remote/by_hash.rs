//! The remote by hash, in memory.

use super::{
    Commit, CommitError, Frontier, Generation, Key, Keys, MemoryError, Order, OrderWords, Phase, Place, Position,
    Remote, RemoteError, Schema, Write,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

/// An ordered set of (order, hash word, whole key), in memory.
///
/// A pure function of the set and the hash key: nothing that a filter does on its own (kicks, swaps, adaptations, growth
/// under the same key) is written here, and keys with equal words coexist. The keys are shared between the orders. Each
/// entry costs about 36 more bytes.
///
/// ```
/// use twiceshy::{cuckoo::CyclicFilter, hash::HashKey, remote::ByHash};
///
/// let mut filter = CyclicFilter::options(1000, 0.01)?.build(HashKey::random()?, ByHash::new())?;
/// filter.insert("owl")?;
/// assert_eq!(filter.remote().len(), 1);
/// # Ok::<(), twiceshy::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ByHash {
    sequence: u64,
    identity: u64,
    in_use: Option<Generation>,
    generations: BTreeMap<Generation, Entries>,
    frontier: Frontier,
    /// `true` if a frontier was ever written: two generations are then the two functions of a phase, and not the old and the
    /// new one of a rebuild.
    phases: bool,
}

#[derive(Clone, Debug)]
struct Entries {
    schema: Schema,
    orders: Vec<BTreeSet<(u64, Key)>>,
}

impl ByHash {
    /// A remote that knows no key.
    pub fn new() -> ByHash {
        ByHash::default()
    }

    /// The number of keys in the generation in use, and during a phase in both.
    pub fn len(&self) -> usize {
        let keys = |generation: Generation| {
            let entries = self.generations.get(&generation);
            entries.and_then(|entries| entries.orders.first()).map_or(0, BTreeSet::len)
        };
        match (self.in_use, self.phase()) {
            (_, Ok(Some(phase))) => keys(phase.old.0) + keys(phase.new.0),
            (Some(generation), _) => keys(generation),
            (None, _) => 0,
        }
    }

    /// `true` if it holds no key.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn entries(&self, generation: Generation) -> Result<&Entries, MemoryError> {
        self.generations.get(&generation).ok_or(MemoryError::NoGeneration(generation))
    }

    /// Checks that the generation of every write exists when its turn comes.
    fn check(&self, commit: &Commit) -> Result<(), MemoryError> {
        let mut known: BTreeSet<Generation> = self.generations.keys().copied().collect();
        for write in &commit.writes {
            let needed = match write {
                Write::Begin { generation, .. } => {
                    if self.in_use == Some(*generation) {
                        return Err(MemoryError::GenerationInUse(*generation));
                    }
                    known.insert(*generation);
                    continue;
                }
                Write::Move { .. } | Write::Frontier { .. } => continue,
                Write::Add { generation, .. }
                | Write::Remove { generation, .. }
                | Write::Switch { generation }
                | Write::Abandon { generation } => generation,
            };
            if !known.contains(needed) {
                return Err(MemoryError::NoGeneration(*needed));
            }
        }
        Ok(())
    }

    fn apply(&mut self, write: &Write) {
        match write {
            Write::Begin { generation, schema } => {
                let orders = vec![BTreeSet::new(); usize::from(schema.orders)];
                self.generations.insert(*generation, Entries { schema: *schema, orders });
                self.in_use.get_or_insert(*generation);
            }
            Write::Add { generation, key, words, .. } => self.each(*generation, words, |set, word| {
                set.insert((word, Arc::clone(key)));
            }),
            Write::Remove { generation, key, words, .. } => self.each(*generation, words, |set, word| {
                set.remove(&(word, Arc::clone(key)));
            }),
            Write::Frontier { at } => {
                self.frontier = *at;
                self.phases = true;
            }
            Write::Move { .. } => {}
            Write::Switch { generation } => {
                self.generations.retain(|kept, _| kept == generation);
                self.in_use = Some(*generation);
            }
            Write::Abandon { generation } => {
                self.generations.remove(generation);
            }
        }
    }

    fn each(
        &mut self,
        generation: Generation,
        words: &OrderWords,
        mut change: impl FnMut(&mut BTreeSet<(u64, Key)>, u64),
    ) {
        if let Some(entries) = self.generations.get_mut(&generation) {
            for (set, word) in entries.orders.iter_mut().zip(words.as_slice()) {
                change(set, *word);
            }
        }
    }

    fn order(&self, generation: Generation, Order(order): Order) -> Result<&BTreeSet<(u64, Key)>, MemoryError> {
        let entries = self.entries(generation)?;
        entries.orders.get(usize::from(order)).ok_or(MemoryError::NoGeneration(generation))
    }
}

impl Keys for ByHash {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let (first, last) = (*place.words.start(), *place.words.end());
        // The empty key sorts first among keys with the same word, so this bound excludes nothing.
        let from = (first, Key::from(&[][..]));
        for (_, key) in self.order(place.generation, place.order)?.range(from..).take_while(|(word, _)| *word <= last) {
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
        let from = after.map_or(Bound::Unbounded, |at| Bound::Excluded((at.word, Arc::clone(&at.key))));
        for (word, key) in self.order(generation, Order(0))?.range((from, Bound::Unbounded)).take(limit) {
            found(Position { word: *word, key: Arc::clone(key) });
        }
        Ok(())
    }
}

impl Remote for ByHash {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        commit.check(self.sequence, self.identity)?;
        self.check(commit).map_err(CommitError::failed)?;
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
        let Some(generation) = self.in_use else { return Ok(None) };
        Ok(Some((generation, self.entries(generation)?.schema)))
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        let Some(old) = self.in_use()?.filter(|_| self.phases) else { return Ok(None) };
        let after = Generation(old.0.0.saturating_add(1));
        let Some(entries) = self.generations.get(&after) else { return Ok(None) };
        Ok(Some(Phase { old, new: (after, entries.schema), frontier: self.frontier }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;
    use crate::remote::CellId;

    fn begin(generation: u32) -> Write {
        let schema = Schema { hash: HashKey::fixed(0), orders: 2, cells: 0, cells_per_bucket: 1 };
        Write::Begin { generation: Generation(generation), schema }
    }

    fn add(generation: u32, key: &[u8], words: [u64; 2]) -> Write {
        Write::Add { generation: Generation(generation), key: key.into(), words: OrderWords::new(&words), cell: None }
    }

    fn at(order: u8, words: std::ops::RangeInclusive<u64>) -> Place {
        Place { generation: Generation(0), order: Order(order), words, cell: CellId(0) }
    }

    fn found(remote: &ByHash, place: &Place) -> Vec<Vec<u8>> {
        let mut keys = Vec::new();
        remote.candidates(place, &mut |key| keys.push(key.to_vec())).unwrap();
        keys
    }

    #[test]
    fn keys_with_equal_words_coexist_and_intervals_include_both_ends() {
        let mut remote = ByHash::new();
        let writes = vec![
            begin(0),
            add(0, b"b", [5, 9]),
            add(0, b"a", [5, 9]),
            add(0, b"", [5, u64::MAX]),
            add(0, b"c", [6, 0]),
        ];
        remote.commit(&Commit { sequence: 1, writes, ..Commit::default() }).unwrap();
        assert_eq!(found(&remote, &at(0, 5..=5)), [&b""[..], b"a", b"b"]);
        assert_eq!(found(&remote, &at(0, 5..=6)).len(), 4);
        assert_eq!(found(&remote, &at(0, 0..=4)).len(), 0);
        assert_eq!(found(&remote, &at(1, 9..=u64::MAX)).len(), 3);
        let go = Write::Remove {
            generation: Generation(0),
            key: b"a"[..].into(),
            words: OrderWords::new(&[5, 9]),
            cell: None,
        };
        remote.commit(&Commit { sequence: 2, writes: vec![go], ..Commit::default() }).unwrap();
        assert_eq!(found(&remote, &at(1, 9..=9)), [b"b"]);
    }

    #[test]
    fn a_walk_in_small_steps_visits_every_key_once_in_order() {
        let mut remote = ByHash::new();
        let mut writes = vec![begin(0)];
        writes.extend((0..50u8).map(|i| add(0, &[i], [u64::from(i / 5), 0])));
        remote.commit(&Commit { sequence: 1, writes, ..Commit::default() }).unwrap();
        let mut all: Vec<Position> = Vec::new();
        loop {
            let before = all.len();
            let after = all.last().cloned();
            remote.walk(Generation(0), after.as_ref(), 3, &mut |at| all.push(at)).unwrap();
            if all.len() == before {
                break;
            }
        }
        assert!(all.is_sorted() && all.len() == 50);
    }

    #[test]
    fn a_plan_out_of_step_or_with_one_bad_write_changes_nothing() {
        let mut remote = ByHash::new();
        remote.commit(&Commit { sequence: 1, writes: vec![begin(0)], ..Commit::default() }).unwrap();
        let late = remote.commit(&Commit { sequence: 1, writes: vec![add(0, b"x", [1, 1])], ..Commit::default() });
        assert!(matches!(late, Err(CommitError::OutOfStep { wanted: 1, found: 1 })));
        let bad = remote.commit(&Commit {
            sequence: 2,
            writes: vec![add(0, b"x", [1, 1]), add(3, b"y", [1, 1])],
            ..Commit::default()
        });
        assert!(matches!(bad, Err(CommitError::Failed(_))));
        assert_eq!((remote.len(), remote.sequence), (0, 1));
    }

    #[test]
    fn a_switch_ends_the_other_generations() {
        let mut remote = ByHash::new();
        let writes = vec![begin(0), begin(1), add(0, b"old", [1, 1]), add(1, b"new", [2, 2])];
        remote.commit(&Commit { sequence: 1, writes, ..Commit::default() }).unwrap();
        remote
            .commit(&Commit {
                sequence: 2,
                writes: vec![Write::Switch { generation: Generation(1) }],
                ..Commit::default()
            })
            .unwrap();
        assert!(remote.candidates(&at(0, 0..=9), &mut |_| ()).is_err());
        assert_eq!(remote.len(), 1);
    }
}
