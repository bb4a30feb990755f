//! The attack in rounds of the lower bound's proof.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};

/// The most rounds. The paper has no bound; against a filter that does not learn the attack would be endless.
pub(crate) const ROUNDS: usize = 32;

/// The rounds of 001 section 6.1: asks all keys of a list, in byte order, and in each further round those that were wrong in
/// the round before. Returns FP_1, FP_2, …: the wrong ones of each round with any, of [`ROUNDS`] at most.
pub(crate) fn in_rounds<K: Ord + Clone, E>(
    mut asked: Vec<K>,
    mut is_wrong: impl FnMut(&K) -> Result<bool, E>,
    mut round_is_over: impl FnMut(&[K]),
) -> Result<Vec<Vec<K>>, E> {
    asked.sort_unstable();
    let mut wrong_in = Vec::new();
    while wrong_in.len() < ROUNDS {
        let mut wrong = Vec::new();
        for key in asked {
            if is_wrong(&key)? {
                wrong.push(key);
            }
        }
        round_is_over(&wrong);
        if wrong.is_empty() {
            break;
        }
        asked = wrong.clone();
        wrong_in.push(wrong);
    }
    Ok(wrong_in)
}

/// 001 section 6.1: asks n random absent keys, and in each further round those that were false positives in the round
/// before, in byte order. Names the first of those that survived longest, since the filter learned from the others
/// after it.
pub(super) struct Rounds;

impl Adversary for Rounds {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let asked: Vec<Key> = (0..notes.n()).map(|_| notes.fresh()).collect();
        let wrong = in_rounds(asked, |key| oracle.lookup(key), |_| ())?;
        let survivor = wrong.last().and_then(|last| last.first()).copied();
        Ok(Named::one(survivor.unwrap_or_else(|| notes.fresh())))
    }
}
