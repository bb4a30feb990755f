//! The results of many games.

use super::Settings;
use super::play::Sum;
use super::search::{Moves, Search};
use crate::interval::{Z95, wilson};
use serde::Serialize;

/// A result beyond four standard deviations is not luck.
const LUCK: f64 = 4.0;

/// The results of many games: sums unless stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The filter's name.
    pub filter: String,
    /// The adversary's name.
    pub adversary: String,
    /// n, the number of keys in the set when the adversary begins.
    pub keys: u64,
    /// ε, the requested rate of the filter.
    pub epsilon: f64,
    /// The rate of first-time keys, by the formula of the filter that was built; at most ε.
    pub static_rate: f64,
    /// Games.
    pub games: u64,
    /// Games in which the named key was a false positive.
    pub wins: u64,
    /// Wins over games.
    pub win_rate: f64,
    /// Its standard deviation; the games are independent.
    pub win_rate_sd: f64,
    /// The lower end of the win rate's 95 % interval (Wilson).
    pub win_rate_low: f64,
    /// The upper end.
    pub win_rate_high: f64,
    /// Keys that would have been equally good choices to name.
    pub nameable: u64,
    /// Those of them that were false positives at the end.
    pub nameable_wrong: u64,
    /// The mean share of a game's nameable keys that were false positives. It estimates the probability to win with
    /// less noise than the win rate.
    pub pool_rate: f64,
    /// Its standard error; the games are independent.
    pub pool_rate_se: f64,
    /// Look-ups by the adversary, without the one that decides a game.
    pub queries: u64,
    /// Those that were false positives.
    pub false_positives: u64,
    /// Insertions by the adversary.
    pub insertions: u64,
    /// Deletions by the adversary.
    pub deletions: u64,
    /// False positives reported to the filter; 0 if it does not learn.
    pub adapts: u64,
    /// False positives that no state of the filter could fix.
    pub unfixable: u64,
    /// Rebuilds under a new hash key, at the filter's request.
    pub rebuilds: u64,
    /// Rebuilds requested by the filter that failed under every hash key, so that the filter continued unchanged.
    pub rebuilds_refused: u64,
    /// Insertions refused because the filter was full.
    pub refusals: u64,
    /// The lowest load, keys over cells, at which an insertion was refused.
    pub lowest_refused_load: Option<f64>,
    /// Local bits over n before the adversary's first move: the mean over the games.
    pub local_bits_per_key_start: f64,
    /// Local bits over n after its last.
    pub local_bits_per_key_end: f64,
    /// The requested number of phases of each filter's frontier before the adversary begins.
    pub phases: u64,
    /// Phases before the adversary's first move, including the share of the current phase: the mean over the games. 0
    /// if keys keep their hash function.
    pub phases_at_start: f64,
    /// Phases after its last.
    pub phases_at_end: f64,
    /// The seed.
    pub seed: u64,
    /// The results of the search, for an adversary that searches for a key that stays wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// What was found out about the frontier, for an adversary that reads it from answers.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub moves: Option<Moves>,
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
            moves: Moves::new(settings, &sum.diary),
        }
    }

    /// `true` if the adversary wins more often than at a rate, by the games or by the keys it could have named: by four
    /// standard deviations, so that it is not luck.
    pub fn is_beaten(&self, rate: f64) -> bool {
        self.deviations_above(rate) > LUCK || self.pool_rate > rate + LUCK * self.pool_rate_se
    }

    /// How many standard deviations the wins are above a rate, assuming that games are won at that rate.
    pub fn deviations_above(&self, rate: f64) -> f64 {
        (self.win_rate - rate) / deviation(rate, self.games as f64)
    }
}

/// The standard deviation of the share of games that are won with this probability.
fn deviation(rate: f64, games: f64) -> f64 {
    (rate * (1.0 - rate) / games).sqrt()
}
