//! Mistakes of mistakes, over generations.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The number of generations.
const GENERATIONS: u32 = 4;

/// Four times: finds n/8 mistakes, deletes a random half of the stored keys, inserts the mistakes, and re-inserts every
/// third key that was deleted before. Names any deleted key that is not stored.
///
/// *Why it might win.* Mistakes connect keys in chains: x collided with y, z with x. A filter that learns to tell each
/// pair apart may still confuse the ends of a chain, which were never stored together. A re-inserted key meets what was
/// learned about its place in its absence.
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
