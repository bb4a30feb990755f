//! The same keys in one phase after another.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::siblings::confront;

/// Finds n/8 mistakes and keeps them. Pushes the frontier through a phase and a half by n/2 other mistakes and asks its own
/// again, then through half a phase more. Deletes all keys, inserts every second of its own mistakes and names one of the
/// others.
///
/// *Why it might win.* Its keys are connected under functions that are gone. Nothing should be left of that, neither in what
/// the filter keeps nor in what the adversary knows. It wins if a function returns, if what must be kept is thrown away one
/// phase too early, or if what was learned under one function is held against the next.
pub(super) struct PhaseRiders;

impl Adversary for PhaseRiders {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let riders = notes.find_many(oracle, notes.one_in(8))?;
        notes.find_many(oracle, notes.one_in(2))?;
        for key in &riders {
            oracle.lookup(key)?;
        }
        notes.find_many(oracle, notes.one_in(6))?;
        let set: Vec<Key> = notes.set().collect();
        confront(oracle, notes, &set, &riders)
    }
}
