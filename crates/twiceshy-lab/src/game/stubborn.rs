//! The search for a key that stays wrong, which the attacks on Cyclic and on Swapping share.

use super::GameError;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// Asks fresh keys, each again and again while it is wrong, and names the first that was wrong so many times in a row.
/// Where none of so many elements was, or the look-ups have come to their bound, it names a key never asked for.
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

/// A key that is right once is left alone: the filter has not changed, and the next answer would be the same.
fn is_wrong_throughout(oracle: &mut Oracle, key: &Key, times: u64) -> Result<bool, GameError> {
    for _ in 0..times {
        if !oracle.lookup(key)? {
            return Ok(false);
        }
    }
    Ok(true)
}
