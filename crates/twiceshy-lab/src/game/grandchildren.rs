//! Keys against mistakes about their mistakes.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// Finds n/4 mistakes and stores them instead of the set; finds n/8 mistakes about those, and deletes the generation in
/// between. Then stores every second key of the set and every second grandchild, and names one of the others.
///
/// *Why it might win.* A key and a mistake about its mistake share quotient and remainder and, more often than by
/// chance, the next bits, but were never stored or asked at the same time. Only what the middle generation left behind
/// can tell them apart: first when it was inserted and met what its parents had left, and again when it was deleted.
pub(super) struct Grandchildren;

impl Adversary for Grandchildren {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut children = notes.find_many(oracle, notes.one_in(4))?;
        let set: Vec<Key> = notes.set().collect();
        oracle.delete_all(&set)?;
        oracle.store(&children)?;
        children.retain(|key| oracle.holds(key));
        let grandchildren = notes.find_many(oracle, notes.one_in(8))?;
        oracle.delete_all(&children)?;
        oracle.store(grandchildren.iter().step_by(2))?;
        oracle.store(set.iter().step_by(2))?;
        Ok(notes.name(oracle, [set, grandchildren].concat()))
    }
}
