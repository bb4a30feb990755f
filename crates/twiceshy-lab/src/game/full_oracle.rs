//! A refusal is an answer.

use super::GameError;
use super::adversary::Adversary;
use super::flood::make_room;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// After this many refusals the filter counts as refusing.
const REFUSALS: u32 = 3;

/// Floods the filter like [`flood`](super::flood), until it has refused three mistakes or the set has room for only one
/// key in twenty. Then tries to insert 2n fresh keys, deletes each that was accepted, and names one that was refused; a
/// fresh key if none was.
///
/// *Why it wins.* Fresh keys differ only in their hashes. If some are refused and others accepted while the set has
/// room, the refused ones belong to crowded places, so more of them are false positives. A filter whose refusals depend
/// only on the number of keys reveals nothing.
pub(super) struct FullOracle;

impl Adversary for FullOracle {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        make_room(oracle, notes)?;
        let spare = notes.n().div_ceil(20).min(oracle.room());
        let (mut refused, mut tried) = (0, 0);
        while oracle.room() > spare && refused < REFUSALS && tried < notes.n() {
            let Some(key) = notes.find_wrong(oracle)? else { break };
            tried += 1;
            refused += u32::from(!oracle.try_insert(&key)?);
        }
        let mut pool = Vec::new();
        for _ in 0..2 * notes.n() {
            let key = notes.fresh();
            if oracle.try_insert(&key)? {
                oracle.delete(&key)?;
            } else {
                pool.push(key);
            }
        }
        Ok(notes.name(oracle, pool))
    }
}
