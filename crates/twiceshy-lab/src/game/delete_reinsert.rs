//! The timing attack: a deleted key is forgotten.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// 001 section 4.3: finds a false positive x, then a stored key y whose deletion and re-insertion make x a false
/// positive again, and repeats that once to be sure. The last look-up has fixed x. Deleting and re-inserting y makes it
/// wrong again, unless the filter remembers what it had learned about y. Names x.
///
/// It tries every key of the set once, in random order.
pub(super) struct DeleteReinsert;

impl Adversary for DeleteReinsert {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let Some(x) = notes.find_wrong(oracle)? else { return Ok(Named::one(notes.fresh())) };
        let mut suspect = None;
        for y in notes.shuffled_set() {
            if brings_back(oracle, &x, &y)? {
                suspect = Some(y);
                if brings_back(oracle, &x, &y)? {
                    break;
                }
            }
        }
        if let Some(y) = suspect {
            reinsert(oracle, &y)?;
        }
        Ok(Named::one(x))
    }
}

/// `true` if x is a false positive after y was deleted and re-inserted. Then the filter has just been told.
fn brings_back(oracle: &mut Oracle, x: &Key, y: &Key) -> Result<bool, GameError> {
    reinsert(oracle, y)?;
    oracle.lookup(x)
}

fn reinsert(oracle: &mut Oracle, y: &Key) -> Result<(), GameError> {
    oracle.delete(y)?;
    oracle.insert(y)
}
