//! What the adversary knows.

use super::anatomy::Anatomy;
use super::diary::Diary;
use super::named::Named;
use super::oracle::{Key, Oracle};
use super::tactics::Tactics;
use super::{GameError, MOST_FRESH};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;

/// The lowest key in byte order.
const LOWEST: Key = [0; 8];

/// How closely one key follows another: a million of them take one part in 2^20 of all keys.
const STEP: u64 = 1 << 24;

/// What an adversary knows and draws: n and ε, the initial set (001 section 6.1 lets it choose the set at random), how
/// the filter is built, keys that it has not used yet, and its own randomness. Also what it records.
#[derive(Clone)]
pub(super) struct Notes<'a> {
    keys: Keys,
    used: u64,
    epsilon: f64,
    anatomy: Anatomy,
    tactics: &'a Tactics,
    rng: Rng,
    /// Its record for the report.
    pub(super) diary: Diary,
}

impl<'a> Notes<'a> {
    pub(super) fn new(keys: Keys, epsilon: f64, anatomy: Anatomy, tactics: &'a Tactics, rng: Rng) -> Notes<'a> {
        Notes { keys, used: 0, epsilon, anatomy, tactics, rng, diary: Diary::default() }
    }

    /// How the filter is built.
    pub(super) fn anatomy(&self) -> Anatomy {
        self.anatomy
    }

    /// The bounds of its search.
    pub(super) fn tactics(&self) -> &'a Tactics {
        self.tactics
    }

    /// The assumed number of functions: from the tactics if given, else the filter's, else a default if the filter has
    /// only one.
    pub(super) fn functions(&self, of_the_filter: u64, default: u64) -> u64 {
        self.tactics.functions.unwrap_or(if of_the_filter > 1 { of_the_filter } else { default })
    }

    /// n, the number of keys in the set.
    pub(super) fn n(&self) -> u64 {
        self.keys.stored_len()
    }

