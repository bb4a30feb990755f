//! A refusal is an answer.

use super::GameError;
use super::adversary::Adversary;
use super::flood::make_room;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// How many refusals say that the filter has begun to refuse.
const REFUSALS: u32 = 3;

/// Floods the filter as [`flood`](super::flood) does, until it has refused three mistakes or the set is full but for one
/// key in twenty. Then tries to insert 2n fresh keys, deletes each that was taken, and names one that was refused; a fresh
/// key where none was.
///
/// *Why it wins.* All fresh keys are alike but for their hashes. If some are refused and others taken while the set has
/// room, the refused ones are those whose place is crowded: more of them are false positives. A filter whose refusals depend
/// on the number of keys alone tells nothing.
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
