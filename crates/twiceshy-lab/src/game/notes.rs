//! The adversary's side of the table.

use super::oracle::{Key, Oracle};
use super::{GameError, MOST_FRESH};
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;

/// What an adversary knows and draws: n and ε, the set as it was at the beginning (001 section 6.1 lets it choose the set at
/// random), keys that it has not used yet, and dice of its own.
pub(super) struct Notes {
    keys: Keys,
    used: u64,
    epsilon: f64,
    rng: Rng,
}

impl Notes {
    pub(super) fn new(keys: Keys, epsilon: f64, rng: Rng) -> Notes {
        Notes { keys, used: 0, epsilon, rng }
    }

    /// n, the keys of the set.
    pub(super) fn n(&self) -> u64 {
        self.keys.stored_len()
    }

    /// The keys of the set as it was at the beginning, in an order that says nothing.
    pub(super) fn set(&self) -> impl Iterator<Item = Key> + '_ {
        self.keys.stored_keys()
    }

    /// A key that is not in the set and was never handed out before.
    pub(super) fn fresh(&mut self) -> Key {
        self.used += 1;
        self.keys.absent(self.used - 1)
    }

    /// How many fresh keys are worth asking to find a false positive: 16/ε. A filter whose own rate is half of ε has none
    /// among them once in 3,000 games.
    pub(super) fn enough(&self) -> u64 {
        (16.0 / self.epsilon).min(MOST_FRESH).ceil() as u64
    }

    /// Asks fresh keys until one is a false positive; `None` where [`Notes::enough`] of them are none.
    pub(super) fn find_wrong(&mut self, oracle: &mut Oracle) -> Result<Option<Key>, GameError> {
        for _ in 0..self.enough() {
            let key = self.fresh();
            if oracle.lookup(&key)? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// The set in a random order.
    pub(super) fn shuffled_set(&mut self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.set().collect();
        for last in (1..keys.len()).rev() {
            keys.swap(last, self.rng.below(last as u64 + 1) as usize);
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn notes() -> Notes {
        Notes::new(Keys::new(1_000, 1 << 40, 7).expect("few keys"), 0.01, Rng::new(3))
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
    fn a_tiny_rate_does_not_make_an_adversary_ask_for_ever() {
        let tiny = Notes { epsilon: 1e-300, ..notes() };
        assert_eq!((tiny.enough(), notes().enough()), (1 << 20, 1_600));
    }
}
