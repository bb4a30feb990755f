//! The same keys in several phases.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::siblings::store_half;

/// Finds n/8 mistakes and keeps them. Pushes the frontier through a phase and a half with n/2 other mistakes and asks
/// its own again, then pushes it through half a phase more. Deletes all keys, inserts every second of its own mistakes
/// and names one of the others.
///
/// *Why it might win.* Its keys are related under functions that are no longer used. Nothing of that should be left, in
/// the filter or in what the adversary knows. It wins if a function is used again, if something is dropped one phase
/// too early, or if what was learned under one function is applied to the next.
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
        store_half(oracle, notes, &set, &riders)
    }
}
