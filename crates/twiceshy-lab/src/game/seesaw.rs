//! Keys and their mistakes are stored in turns.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The number of turns. After an odd number the mistakes are stored.
const TURNS: u32 = 5;

/// Finds n/4 mistakes. Then stores the set and its mistakes in turns, and asks those that are absent, except after the
/// fifth turn, when it names a key of the set.
///
/// *Why it might win.* The same pairs meet repeatedly with their roles exchanged. What was learned about x when y was
/// stored must hold for y when x is stored, and each turn leaves more behind. A key that is wrong at a turn tells the
/// adversary that a pair was not kept apart, and is fixed once more.
pub(super) struct Seesaw;

impl Adversary for Seesaw {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut up = notes.find_many(oracle, notes.one_in(4))?;
        let mut down: Vec<Key> = notes.set().collect();
        for turn in 1..=TURNS {
            for key in &down {
                if oracle.holds(key) {
                    oracle.delete(key)?;
                }
            }
            oracle.store(&up)?;
            if turn < TURNS {
                for key in &down {
                    oracle.lookup(key)?;
                }
            }
            (up, down) = (down, up);
        }
        Ok(notes.name(oracle, up))
    }
}
