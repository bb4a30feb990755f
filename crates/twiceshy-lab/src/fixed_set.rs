//! A remote for long experiments over a set that does not change: flat lists where a store has trees.

use std::collections::HashMap;
use twiceshy::remote::{
    Commit, CommitError, Frontier, Generation, Key, Keys, Order, OrderWords, Phase, Place, Position, Remote,
    RemoteError, Schema, Write,
};

/// A remote by hash for one set of keys that is known beforehand. It answers as [`ByHash`](twiceshy::remote::ByHash) does,
/// several times as fast: a key is a number in the sorted set, and an order is a list of short lists.
#[derive(Clone, Debug)]
pub struct FixedSet {
    /// All keys, in byte order.
    keys: Vec<Key>,
    numbers: HashMap<Key, u32>,
    generations: HashMap<Generation, Entries>,
    in_use: Option<Generation>,
    frontier: Frontier,
    sequence: u64,
}

/// One generation: for each order the keys by the first bits of their words.
#[derive(Clone, Debug)]
struct Entries {
    schema: Schema,
    orders: Vec<Vec<Vec<(u64, u32)>>>,
}

impl FixedSet {
    /// A remote that may come to hold these keys, and holds none yet. A key that is not among them is passed over.
    pub fn new(keys: impl IntoIterator<Item = Key>) -> FixedSet {
        let mut keys: Vec<Key> = keys.into_iter().collect();
        keys.sort_unstable();
        keys.dedup();
        FixedSet {
            numbers: keys.iter().cloned().zip(0..).collect(),
            keys,
            generations: HashMap::new(),
            in_use: None,
            frontier: Frontier::START,
            sequence: 0,
        }
    }

    /// The bits of a word that choose a list: about a key for each list.
    fn bits(&self) -> u32 {
        (self.keys.len() as u64).next_power_of_two().trailing_zeros().clamp(1, 30)
    }

    fn list(&self, word: u64) -> usize {
        (word >> (64 - self.bits())) as usize
    }

    fn change(&mut self, generation: Generation, key: &Key, words: &OrderWords, adds: bool) {
        let Some(number) = self.numbers.get(key).copied() else { return };
        let shift = 64 - self.bits();
        let Some(entries) = self.generations.get_mut(&generation) else { return };
        for (Order(order), word) in words.iter() {
            let Some(lists) = entries.orders.get_mut(usize::from(order)) else { continue };
            let list = &mut lists[(word >> shift) as usize];
            match (list.iter().position(|entry| *entry == (word, number)), adds) {
                (None, true) => list.push((word, number)),
                (Some(at), false) => drop(list.swap_remove(at)),
                _ => {}
            }
        }
    }

    fn apply(&mut self, write: &Write) {
        match write {
            Write::Begin { generation, schema } => {
                let lists = vec![Vec::new(); 1 << self.bits()];
                let entries = Entries { schema: *schema, orders: vec![lists; schema.orders.into()] };
                self.generations.insert(*generation, entries);
                self.in_use.get_or_insert(*generation);
            }
            Write::Add { generation, key, words, .. } => self.change(*generation, key, words, true),
            Write::Remove { generation, key, words, .. } => self.change(*generation, key, words, false),
            Write::Switch { generation } => {
                self.generations.retain(|kept, _| kept == generation);
                self.in_use = Some(*generation);
            }
            Write::Abandon { generation } => drop(self.generations.remove(generation)),
            Write::Frontier { at } => self.frontier = *at,
            Write::Move { .. } => {}
        }
    }

    fn schema(&self, generation: Generation) -> Option<(Generation, Schema)> {
        self.generations.get(&generation).map(|entries| (generation, entries.schema))
    }
}

impl Keys for FixedSet {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let entries = self.generations.get(&place.generation);
        let lists = entries.and_then(|entries| entries.orders.get(usize::from(place.order.0)));
        let lists =
            lists.map_or(&[][..], |lists| &lists[self.list(*place.words.start())..=self.list(*place.words.end())]);
        let own = lists.iter().flatten().filter(|(word, _)| place.words.contains(word));
        own.for_each(|(_, number)| found(&self.keys[*number as usize]));
        Ok(())
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        let Some(lists) = self.generations.get(&generation).and_then(|entries| entries.orders.first()) else {
            return Ok(());
        };
        let mut left = limit;
        for list in &lists[after.map_or(0, |after| self.list(after.word))..] {
            let positions =
                list.iter().map(|(word, number)| Position { word: *word, key: self.keys[*number as usize].clone() });
            let mut positions: Vec<Position> = positions.filter(|at| after.is_none_or(|after| at > after)).collect();
            positions.sort_unstable();
            positions.truncate(left);
            left -= positions.len();
            positions.into_iter().for_each(&mut *found);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl Remote for FixedSet {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        if commit.sequence != self.sequence + 1 {
            return Err(CommitError::OutOfStep { wanted: commit.sequence, found: self.sequence });
        }
        commit.writes.iter().for_each(|write| self.apply(write));
        self.sequence = commit.sequence;
        Ok(())
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        Ok(self.sequence)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        Ok(self.in_use.and_then(|generation| self.schema(generation)))
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        let Some(old) = self.in_use else { return Ok(None) };
        let both = self.schema(old).zip(self.schema(Generation(old.0.saturating_add(1))));
        Ok(both.map(|(old, new)| Phase { old, new, frontier: self.frontier }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::hash::HashKey;
    use twiceshy::quotient::BroomFilter;
    use twiceshy::remote::ByHash;

    #[test]
    fn a_filter_cannot_tell_it_from_a_remote_by_hash() {
        let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
        let fixed = FixedSet::new((0..900).map(|number| Key::from(&key(number)[..])));
        let options = BroomFilter::with_slots(1_000, 4);
        let mut one = options.build(HashKey::fixed(2), fixed).expect("an empty remote");
        let mut other = options.build(HashKey::fixed(2), ByHash::new()).expect("an empty remote");
        for number in 0..900 {
            one.insert(&key(number)).expect("a load that fits");
            other.insert(&key(number)).expect("a load that fits");
        }
        for query in (1 << 40..(1 << 40) + 20_000).map(key) {
            assert_eq!(one.contains(&query), other.contains(&query));
            if one.contains(&query) {
                one.was_wrong(&query).expect("the sets agree");
                other.was_wrong(&query).expect("the sets agree");
            }
        }
        assert!(one.filter().stats().phases >= 2);
        assert_eq!(one.filter().stats(), other.filter().stats());
        one.validate().expect("every key has its slot");
        one.grow(1_300).expect("a larger table");
        one.validate().expect("every key has its slot");
    }
}
