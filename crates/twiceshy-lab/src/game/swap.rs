//! Mistakes inserted in place of the keys that they collide with.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Finds n/8 mistakes, deletes the keys of the upper half in byte order, inserts the mistakes, and names a deleted key.
///
/// *Why it wins.* A mistake x about a stored key y shows that x and y share quotient and remainder. The filter has
/// learned to tell x from y, but stores that with y. If it forgets that when y is deleted, or does not apply it to x
/// when x is inserted, x is stored in y's place without it, and y is a false positive. A filter that forgets loses once
/// for each key that had a mistake, about one in eight of those deleted.
///
/// *Why the upper half.* If keys take another hash function in byte order, n/8 mistakes move less than half of them.
/// The others, and queries among them, keep the function that the mistakes were found under.
pub(super) struct Swap;

impl Adversary for Swap {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut set = notes.sorted_set();
        let upper = set.split_off(set.len() / 2);
        let above = upper.first().copied().unwrap_or_default();
        let found = notes.find_many_above(oracle, notes.one_in(8), &above)?;
        oracle.delete_all(&upper)?;
        oracle.store(&found)?;
        Ok(notes.name(oracle, upper))
    }
}
