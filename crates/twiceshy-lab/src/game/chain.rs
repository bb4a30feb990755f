//! Mistakes of mistakes, over generations.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// How many generations there are.
const GENERATIONS: u32 = 4;

/// Four times: finds n/8 mistakes, deletes a random half of the stored keys, inserts the mistakes, and lets every third key
/// that went before come back. Names any key that went and is not stored.
///
/// *Why it might win.* Mistakes connect keys in chains: x was wrong on y, z on x. A filter that tells each pair apart as it
/// is told of it may still confuse the ends of a chain, whose links were never stored together. Who comes back meets what
/// was learned in its absence about its own place.
pub(super) struct Chain;

impl Adversary for Chain {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut stored: Vec<Key> = notes.set().collect();
        let mut gone: Vec<Key> = Vec::new();
        for _ in 0..GENERATIONS {
            let found = notes.find_many(oracle, notes.one_in(8))?;
            notes.shuffle(&mut stored);
            let leaving = stored.split_off(stored.len() / 2);
            oracle.delete_all(&leaving)?;
            oracle.store(&found)?;
            oracle.store(gone.iter().step_by(3))?;
            let mut all: Vec<Key> = [stored, leaving, found, gone].concat();
            (stored, gone) = (Vec::new(), Vec::new());
            for key in all.drain(..) {
                if oracle.holds(&key) { stored.push(key) } else { gone.push(key) }
            }
        }
        Ok(notes.name(oracle, gone))
    }
}
