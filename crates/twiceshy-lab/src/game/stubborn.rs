//! The search for a key that stays wrong, shared by the attacks on Cyclic and on Swapping.

use super::GameError;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// Asks fresh keys, each repeatedly while it is wrong, and names the first that was wrong `times` times in a row. If
/// none of the keys was, or the bound on look-ups is reached, it names a key that was never asked.
pub(super) fn stubborn(oracle: &mut Oracle, notes: &mut Notes, times: u64, elements: u64) -> Result<Key, GameError> {
    for _ in 0..elements {
        if oracle.counts().queries >= notes.tactics().most_queries {
            notes.diary.cut_short = 1;
            break;
        }
        let key = notes.fresh();
        notes.diary.elements += 1;
        if is_wrong_throughout(oracle, &key, times)? {
            notes.diary.named = 1;
            return Ok(key);
        }
    }
    Ok(notes.fresh())
}

/// A key that is right once is dropped: the filter has not changed, so the next answer would be the same.
fn is_wrong_throughout(oracle: &mut Oracle, key: &Key, times: u64) -> Result<bool, GameError> {
    for _ in 0..times {
        if !oracle.lookup(key)? {
            return Ok(false);
        }
    }
    Ok(true)
}