    /// The keys of the initial set, in an order without information.
    pub(super) fn set(&self) -> impl Iterator<Item = Key> + '_ {
        self.keys.stored_keys()
    }

    /// A key that is not in the set and was never returned before.
    pub(super) fn fresh(&mut self) -> Key {
        self.used += 1;
        self.keys.absent(self.used - 1)
    }

    /// ε, the rate that was requested for the filter.
    pub(super) fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// How many fresh keys to ask in search of a false positive: 16/ε. For a filter whose own rate is half of ε, that
    /// finds none in one of 3,000 games.
    pub(super) fn enough(&self) -> u64 {
        (16.0 / self.epsilon).min(MOST_FRESH).ceil() as u64
    }

    /// Asks fresh keys until one is a false positive; `None` if [`Notes::enough`] of them bring no false positive.
    pub(super) fn find_wrong(&mut self, oracle: &mut Oracle) -> Result<Option<Key>, GameError> {
        self.find_wrong_above(oracle, &LOWEST)
    }

    /// The same with keys from `above` on in byte order. While the set is small, mistakes are rarer and the search is
    /// longer, in proportion.
    pub(super) fn find_wrong_above(&mut self, oracle: &mut Oracle, above: &Key) -> Result<Option<Key>, GameError> {
        let (n, stored) = (self.n() as f64, (self.n() - oracle.room()).max(1) as f64);
        let most = (self.enough() as f64 * n / stored).min(MOST_FRESH).ceil() as u64;
        let sought = oracle.seek(&self.keys, above, self.used, most)?;
        self.used = sought.next;
        Ok(sought.found)
    }

    /// Finds this many false positives, or fewer if a search finds none.
    pub(super) fn find_many(&mut self, oracle: &mut Oracle, count: usize) -> Result<Vec<Key>, GameError> {
        self.find_many_above(oracle, count, &LOWEST)
    }

    /// The same with keys from `above` on in byte order.
    pub(super) fn find_many_above(
        &mut self,
        oracle: &mut Oracle,
        count: usize,
        above: &Key,
    ) -> Result<Vec<Key>, GameError> {
        let mut found = Vec::with_capacity(count);
        while found.len() < count {
            match self.find_wrong_above(oracle, above)? {
                Some(key) => found.push(key),
                None => break,
            }
        }
        Ok(found)
    }

    /// n divided by `count`, and at least one.
    pub(super) fn one_in(&self, count: u64) -> usize {
        (self.n() / count).max(1) as usize
    }

    /// Names any of the keys that are absent; a fresh key if none is.
    pub(super) fn name(&mut self, oracle: &Oracle, mut keys: Vec<Key>) -> Named {
        keys.retain(|key| !oracle.holds(key));
        Named::any_of(keys, || self.fresh())
    }

    /// The initial set, in byte order.
    pub(super) fn sorted_set(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.set().collect();
        keys.sort_unstable();
        keys
    }

    /// A key that closely follows another in byte order. It is constructed, not drawn; a clash with another key is as
    /// unlikely as that of two random keys of eight bytes.
    pub(super) fn just_above(&mut self, key: &Key) -> Key {
        u64::from_be_bytes(*key).wrapping_add(1 + self.rng.below(STEP)).to_be_bytes()
    }

    /// The set in a random order.
    pub(super) fn shuffled_set(&mut self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.set().collect();
        self.shuffle(&mut keys);
        keys
    }

    /// Shuffles keys.
    pub(super) fn shuffle(&mut self, keys: &mut [Key]) {
        for last in (1..keys.len()).rev() {
            keys.swap(last, self.rng.below(last as u64 + 1) as usize);
        }
    }

    /// `count` random keys in random order, or all if there are fewer.
    pub(super) fn some_of<'k>(&mut self, keys: &'k mut [Key], count: usize) -> &'k [Key] {
        let count = count.min(keys.len());
        for at in 0..count {
            let left = (keys.len() - at) as u64;
            keys.swap(at, at + self.rng.below(left) as usize);
        }
        &keys[..count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const USUAL: Tactics =
        Tactics { effort: 2.0, most_queries: 1_000, functions: None, most_suspects: 64, most_rounds: 100 };

    fn notes() -> Notes<'static> {
        let anatomy = Anatomy { tables: 4, buckets: 250, cells_per_bucket: 1, functions: 2, values: 255 };
        Notes::new(Keys::new(1_000, 1 << 40, 7).expect("few keys"), 0.01, anatomy, &USUAL, Rng::new(3))
    }

    #[test]
    fn a_fresh_key_is_neither_in_the_set_nor_fresh_twice() {
        let mut notes = notes();
        let mut seen: HashSet<Key> = notes.set().collect();
        assert!((0..5_000).all(|_| seen.insert(notes.fresh())));
    }

    #[test]
    fn the_shuffled_set_is_the_set_in_another_order_each_time() {
        let mut notes = notes();
        let (first, second) = (notes.shuffled_set(), notes.shuffled_set());
        assert_ne!(first, second);
        let set: HashSet<Key> = notes.set().collect();
        assert_eq!((first.len(), first.into_iter().collect::<HashSet<_>>()), (1_000, set));
    }

    #[test]
    fn every_pair_of_three_comes_up_in_either_order_as_often_within_four_deviations() {
        let mut notes = notes();
        let mut keys: Vec<Key> = (0..3).map(|_| notes.fresh()).collect();
        let mut counts = std::collections::HashMap::new();
        for _ in 0..6_000 {
            *counts.entry(notes.some_of(&mut keys, 2).to_vec()).or_insert(0.0) += 1.0;
        }
        assert_eq!(counts.len(), 6);
        let deviation = f64::sqrt(6_000.0 / 6.0 * 5.0 / 6.0);
        assert!(counts.values().all(|count: &f64| (count - 1_000.0).abs() <= 4.0 * deviation), "{counts:?}");
        assert_eq!(notes.some_of(&mut keys, 9).len(), 3, "there are no more");
    }

    #[test]
    fn the_tactics_override_the_filter_s_number_of_functions() {
        let told = Tactics { functions: Some(7), ..USUAL };
        assert_eq!((notes().functions(8, 2), notes().functions(1, 2)), (8, 2));
        assert_eq!(Notes { tactics: &told, ..notes() }.functions(8, 2), 7);
    }

    #[test]
    fn a_tiny_rate_does_not_make_an_adversary_ask_endlessly() {
        let tiny = Notes { epsilon: 1e-300, ..notes() };
        assert_eq!((tiny.enough(), notes().enough()), (1 << 20, 1_600));
    }
}
