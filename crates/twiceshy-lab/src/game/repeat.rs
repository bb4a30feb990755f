//! Replays mistakes.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use std::cmp::Reverse;

/// How often every mistake is repeated.
const AGAIN: u32 = 10;

/// Asks many fresh keys, then repeats all that were wrong, and names the one that was wrong most often.
///
/// Among equals it names the one asked first in a round: what the filter learned from the others since then may have
/// made it wrong again.
pub(super) struct Repeat;

impl Adversary for Repeat {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut wrong: Vec<(Key, u32)> = Vec::new();
        for _ in 0..notes.enough() {
            let key = notes.fresh();
            if oracle.lookup(&key)? {
                wrong.push((key, 1));
            }
        }
        for _ in 0..AGAIN {
            for (key, times) in &mut wrong {
                *times += u32::from(oracle.lookup(key)?);
            }
        }
        let likeliest = wrong.into_iter().min_by_key(|(_, times)| Reverse(*times));
        Ok(Named::one(likeliest.map_or_else(|| notes.fresh(), |(key, _)| key)))
    }
}
