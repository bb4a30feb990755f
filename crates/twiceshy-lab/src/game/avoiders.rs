//! Correct answers carry information, too.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The most rounds.
const ROUNDS: f64 = 12.0;

/// Takes 2n keys. In each of up to twelve rounds it replaces the set by fresh keys, asks all of its own, and drops
/// those that were wrong. Then it deletes the set, inserts n of the survivors and names one of the others.
///
/// *Why it wins a little.* Keys that were right in many sets have fingerprints that occur in none of those sets. They
/// avoid the same values, so they collide with each other more often than random keys do. If a share s of all values is
/// avoided, the rate grows by 1/(1 − s). Hash functions that change over time bound s: every mistake on the way brings
/// the change nearer, so more than 1/8ε rounds are useless.
pub(super) struct Avoiders;

impl Adversary for Avoiders {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut survivors: Vec<Key> = (0..2 * notes.n()).map(|_| notes.fresh()).collect();
        let mut stored: Vec<Key> = notes.set().collect();
        for _ in 0..rounds(notes.epsilon()) {
            for key in std::mem::take(&mut stored) {
                oracle.delete(&key)?;
                let new = notes.fresh();
                if oracle.try_insert(&new)? {
                    stored.push(new);
                }
            }
            let mut right = Vec::with_capacity(survivors.len());
            for key in survivors {
                if !oracle.lookup(&key)? {
                    right.push(key);
                }
            }
            survivors = right;
        }
        oracle.delete_all(&stored)?;
        oracle.store(&survivors)?;
        Ok(notes.name(oracle, survivors))
    }
}

fn rounds(epsilon: f64) -> u64 {
    (0.125 / epsilon).clamp(2.0, ROUNDS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_two_to_twelve_rounds() {
        assert_eq!([0.5, 0.125, 0.025, 0.01, 1e-9].map(rounds), [2, 2, 5, 12, 12]);
    }
}
