//! Being right is knowledge, too.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The most rounds.
const ROUNDS: f64 = 12.0;

/// Takes 2n keys. In each of up to twelve rounds it replaces the set by fresh keys, asks all of its own, and drops those that
/// were wrong. Then it deletes the set, inserts n of the survivors and names one of the others.
///
/// *Why it wins a little.* Keys that were right in many sets have fingerprints that none of those sets had. They avoid the
/// same values, so they meet each other more often than strangers do. With a share s of all values avoided the rate grows
/// by 1/(1 − s). Hash functions that change in time bound s: every mistake on the way brings the change nearer, so more
/// rounds than 1/8ε are in vain.
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
    fn there_are_two_rounds_at_least_and_twelve_at_most() {
        assert_eq!([0.5, 0.125, 0.025, 0.01, 1e-9].map(rounds), [2, 2, 5, 12, 12]);
    }
}
