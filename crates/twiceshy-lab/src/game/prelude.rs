//! Uses a filter before the adversary begins.

use super::dispatch::Recipe;
use super::oracle::Oracle;
use super::{GameError, Settings};
use crate::workload::keys::Keys;

/// The most expected look-ups of a prelude: about ten minutes per game.
const MOST_EXPECTED: f64 = 4_294_967_296.0;

/// A prelude that takes this many times longer than expected is a bug: chance alone does not explain it.
const PATIENCE: u64 = 16;

/// The number of keys that a prelude can draw from.
pub(super) const MOST_PRELUDE_KEYS: u64 = PATIENCE * MOST_EXPECTED as u64;

/// Gives a filter a history: reports false positives to it until its frontier has finished this many phases and half of
/// another. Then both hash functions are in use, and mistakes about keys of either have left their bits.
pub(super) struct Prelude {
    phases: u64,
    most: u64,
}

impl Prelude {
    /// Checks that the prelude can be played in reasonable time.
    pub(super) fn new(settings: &Settings, recipe: &Recipe) -> Result<Prelude, GameError> {
        let phases = settings.phases;
        if phases == 0 {
            return Ok(Prelude { phases, most: 0 });
        }
        if !recipe.has_phases {
            let why = format!(
                "the keys of {} keep their hash function, only those of a broom filter change it in phases: use 0 \
                 phases, or a broom filter",
                settings.filter
            );
            return Err(GameError::Setting(why));
        }
        // A mistake moves at least one key, and three if there are more than two.
        let expected = (phases as f64 + 1.0) * settings.keys as f64 / recipe.static_rate;
        if expected > MOST_EXPECTED {
            let why = format!(
                "{phases} phases take up to {expected:.0} look-ups of every game before the adversary begins: use \
                 fewer phases, fewer keys or a larger epsilon"
            );
            return Err(GameError::Setting(why));
        }
        Ok(Prelude { phases, most: PATIENCE * expected.ceil() as u64 })
    }

    /// Plays it with the absent keys from a number on.
    pub(super) fn play(&self, oracle: &mut Oracle, keys: &Keys, first: u64) -> Result<(), GameError> {
        if self.phases == 0 {
            return Ok(());
        }
        for number in first..first + self.most {
            if oracle.lookup(&keys.absent(number))? && self.is_over(oracle) {
                oracle.forget_counts();
                return Ok(());
            }
        }
        let why = format!("the frontier has not finished {} phases in {} look-ups", self.phases, self.most);
        Err(GameError::Seam(why))
    }

    /// A frontier that finishes a phase in a step or two may never be seen half way. Then the next phase counts.
    fn is_over(&self, oracle: &Oracle) -> bool {
        oracle.phase().is_some_and(|phase| phase.ended > self.phases || phase.ended == self.phases && phase.part >= 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::super::AdversaryName;
    use super::*;
    use crate::workload::rng::Rng;
    use twiceshy::Kind;

    const FIRST: u64 = 1 << 40;

    fn settings(filter: Kind, keys: u64, phases: u64) -> (Settings, Recipe) {
        let recipe = Recipe::named(filter, keys, 0.05).expect("a filter");
        let adversary = AdversaryName::Fresh;
        (Settings { filter: filter.into(), adversary, keys, epsilon: 0.05, phases, games: 1, seed: 1, jobs: 1 }, recipe)
    }

    /// A filter with a history, and the share of its last phase that is over.
    fn with_history(keys: u64, phases: u64, seed: u64) -> (Oracle, f64) {
        let (settings, recipe) = settings(Kind::Broom, keys, phases);
        let set = Keys::new(keys, FIRST + MOST_PRELUDE_KEYS, seed).expect("few keys");
        let mut oracle = Oracle::setup(&recipe, &set, Rng::new(seed)).expect("room for all");
        let prelude = Prelude::new(&settings, &recipe).expect("a broom filter has phases");
        prelude.play(&mut oracle, &set, FIRST).expect("the frontier goes round");
        let part = oracle.moved_on() as f64 / keys as f64 - phases as f64;
        (oracle, part)
    }

    #[test]
    fn a_prelude_ends_half_way_after_the_requested_phases() {
        for phases in [1, 3, 6] {
            for seed in 0..20 {
                let (oracle, part) = with_history(100, phases, seed);
                // An operation moves at most six keys.
                assert!((0.5..=0.57).contains(&part), "{phases} phases, seed {seed}: {part} of the next");
                assert_eq!(oracle.counts(), Default::default(), "none of it was the adversary's");
            }
        }
    }

    #[test]
    fn a_frontier_that_goes_round_in_one_step_ends_the_prelude_in_the_next_phase() {
        for keys in 1..8 {
            for seed in 0..10 {
                let (_, part) = with_history(keys, 2, seed);
                assert!((0.5..=1.0).contains(&part), "{keys} keys, seed {seed}: {part} of the next");
            }
        }
    }

    #[test]
    fn filters_without_phases_and_preludes_without_end_are_refused() {
        for &filter in Kind::ALL {
            let refused = |phases| {
                let (settings, recipe) = settings(filter, 100, phases);
                Prelude::new(&settings, &recipe).err()
            };
            assert!(refused(0).is_none(), "{filter}");
            assert_eq!(refused(1).is_some(), filter != Kind::Broom, "{filter}");
            assert!(matches!(refused(u64::MAX), Some(GameError::Setting(_))), "{filter}");
        }
    }
}
