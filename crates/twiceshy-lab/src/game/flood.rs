//! A filter full of its own mistakes.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// Deletes half of the keys, and inserts mistakes as it finds them until the set is full again, leaving out every
/// fourth. Names a mistake that was left out or refused, or a deleted key.
///
/// *Why it wins.* A mistake shares quotient and remainder with a stored key, so stored mistakes crowd into occupied
/// places. A filter's space for crowded places (a second level, a back yard, a long run) was planned for random keys
/// and may fill up long before the filter does. It also combines `swap` and `siblings`, with mistakes about mistakes.
pub(super) struct Flood;

impl Adversary for Flood {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut known = make_room(oracle, notes)?;
        let mut count = 0;
        while oracle.room() > 0 && count < notes.n() {
            let Some(key) = notes.find_wrong(oracle)? else { break };
            count += 1;
            if count % 4 != 0 {
                oracle.try_insert(&key)?;
            }
            known.push(key);
        }
        Ok(notes.name(oracle, known))
    }
}

/// Deletes a random half of the keys and returns them.
pub(super) fn make_room(oracle: &mut Oracle, notes: &mut Notes) -> Result<Vec<Key>, GameError> {
    let mut deleted = notes.shuffled_set();
    deleted.truncate(deleted.len().div_ceil(2));
    oracle.delete_all(&deleted)?;
    Ok(deleted)
}
