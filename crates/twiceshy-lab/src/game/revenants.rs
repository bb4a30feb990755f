//! All keys are deleted and re-inserted.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// How often all keys are deleted and re-inserted.
const ROUNDS: u32 = 6;

/// Finds n/4 mistakes. Six times it deletes all keys and re-inserts them in another random order, and asks every second
/// mistake, except after the last time. Names one of the mistakes.
///
/// *Why it might win.* This is the timing attack of 001 section 4.3 on all keys at once: what was learned about a key
/// must survive its absence and be found again. The order matters to a filter with two levels: a late key finds its
/// place taken and goes elsewhere, so what was learned must be available in both places, and still be there when the
/// key returns to the first. The mistakes that are asked keep the frontier moving; the others are known only to the
/// ghosts.
pub(super) struct Revenants;

impl Adversary for Revenants {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let found = notes.find_many(oracle, notes.one_in(4))?;
        let mut stored: Vec<Key> = notes.set().collect();
        for round in 0..ROUNDS {
            oracle.delete_all(&stored)?;
            notes.shuffle(&mut stored);
            oracle.store(&stored)?;
            stored.retain(|key| oracle.holds(key));
            if round + 1 < ROUNDS {
                for key in found.iter().step_by(2) {
                    oracle.lookup(key)?;
                }
            }
        }
        Ok(notes.name(oracle, found))
    }
}
