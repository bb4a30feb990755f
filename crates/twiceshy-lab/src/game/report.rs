//! The outcome of many games, as people and programs read it.

use super::Settings;
use super::play::Sum;
use super::search::Search;
use crate::interval::{Z95, wilson};
use serde::Serialize;

/// Many games: sums over them unless a name says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The filter's name.
    pub filter: String,
    /// The adversary's name.
    pub adversary: String,
    /// n, the keys of the set when the adversary begins.
    pub keys: u64,
    /// ε, the rate that the filter was asked for.
    pub epsilon: f64,
    /// The rate of keys never asked for, by the formula of the filter that came of it; not above ε.
    pub static_rate: f64,
    /// Games.
    pub games: u64,
    /// Games in which the named key was a false positive.
    pub wins: u64,
    /// Wins over games.
    pub win_rate: f64,
    /// Its standard deviation, the games being independent.
    pub win_rate_sd: f64,
    /// The lower end of the win rate's 95 % interval, by Wilson.
    pub win_rate_low: f64,
    /// The upper end.
    pub win_rate_high: f64,
    /// Look-ups of the adversary; the one that decides a game is not counted.
    pub queries: u64,
    /// Those that were false positives.
    pub false_positives: u64,
    /// Insertions of the adversary.
    pub insertions: u64,
    /// Deletions of the adversary.
    pub deletions: u64,
    /// False positives that the filter was told of; none where it does not learn.
    pub adapts: u64,
    /// Adaptations that no state of the filter could have made.
    pub unfixable: u64,
    /// Rebuilds under a new hash key because the filter asked for one.
    pub rebuilds: u64,
    /// Local bits over n before the adversary's first move: the mean over the games.
    pub local_bits_per_key_start: f64,
    /// Local bits over n after its last.
    pub local_bits_per_key_end: f64,
    /// The phases that were asked for: how often each filter's frontier had gone round when the adversary began.
    pub phases: u64,
    /// Phases before the adversary's first move, with the share of the keys that have moved on since the last: the mean over
    /// the games. 0 where keys keep their hash function.
    pub phases_at_start: f64,
    /// Phases after its last.
    pub phases_at_end: f64,
    /// The seed.
    pub seed: u64,
    /// How the search went, of an adversary that searches for a key which stays wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
}

impl Report {
    pub(super) fn new(settings: &Settings, static_rate: f64, sum: &Sum) -> Report {
        let games = settings.games as f64;
        let win_rate = sum.wins as f64 / games;
        let (win_rate_low, win_rate_high) = wilson(sum.wins, settings.games, Z95);
        let per_key = |count: u128| count as f64 / games / settings.keys as f64;
        Report {
            filter: settings.filter.to_string(),
            adversary: settings.adversary.to_string(),
            keys: settings.keys,
            epsilon: settings.epsilon,
            static_rate,
            games: settings.games,
            wins: sum.wins,
            win_rate,
            win_rate_sd: deviation(win_rate, games),
            win_rate_low,
            win_rate_high,
            queries: sum.counts.queries,
            false_positives: sum.counts.false_positives,
            insertions: sum.counts.insertions,
            deletions: sum.counts.deletions,
            adapts: sum.counts.adapts,
            unfixable: sum.counts.unfixable,
            rebuilds: sum.counts.rebuilds,
            local_bits_per_key_start: per_key(sum.bits_at_start),
            local_bits_per_key_end: per_key(sum.bits_at_end),
            phases: settings.phases,
            phases_at_start: per_key(sum.moved_on_at_start),
            phases_at_end: per_key(sum.moved_on_at_end),
            seed: settings.seed,
            search: Search::new(settings, &sum.diary),
        }
    }

    /// How many standard deviations the wins lie above a rate, where the games would be won at that rate.
    pub fn deviations_above(&self, rate: f64) -> f64 {
        (self.win_rate - rate) / deviation(rate, self.games as f64)
    }
}

/// The standard deviation of the share of games that are won with this probability.
fn deviation(rate: f64, games: f64) -> f64 {
    (rate * (1.0 - rate) / games).sqrt()
}
