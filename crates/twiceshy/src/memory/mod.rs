//! The memory of mistakes: for each stored key, the queries that it was mistaken for.
//!
//! A table that is filled anew has learned nothing. With a memory it is taught: every remembered query is asked again, and
//! those that the new table gets wrong are fixed before it is used. The memory lies beside the remote and costs the filter no
//! bit. It is advisory: a lost memory costs reads of the store, never a wrong answer.

mod lesson;
mod limits;
mod saved;

pub use lesson::Lesson;
pub use limits::Limits;

use crate::hash::HashKey;
use crate::remote::{Key, Position};
use std::collections::{BTreeMap, HashMap};
use std::ops::RangeInclusive;

/// For each stored key, the latest queries that it was mistaken for.
///
/// Keys are ordered as a rebuild walks over them: by hash word 0, then by their bytes. If there are too many queries, the oldest
/// goes. The memory of a removed key stays until it is the oldest: an attacker could make the filter forget otherwise. For
/// the same reason a query that is inserted takes over the memory of the keys that it was mistaken for, and these keys.
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
    hash: HashKey,
    keys: BTreeMap<Position, Vec<Remembered>>,
    /// Which keys have a query in their memory.
    taken_for: HashMap<Key, Vec<Key>>,
    /// All remembered queries with their keys by number, the oldest first.
    ages: BTreeMap<u64, (Position, Key)>,
    /// The number of the next query.
    next: u64,
}

/// A query in the memory of a key.
#[derive(Clone, Debug)]
struct Remembered {
    number: u64,
    query: Key,
}

impl Memory {
    /// An empty memory for the keys of a filter under this hash key.
    pub fn new(hash: HashKey, limits: Limits) -> Memory {
        Memory { limits, hash, keys: BTreeMap::new(), taken_for: HashMap::new(), ages: BTreeMap::new(), next: 0 }
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

    /// Changes what the memory may hold. The oldest queries go if there are too many.
    pub fn limit(&mut self, limits: Limits, keys: u64) {
        self.limits = limits;
        if limits.is_off() {
            *self = Memory::new(self.hash, limits);
        }
        self.forget_above(limits.most(keys));
    }

    fn position(&self, key: &Key) -> Position {
        Position { word: self.hash.words(key).word(0), key: key.clone() }
    }

    /// Remembers that these stored keys, of `stored` in all, were mistaken for a query.
    pub fn remember(&mut self, keys: &[Key], query: &Key, stored: u64) {
        let longest = self.limits.longest;
        if self.limits.is_off() || query.len() > longest {
            return;
        }
        for key in keys.iter().filter(|key| *key != query && key.len() <= longest) {
            self.add(key, query);
        }
        self.forget_above(self.limits.most(stored));
    }

    fn add(&mut self, key: &Key, query: &Key) {
        let at = self.position(key);
        let queries = self.keys.entry(at.clone()).or_default();
        if let Some(known) = queries.iter().position(|known| known.query == *query) {
            // Asked again: it counts as new.
            self.ages.remove(&queries.remove(known).number);
        } else {
            if queries.len() >= self.limits.per_key as usize {
                let oldest = queries.remove(0);
                self.ages.remove(&oldest.number);
                forget_owner(&mut self.taken_for, &oldest.query, key);
            }
            self.taken_for.entry(query.clone()).or_default().push(key.clone());
        }
        queries.push(Remembered { number: self.next, query: query.clone() });
        self.ages.insert(self.next, (at, query.clone()));
        self.next += 1;
    }

    /// Forgets the oldest queries beyond this number.
    fn forget_above(&mut self, most: u64) {
        while self.len() > most {
            let Some((number, (at, query))) = self.ages.pop_first() else { return };
            if let Some(queries) = self.keys.get_mut(&at) {
                queries.retain(|known| known.number != number);
                if queries.is_empty() {
                    self.keys.remove(&at);
                }
            }
            forget_owner(&mut self.taken_for, &query, &at.key);
        }
    }

    /// How many queries were remembered so far, also if they are forgotten by now.
    pub fn added(&self) -> u64 {
        self.next
    }

    /// The queries that were remembered after the first `added` ones, with their keys, the oldest first.
    pub fn since(&self, added: u64) -> impl Iterator<Item = (&Key, &Key)> {
        self.ages.range(added..).map(|(_, (at, query))| (&at.key, query))
    }

    /// A key was inserted. If it is a remembered query, it takes over the memory of the keys that it was mistaken for, and
    /// these keys.
    pub fn inserted(&mut self, key: &Key, stored: u64) {
        let Some(owners) = self.taken_for.get(key).cloned() else { return };
        for owner in owners {
            let queries: Vec<Key> = self.queries_of(&owner).filter(|query| *query != key).cloned().collect();
            queries.iter().chain([&owner]).for_each(|query| self.add(key, query));
        }
        self.forget_above(self.limits.most(stored));
    }

    /// The remembered queries of a key, the oldest first.
    pub fn queries_of<'a>(&'a self, key: &Key) -> impl Iterator<Item = &'a Key> + use<'a> {
        self.keys.get(&self.position(key)).into_iter().flatten().map(|remembered| &remembered.query)
    }

    /// The keys whose hash word lies in an interval, in order, each with its queries.
    pub fn queries_in(&self, words: RangeInclusive<u64>) -> impl Iterator<Item = (&Key, &Key)> {
        let first = Position { word: *words.start(), key: Key::from([]) };
        let found = self.keys.range(first..).take_while(move |(at, _)| at.word <= *words.end());
        found.flat_map(|(at, queries)| queries.iter().map(|remembered| (&at.key, &remembered.query)))
    }

    /// Up to `limit` queries that are older than the one with this number, the newest first, each with its number.
    pub(crate) fn before(&self, number: Option<u64>, limit: usize) -> impl Iterator<Item = (u64, &Key)> {
        let older = self.ages.range(..number.unwrap_or(u64::MAX)).rev();
        older.take(limit).map(|(number, (_, query))| (*number, query))
    }

    /// Orders the keys as a rebuild under another hash key walks over them.
    pub fn rekey(&mut self, hash: HashKey) {
        if hash == self.hash {
            return;
        }
        self.hash = hash;
        let place = |key: Key| Position { word: hash.words(&key).word(0), key };
        self.keys = std::mem::take(&mut self.keys).into_iter().map(|(at, queries)| (place(at.key), queries)).collect();
        self.ages.values_mut().for_each(|(at, _)| *at = place(at.key.clone()));
    }
}

/// A query is no longer in the memory of this key.
fn forget_owner(taken_for: &mut HashMap<Key, Vec<Key>>, query: &Key, key: &Key) {
    if let Some(owners) = taken_for.get_mut(query) {
        owners.retain(|owner| owner != key);
        if owners.is_empty() {
            taken_for.remove(query);
        }
    }
}

#[cfg(test)]
mod tests;
