//! The outcome of many games, as people and programs read it.

use super::Settings;
use super::play::Sum;
use super::search::Search;
use crate::interval::{Z95, wilson};
use serde::Serialize;

/// Beyond four standard deviations nobody is just lucky.
const LUCK: f64 = 4.0;

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
    /// Keys that the adversary might have named with equal reason.
    pub nameable: u64,
    /// Those of them that were false positives at the end.
    pub nameable_wrong: u64,
    /// The share of a game's nameable keys that were false positives: the mean over the games. It is the chance to win, with
    /// less noise than the win rate.
    pub pool_rate: f64,
    /// Its standard error, the games being independent.
    pub pool_rate_se: f64,
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
    /// Rebuilds that the filter asked for and that had no room under any hash key, so that it went on as it was.
    pub rebuilds_refused: u64,
    /// Insertions that the filter refused because it was full.
    pub refusals: u64,
    /// The lowest load, keys over cells, at which it refused one.
    pub lowest_refused_load: Option<f64>,
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
        let outcome = &sum.outcome;
        let win_rate = outcome.wins as f64 / games;
        let (win_rate_low, win_rate_high) = wilson(outcome.wins, settings.games, Z95);
        let (pool_rate, pool_rate_se) = outcome.pool_rate(settings.games);
        let per_key = |count: u128| count as f64 / games / settings.keys as f64;
        Report {
            filter: settings.filter.to_string(),
            adversary: settings.adversary.to_string(),
            keys: settings.keys,
            epsilon: settings.epsilon,
            static_rate,
            games: settings.games,
            wins: outcome.wins,
            win_rate,
            win_rate_sd: deviation(win_rate, games),
            win_rate_low,
            win_rate_high,
            nameable: outcome.nameable,
            nameable_wrong: outcome.nameable_wrong,
            pool_rate,
            pool_rate_se,
            queries: sum.counts.queries,
            false_positives: sum.counts.false_positives,
            insertions: sum.counts.insertions,
            deletions: sum.counts.deletions,
            adapts: sum.counts.adapts,
            unfixable: sum.counts.unfixable,
            rebuilds: sum.counts.rebuilds,
            rebuilds_refused: sum.counts.rebuilds_refused,
            refusals: sum.counts.refusals,
            lowest_refused_load: sum.counts.lowest_refused.map(|millionths| millionths as f64 * 1e-6),
            local_bits_per_key_start: per_key(sum.bits_at_start),
            local_bits_per_key_end: per_key(sum.bits_at_end),
            phases: settings.phases,
            phases_at_start: per_key(sum.moved_on_at_start),
            phases_at_end: per_key(sum.moved_on_at_end),
            seed: settings.seed,
            search: Search::new(settings, &sum.diary),
        }
    }

    /// `true` if the adversary wins more often than at a rate, by the games or by the keys that it might have named: four
    /// standard deviations above it, so that it is no luck.
    pub fn is_beaten(&self, rate: f64) -> bool {
        self.deviations_above(rate) > LUCK || self.pool_rate > rate + LUCK * self.pool_rate_se
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
