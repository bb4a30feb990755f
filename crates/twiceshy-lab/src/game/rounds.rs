//! The attack in rounds of the lower bound's proof.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The most rounds. The paper has no bound; against a filter that does not learn the attack would be endless.
const ROUNDS: u32 = 32;

/// 001 section 6.1: asks n random absent keys, and in each further round those that were false positives in the round
/// before, in byte order. Names the first of those that survived longest, since the filter learned from the others
/// after it.
pub(super) struct Rounds;

impl Adversary for Rounds {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut asked: Vec<Key> = (0..notes.n()).map(|_| notes.fresh()).collect();
        asked.sort_unstable();
        let mut survivor = None;
        for _ in 0..ROUNDS {
            let mut wrong = Vec::new();
            for key in asked {
                if oracle.lookup(&key)? {
                    wrong.push(key);
                }
            }
            survivor = wrong.first().copied().or(survivor);
            if wrong.is_empty() {
                break;
            }
            asked = wrong;
        }
        Ok(Named::one(survivor.unwrap_or_else(|| notes.fresh())))
    }
}
