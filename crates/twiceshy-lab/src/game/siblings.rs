//! Mistakes about the same key meet each other.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// Finds n/4 mistakes in the upper quarter in byte order, deletes all keys, inserts every second mistake and names one
/// of the others.
///
/// *Why it wins.* Two mistakes about the same stored key share its quotient and remainder, so they share them with each
/// other, and the filter was never told about that pair. If what it learned is deleted with the stored key, or is taken
/// over only by a new key that matches all of it, one of them is stored without what tells it apart from the other.
///
/// *Why the upper quarter.* If keys take another hash function in byte order, n/4 mistakes move three quarters of them,
/// and queries above those keep the function that they were wrong under.
pub(super) struct Siblings;

impl Adversary for Siblings {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let set = notes.sorted_set();
        let above = set.get(set.len() * 3 / 4).copied().unwrap_or_default();
        let found = notes.find_many_above(oracle, notes.one_in(4), &above)?;
        store_half(oracle, notes, &set, &found)
    }
}

/// Deletes keys, stores every second of some others, and names one of the rest.
pub(super) fn store_half(
    oracle: &mut Oracle,
    notes: &mut Notes,
    deleted: &[Key],
    siblings: &[Key],
) -> Result<Named, GameError> {
    oracle.delete_all(deleted)?;
    oracle.store(siblings.iter().step_by(2))?;
    Ok(notes.name(oracle, siblings.to_vec()))
}
