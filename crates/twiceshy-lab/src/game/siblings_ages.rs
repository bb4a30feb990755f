//! Siblings under two hash functions.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::siblings::store_half;

/// Finds and ignores n/12 mistakes, collects n/4, ignores n/24 more; then deletes all keys, inserts every second of the
/// collected mistakes and names one of the others.
///
/// *Why it wins.* If three keys take another hash function for each mistake, a phase ends after n/3 mistakes. The first
/// n/12 bring the frontier to a quarter, so that the collected queries and the keys they collide with belong to either
/// function, in all four combinations. The last n/24 bring the frontier into the next phase, where the new function is
/// now the old one. A filter that keeps what it learned by the age of the stored key instead of the query loses, at the
/// end of the phase, what it must know about queries that remain.
pub(super) struct SiblingsAges;

impl Adversary for SiblingsAges {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        notes.find_many(oracle, notes.one_in(12))?;
        let found = notes.find_many(oracle, notes.one_in(4))?;
        notes.find_many(oracle, notes.one_in(24))?;
        let set: Vec<Key> = notes.set().collect();
        store_half(oracle, notes, &set, &found)
    }
}
