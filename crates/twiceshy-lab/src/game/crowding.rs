//! A back yard that is full of siblings.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::silent_siblings::{name_each, passed};

/// The keys that move at least if an insertion crowds. Two extensions move six.
const LARGE_STEP: f64 = 32.0;

/// In how much of a phase it tries keys. In a longer one it finds more keys, but the first ones have taken another function.
const PART: f64 = 0.6;

/// Replaces keys by mistakes, which find no place beside the keys that they collide with, until such an insertion moves the
/// frontier by a large step: now there are so many of them that the filter counts as crowded. Then it inserts fresh keys,
/// removes each at once, and keeps those that brought a large step; after each it replaces the siblings that the frontier
/// has passed. The oracle tells it how far the frontier moved, and how many keys are beside the first level. Deletes the
/// set, inserts all keys that it kept but one, and names that one. Without a frontier, or if nothing crowds, it learns
/// nothing, and names a fresh key.
///
/// *Why it might win.* In a crowded filter a key that goes aside moves the frontier 21 times as far as one that collides
/// silently. With a back yard it goes aside because it shares quotient and signature with a stored key. Two such keys that
/// share them with the same stored key share most of their base, no fingerprint is extended for it, and none of them leaves
/// a ghost. But a phase has few large steps: of n keys n/64, so that two of them seldom met the same stored key.
pub(super) struct Crowding;

impl Adversary for Crowding {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut crowd = Crowd { stored: notes.shuffled_set() };
        let kept = match crowd.fill(oracle, notes)? {
            Some(aside) => crowd.probe(oracle, notes, aside)?,
            None => Vec::new(),
        };
        name_each(oracle, notes, &crowd.stored, kept)
    }
}

/// The stored keys: first those of the initial set, then their siblings.
struct Crowd {
    stored: Vec<Key>,
}

impl Crowd {
    /// Inserts mistakes until one of them crowds. Returns how many keys were beside the first level before it; `None` if
    /// none crowds.
    fn fill(&mut self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Option<u64>, GameError> {
        for _ in 0..notes.n() / 4 {
            let Some(aside) = oracle.aside() else { return Ok(None) };
            let (Some(key), before) = (self.sibling(oracle, notes)?, passed(oracle)) else { return Ok(None) };
            if self.put(oracle, key)? && is_large(oracle, before) {
                return Ok(Some(aside));
            }
        }
        Ok(None)
    }

    /// Finds a mistake, and deletes keys of the set until there is a place for it and another for a key that is tried.
    fn sibling(&mut self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Option<Key>, GameError> {
        let Some(key) = notes.find_wrong(oracle)? else { return Ok(None) };
        while oracle.room() < 2 && !self.stored.is_empty() {
            let first = self.stored.remove(0);
            oracle.delete(&first)?;
        }
        Ok(Some(key))
    }

    fn put(&mut self, oracle: &mut Oracle, key: Key) -> Result<bool, GameError> {
        let is_stored = oracle.room() > 0 && oracle.try_insert(&key)?;
        if is_stored {
            self.stored.push(key);
        }
        Ok(is_stored)
    }

    /// Tries fresh keys for a part of a phase, with so many keys beside the first level that one more crowds. Returns those
    /// that brought a large step.
    fn probe(&mut self, oracle: &mut Oracle, notes: &mut Notes, aside: u64) -> Result<Vec<Key>, GameError> {
        let (mut kept, end) = (Vec::new(), passed(oracle) + PART);
        let mut tried = 0;
        while passed(oracle) < end && tried < notes.enough() {
            tried += 1;
            if oracle.aside().is_some_and(|here| here < aside) {
                let Some(key) = self.sibling(oracle, notes)? else { break };
                self.put(oracle, key)?;
                continue;
            }
            let (key, before) = (notes.fresh(), passed(oracle));
            if !oracle.try_insert(&key)? {
                continue;
            }
            let crowds = is_large(oracle, before);
            oracle.delete(&key)?;
            if crowds {
                kept.push(key);
                tried = 0;
            }
        }
        Ok(kept)
    }
}

/// `true` if the frontier has moved by a large step.
fn is_large(oracle: &Oracle, before: f64) -> bool {
    (passed(oracle) - before) * oracle.stored() as f64 > LARGE_STEP
}
