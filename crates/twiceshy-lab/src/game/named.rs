//! The keys that an adversary names, and how many of them were wrong.

use super::GameError;
use super::oracle::{Key, Oracle};
use crate::workload::rng::Rng;

/// The keys that are equally good choices for an adversary to name. One of them, drawn at random, decides the game. The
/// others show how likely that outcome is, so that few games suffice to estimate the win rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pool: Vec<Key>,
    /// `true` if the other keys of the pool are stored before one is named.
    beside_the_others: bool,
}

impl Named {
    /// One key only.
    pub(super) fn one(key: Key) -> Named {
        Named { pool: vec![key], beside_the_others: false }
    }

    /// Any of these keys; `otherwise` if there are none.
    pub(super) fn any_of(pool: Vec<Key>, otherwise: impl FnOnce() -> Key) -> Named {
        if pool.is_empty() { Named::one(otherwise()) } else { Named { pool, beside_the_others: false } }
    }

    /// Any of these absent keys, of which there is at least one. The adversary inserts all others before it names it.
    pub(super) fn each_beside_the_others(pool: Vec<Key>) -> Named {
        Named { pool, beside_the_others: true }
    }

    /// Ends the game: whether the adversary won, and how many keys of the pool were wrong.
    pub(super) fn decide(&self, oracle: &mut Oracle, rng: &mut Rng) -> Result<Outcome, GameError> {
        let drawn = rng.below(self.pool.len() as u64) as usize;
        let nameable = self.pool.len() as u64;
        let wrong = if self.beside_the_others {
            let wrong = wrong_beside_the_others(oracle.clone(), &self.pool)?;
            let others = self.pool.iter().enumerate().filter(|(at, _)| *at != drawn);
            oracle.store(others.map(|(_, key)| key))?;
            wrong
        } else {
            self.pool.iter().filter(|key| oracle.is_false_positive(key)).count() as u64
        };
        let won = self.pool.get(drawn).is_some_and(|key| oracle.is_false_positive(key));
        Ok(Outcome::new(u64::from(won), nameable, wrong))
    }

    #[cfg(test)]
    pub(super) fn pool(&self) -> &[Key] {
        &self.pool
    }
}

/// How many of these keys are wrong if all others are stored: each on a copy of the game. Half of the keys are stored for
/// all of the other half at once.
fn wrong_beside_the_others(mut oracle: Oracle, keys: &[Key]) -> Result<u64, GameError> {
    let (left, right) = keys.split_at(keys.len() / 2);
    if left.is_empty() {
        return Ok(right.iter().filter(|key| oracle.is_false_positive(key)).count() as u64);
    }
    let mut beside_right = oracle.clone();
    beside_right.store(right)?;
    oracle.store(left)?;
    Ok(wrong_beside_the_others(beside_right, left)? + wrong_beside_the_others(oracle, right)?)
}

/// Sums of outcomes. All are whole numbers, so the order of adding does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Games won.
    pub(super) wins: u64,
    /// Keys in all pools.
    pub(super) nameable: u64,
    /// Those of them that were false positives.
    pub(super) nameable_wrong: u64,
    /// Wrong over nameable keys, in units of 2^-32, and its square.
    share: u128,
    share_squared: u128,
}

/// The unit of shares.
const ONE: u64 = 1 << 32;

impl Outcome {
    fn new(wins: u64, nameable: u64, nameable_wrong: u64) -> Outcome {
        let share = u128::from(nameable_wrong) * u128::from(ONE) / u128::from(nameable.max(1));
        Outcome { wins, nameable, nameable_wrong, share, share_squared: share * share }
    }

    pub(super) fn add(&mut self, more: &Outcome) {
        self.wins += more.wins;
        self.nameable += more.nameable;
        self.nameable_wrong += more.nameable_wrong;
        self.share += more.share;
        self.share_squared += more.share_squared;
    }

    /// The mean share of wrong keys in the pools, and its standard error. Keys of one game share a filter, so only the
    /// games are independent.
    pub(super) fn pool_rate(&self, games: u64) -> (f64, f64) {
        let games = games.max(1) as f64;
        let mean = self.share as f64 / ONE as f64 / games;
        let square = self.share_squared as f64 / (ONE as f64 * ONE as f64) / games;
        (mean, ((square - mean * mean).max(0.0) / games).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_rate_is_the_mean_of_the_games_with_the_error_of_that_mean() {
        let mut sum = Outcome::default();
        for (nameable, wrong) in [(4, 1), (10, 5), (1, 0), (8, 2)] {
            sum.add(&Outcome::new(0, nameable, wrong));
        }
        let (mean, error) = sum.pool_rate(4);
        assert!((mean - 0.25).abs() < 1e-9, "{mean}");
        // Deviations of 0, 1/4, 1/4 and 0: a variance of 1/32, over four games.
        assert!((error - f64::sqrt(1.0 / 128.0)).abs() < 1e-9, "{error}");
        assert_eq!((sum.nameable, sum.nameable_wrong), (23, 8));
    }

    #[test]
    fn an_empty_pool_names_another_key() {
        assert_eq!(Named::any_of(Vec::new(), || [7; 8]), Named::one([7; 8]));
        assert_eq!(Named::any_of(vec![[1; 8], [2; 8]], || [7; 8]).pool(), [[1; 8], [2; 8]]);
    }
}
