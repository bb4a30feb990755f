//! Siblings under two hash functions.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::siblings::confront;

/// Lets n/12 mistakes pass, collects n/4, lets n/24 more pass; then deletes all keys, inserts every second of the collected
/// mistakes and names one of the others.
///
/// *Why it wins.* Where three keys take another hash function for each mistake, a phase ends after n/3 mistakes. The first
/// n/12 bring the frontier to a quarter, so that the collected queries and the keys they are wrong on are of either
/// function, in all four combinations. The last n/24 bring the frontier into the next phase, where what was new is old. A
/// filter that keeps what it learned by the age of the stored key, and not of the query, loses at the end of the phase what
/// it must know of queries that go on.
pub(super) struct SiblingsAges;

impl Adversary for SiblingsAges {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        notes.find_many(oracle, notes.one_in(12))?;
        let found = notes.find_many(oracle, notes.one_in(4))?;
        notes.find_many(oracle, notes.one_in(24))?;
        let set: Vec<Key> = notes.set().collect();
        confront(oracle, notes, &set, &found)
    }
}
