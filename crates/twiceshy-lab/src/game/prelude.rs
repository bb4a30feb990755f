//! Before the adversary comes.

use super::dispatch::Recipe;
use super::oracle::Oracle;
use super::{GameError, Settings};
use crate::workload::keys::Keys;

/// The most look-ups that are expected of a prelude: some ten minutes a game.
const MOST_EXPECTED: f64 = 4_294_967_296.0;

/// How much longer than expected a prelude may take before it is a bug: chance alone does not come to so much.
const PATIENCE: u64 = 16;

/// The keys that a prelude can draw from.
pub(super) const MOST_STRANGERS: u64 = PATIENCE * MOST_EXPECTED as u64;

/// Gives a filter a past: it hears of false positives until its frontier has gone round that often and half way again. Then
/// both hash functions are in use, and mistakes about keys of either have left their bits.
pub(super) struct Prelude {
    phases: u64,
    most: u64,
}

impl Prelude {
    /// Refuses what cannot be played, or not within reason.
    pub(super) fn new(settings: &Settings, recipe: &Recipe) -> Result<Prelude, GameError> {
        let phases = settings.phases;
        if phases == 0 {
            return Ok(Prelude { phases, most: 0 });
        }
        if !recipe.has_phases {
            let why = format!(
                "the keys of {} keep their hash function, only those of a broom filter change it in phases: ask for 0 \
                 phases, or for a broom filter",
                settings.filter
            );
            return Err(GameError::Setting(why));
        }
        // A mistake moves one key on at least; where there are more keys than two it moves three.
        let expected = (phases as f64 + 1.0) * settings.keys as f64 / recipe.static_rate;
        if expected > MOST_EXPECTED {
            let why = format!(
                "{phases} phases take up to {expected:.0} look-ups of every game before the adversary begins: ask for \
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
        let why = format!("the frontier has not gone round {} times in {} look-ups", self.phases, self.most);
        Err(GameError::Seam(why))
    }

    /// A frontier that goes round in a step or two may never be seen half way: then the next round will do.
    fn is_over(&self, oracle: &Oracle) -> bool {
        oracle.phase().is_some_and(|phase| phase.ended > self.phases || phase.ended == self.phases && phase.part >= 0.5)
    }
}

#[cfg(any())] // broom: #[cfg(test)]
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

    /// A filter with a past, and the share of its last phase that is over.
    fn worn(keys: u64, phases: u64, seed: u64) -> (Oracle, f64) {
        let (settings, recipe) = settings(Kind::Broom, keys, phases);
        let set = Keys::new(keys, FIRST + MOST_STRANGERS, seed).expect("few keys");
        let mut oracle = Oracle::setup(&recipe, &set, Rng::new(seed)).expect("room for all");
        let prelude = Prelude::new(&settings, &recipe).expect("a broom filter has phases");
        prelude.play(&mut oracle, &set, FIRST).expect("the frontier goes round");
        let part = oracle.moved_on() as f64 / keys as f64 - phases as f64;
        (oracle, part)
    }

    #[test]
    fn the_frontier_goes_round_as_often_as_asked_and_half_way_again() {
        for phases in [1, 3, 6] {
            for seed in 0..20 {
                let (oracle, part) = worn(100, phases, seed);
                // An operation moves six keys at most.
                assert!((0.5..=0.57).contains(&part), "{phases} phases, seed {seed}: {part} of the next");
                assert_eq!(oracle.counts(), Default::default(), "none of it was the adversary's");
            }
        }
    }

    #[test]
    fn a_frontier_that_goes_round_in_one_step_ends_the_prelude_in_the_next_phase() {
        for keys in 1..8 {
            for seed in 0..10 {
                let (_, part) = worn(keys, 2, seed);
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
