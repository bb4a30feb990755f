//! The memory of mistakes: for each stored key, the queries that it was mistaken for.
//!
//! A table that is filled anew has learned nothing. With a memory it is taught: every remembered query is asked again, and
//! those that the new table gets wrong are fixed before it is used. The memory lies beside the remote and costs the filter no
//! bit. It is advisory: a lost memory costs reads of the store, never a wrong answer.

mod lesson;
mod limits;
mod recalling;
mod saved;

pub use lesson::Lesson;
pub use limits::Limits;
pub use recalling::Recalling;

use crate::remote::Key;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// For each stored key, the latest queries that it was mistaken for.
///
/// If there are too many queries, or too many bytes of them, the oldest goes. The memory of a removed key stays until it is the oldest:
/// an attacker could make the filter forget otherwise. For the same reason a query that is inserted takes over the memory of the
/// keys that it was mistaken for, and these keys.
///
/// ```
/// use twiceshy::{AdaptiveFilter, HashKey};
///
/// let mut filter = AdaptiveFilter::new(1_000, 0.05)?;
/// for key in 0..900u32 {
///     filter.insert(&key)?;
/// }
/// let mistake = (1_000..u32::MAX).find(|query| filter.contains(query)).expect("one in twenty");
/// filter.was_wrong(&mistake)?;
/// assert_eq!(filter.memory().len(), 1);
/// filter.rekey(HashKey::random()?)?;
/// assert!(!filter.contains(&mistake), "the new table was taught");
/// # Ok::<(), twiceshy::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Memory {
    limits: Limits,
    keys: HashMap<Key, Vec<Remembered>>,
    /// Which keys have a query in their memory.
    taken_for: HashMap<Key, Vec<Key>>,
    /// All remembered queries with their keys by number, the oldest first.
    ages: BTreeMap<u64, Pair>,
    /// The number of the next query.
    next: u64,
    /// The bytes of all queries and of the keys that they are remembered for.
    bytes: u64,
}

/// A query in the memory of a key.
#[derive(Clone, Debug)]
struct Remembered {
    number: u64,
    query: Key,
}

#[derive(Clone, Debug)]
struct Pair {
    key: Key,
    query: Key,
}

impl Pair {
    fn bytes(&self) -> u64 {
        (self.key.len() + self.query.len()) as u64
    }
}

impl Memory {
    /// An empty memory.
    pub fn new(limits: Limits) -> Memory {
        Memory { limits, keys: HashMap::new(), taken_for: HashMap::new(), ages: BTreeMap::new(), next: 0, bytes: 0 }
    }

    /// The number of remembered queries. One that was mistaken for several keys counts once for each.
    pub fn len(&self) -> u64 {
        self.ages.len() as u64
    }

    /// `true` if nothing is remembered.
    pub fn is_empty(&self) -> bool {
        self.ages.is_empty()
    }

    /// What the memory may hold.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Changes what the memory may hold. What is too much of `stored` keys' queries is forgotten, the oldest first.
    pub fn limit(&mut self, limits: Limits, stored: u64) {
        let before = std::mem::replace(self, Memory::new(limits));
        for pair in before.ages.into_values() {
            self.remember(&[pair.key], &pair.query, stored);
        }
    }

    /// Remembers that these stored keys, of `stored` in all, were mistaken for a query. Forgets the oldest queries if there is no room.
    pub fn remember(&mut self, keys: &[Key], query: &Key, stored: u64) {
        for key in keys {
            if self.limits.allow(key, query) {
                self.add(key, query);
            }
        }
        while self.len() > self.limits.most(stored) || self.bytes > self.limits.most_bytes(stored) {
            let Some((_, pair)) = self.ages.pop_first() else { return };
            self.forget(&pair);
        }
    }

    /// The same, but forgets nothing: without room, nothing is remembered.
    pub fn note(&mut self, key: &Key, query: &Key, stored: u64) {
        let has_room = self.len() < self.limits.most(stored) && self.bytes < self.limits.most_bytes(stored);
        if has_room && self.limits.allow(key, query) {
            self.add(key, query);
        }
    }

    fn add(&mut self, key: &Key, query: &Key) {
        let queries = self.keys.entry(key.clone()).or_default();
        let known = queries.iter().position(|known| known.query == *query);
        // One that is asked again counts as new.
        let pushed_out = known.or((queries.len() >= self.limits.per_key as usize).then_some(0));
        if let Some(number) = pushed_out.map(|at| queries[at].number)
            && let Some(pair) = self.ages.remove(&number)
        {
            self.forget(&pair);
        }
        let (number, pair) = (self.next, Pair { key: key.clone(), query: query.clone() });
        self.keys.entry(key.clone()).or_default().push(Remembered { number, query: query.clone() });
        self.taken_for.entry(query.clone()).or_default().push(key.clone());
        self.bytes += pair.bytes();
        self.ages.insert(number, pair);
        self.next += 1;
    }

    /// Removes what is no longer among the ages.
    fn forget(&mut self, pair: &Pair) {
        self.bytes -= pair.bytes();
        if let Some(queries) = self.keys.get_mut(&pair.key) {
            queries.retain(|known| known.query != pair.query);
            if queries.is_empty() {
                self.keys.remove(&pair.key);
            }
        }
        if let Some(owners) = self.taken_for.get_mut(&pair.query) {
            owners.retain(|owner| *owner != pair.key);
            if owners.is_empty() {
                self.taken_for.remove(&pair.query);
            }
        }
    }

    /// How many queries were remembered so far, also if they are forgotten by now.
    pub fn added(&self) -> u64 {
        self.next
    }

    /// The queries that were remembered after the first `added` ones, with their keys, the oldest first.
    pub fn since(&self, added: u64) -> impl Iterator<Item = (&Key, &Key)> {
        self.ages.range(added..).map(|(_, pair)| (&pair.key, &pair.query))
    }

    /// A key was inserted that was not stored. If it is a remembered query, it takes over the memory of the keys that it was mistaken
    /// for, and these keys, as far as there is room.
    pub fn inserted(&mut self, key: &Key, stored: u64) {
        let Some(owners) = self.taken_for.get(key).cloned() else { return };
        for owner in owners {
            let queries: Vec<Key> = self.queries_of(&owner).filter(|query| *query != key).cloned().collect();
            queries.iter().chain([&owner]).for_each(|query| self.note(key, query, stored));
        }
    }

    /// The remembered queries of a key, the oldest first.
    pub fn queries_of<'a>(&'a self, key: &[u8]) -> impl Iterator<Item = &'a Key> + use<'a> {
        self.keys.get(key).into_iter().flatten().map(|remembered| &remembered.query)
    }

    /// Up to `limit` queries with numbers in this range, the newest first, each with its number.
    fn newest(&self, numbers: Range<u64>, limit: usize) -> impl Iterator<Item = (u64, &Key)> {
        self.ages.range(numbers).rev().take(limit).map(|(number, pair)| (*number, &pair.query))
    }
}

#[cfg(test)]
mod tests;
