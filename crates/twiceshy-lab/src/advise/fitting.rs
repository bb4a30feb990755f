//! Finds the width with which a filter costs least on the sample.

use super::cost::{Costs, Use};
use super::sample::Sample;
use super::spread::{Mean, TRIALS};
use super::trial::{self, Outcome};
use super::{AdviseError, Candidate, Settings};
use serde::Serialize;
use std::collections::BTreeMap;
use twiceshy_store::Planned;

/// The most bits more or less than for the wanted static rate that are tried.
const MOST_STEPS: u32 = 12;

/// A filter that has made fewer mistakes in all trials is not known well: how many reads it learns with, above all.
pub(super) const FEWEST_MISTAKES: u64 = 30;

/// The most mistakes that are expected if this many were seen, with a probability of about 97.5 %: seeing none is consistent
/// with three.
fn expected_at_most(seen: u64) -> f64 {
    seen as f64 + 2.0 * (seen as f64).sqrt() + 3.0
}

/// Whether a filter keeps the wanted rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Keeps {
    /// The whole interval is below the wanted rate.
    #[serde(rename = "yes")]
    Yes,
    /// The interval is above it; or clients may be hostile, and the filter has no promise to keep.
    #[serde(rename = "no")]
    No,
    /// The wanted rate is in the interval; or the filter does not learn, keeps the rate on average, and differs by more than
    /// the rate from one store to another.
    #[serde(rename = "not sure")]
    NotSure,
}

impl std::fmt::Display for Keeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Keeps::Yes => "yes",
            Keeps::No => "no",
            Keeps::NotSure => "not sure",
        })
    }
}

/// A candidate as `twiceshy create` would build it, and its results on the sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fitted {
    /// The filter's name.
    pub filter: String,
    /// `true` if it learns from its mistakes.
    pub learns: bool,
    /// `true` if it keeps its rate against clients that attack it.
    pub adaptive: bool,
    /// The bits of a cell or remainder.
    pub width: u32,
    /// The cells or slots of the store's filter.
    pub cells: u64,
    /// The rate to ask `twiceshy create` for.
    pub ask_for: f64,
    /// The memory of the filter with all keys, in bits over keys.
    pub bits_per_key: f64,
    /// The same in bytes.
    pub bytes: u64,
    /// The size of the store's file with all keys, in bytes, before it learns.
    pub bytes_on_disk: u64,
    /// The index entries of a key. An insertion writes all of them.
    pub index_entries: u8,
    /// The false-positive rate of keys never asked before with all keys stored, by formula.
    pub static_rate: f64,
    /// The false-positive rate over all queries: measured; by formula for a filter that does not learn, and for one with a
    /// promise if clients may be hostile.
    pub rate: f64,
    /// The lower end of its 95 % interval.
    pub rate_low: f64,
    /// The upper end.
    pub rate_high: f64,
    /// The standard deviation of the rate from one store to another: a popular key may be among its mistakes or not.
    pub rate_deviation: f64,
    /// Whether the wanted rate is kept.
    pub keeps_rate: Keeps,
    /// False positives among the sample's queries, in all trials.
    pub false_positives: u64,
    /// The sample's queries, in all trials.
    pub queries: u64,
    /// Store reads for each false positive: one to find out, the others to learn.
    pub reads_per_mistake: f64,
    /// Store reads per query.
    pub remote_reads_per_query: f64,
    /// Store reads per million queries.
    pub reads_per_million: f64,
    /// Commits per million queries, if each false positive is learned from by itself.
    pub commits_per_million: f64,
    /// Index entries written or deleted by learning, per million queries.
    pub entries_written_per_million: f64,
    /// Look-ups of absent keys per second, through the guard.
    pub lookups_per_second: f64,
    /// All of it in one figure, in store reads per million queries: see [`Weights`](super::Weights).
    pub cost: f64,
    /// The parts of that figure.
    pub cost_parts: Costs,
}

impl Fitted {
    /// The cost without the time of look-ups, which hardly depends on the width.
    fn untimed_cost(&self) -> f64 {
        self.cost - self.cost_parts.lookups
    }
}

/// What all candidates are measured with.
pub(super) struct Bench<'a> {
    pub(super) settings: &'a Settings,
    pub(super) sample: &'a Sample,
    /// The lowest rate of a filter that does not learn: a filter that learns must not read the store more often.
    pub(super) plain_rate: f64,
}

impl Bench<'_> {
    /// The candidate at the width that costs least; `None` if no width can be built for the wanted rate.
    ///
    /// The static rate decides if the filter does not learn: on average it has that rate whatever is asked, and whether it
    /// is wrong about the most popular key is luck, no reason to choose a width. The static rate also decides if clients
    /// are hostile, since no filter can promise more. Otherwise the width is searched: one bit less saves memory and doubles
    /// the mistakes.
    pub(super) fn fit(&self, candidate: Candidate, disk: u64) -> Result<Option<Fitted>, AdviseError> {
        let Settings { keys, rate, hostile, .. } = *self.settings;
        let Some((_, asked)) = candidate.geometry(keys, rate) else { return Ok(None) };
        let mut known = BTreeMap::new();
        let mut fit = |width: u32, trials| self.measure(candidate, width, disk, trials, &mut known);
        if !candidate.learns() {
            return fit(asked, 1);
        }
        if hostile {
            return fit(asked, TRIALS);
        }
        let good = |fitted: &Fitted| fitted.rate <= rate && fitted.remote_reads_per_query <= self.plain_rate;
        let Some(mut best) = fit(asked, 1)? else { return Ok(None) };
        // A filter that forgets may need more bits.
        while best.rate > rate && best.width < asked + MOST_STEPS {
            let Some(wider) = fit(best.width + 1, 1)? else { break };
            best = wider;
        }
        while best.width + MOST_STEPS > asked {
            match fit(best.width - 1, 1)? {
                Some(narrower) if good(&narrower) && narrower.untimed_cost() < best.untimed_cost() => best = narrower,
                _ => break,
            }
        }
        let Some(best) = fit(best.width, TRIALS)? else { return Ok(None) };
        if best.keeps_rate == Keeps::Yes && (good(&best) || best.width >= asked) {
            return Ok(Some(best));
        }
        // One trial was too hopeful.
        match fit(best.width + 1, TRIALS)? {
            Some(wider) if wider.keeps_rate == Keeps::Yes => Ok(Some(wider)),
            _ => Ok(Some(best)),
        }
    }

    /// Runs the first trials at this width, unless they are known. The last one is timed.
    fn measure(
        &self,
        candidate: Candidate,
        width: u32,
        disk: u64,
        trials: usize,
        known: &mut BTreeMap<u32, Vec<Outcome>>,
    ) -> Result<Option<Fitted>, AdviseError> {
        let Settings { keys, rate, .. } = *self.settings;
        // The wanted rate itself, if that gives this width.
        let is_asked = candidate.geometry(keys, rate).is_some_and(|(_, own)| own == width);
        let Some(ask_for) = is_asked.then_some(rate).or_else(|| candidate.rate_for(keys, width)) else {
            return Ok(None);
        };
        let planned = candidate.options(keys, ask_for).planned()?;
        let outcomes = known.entry(width).or_default();
        for trial in self.sample.trials.iter().take(trials).skip(outcomes.len()) {
            let timed = outcomes.len() + 1 == TRIALS || !candidate.learns();
            outcomes.push(trial::run(candidate, &planned, keys, trial, timed)?);
        }
        Ok(Some(self.fitted(candidate, &planned, disk, outcomes)))
    }

    fn fitted(&self, candidate: Candidate, planned: &Planned, disk: u64, outcomes: &[Outcome]) -> Fitted {
        let Settings { keys, rate: wanted, hostile, weights, .. } = self.settings;
        let static_rate = candidate.static_rate(planned, *keys);
        let rate = self.rate(candidate, static_rate, outcomes);
        let keeps_rate = match () {
            () if *hostile && !candidate.is_adaptive() => Keeps::No,
            () if *hostile => {
                if static_rate <= *wanted {
                    Keeps::Yes
                } else {
                    Keeps::No
                }
            }
            // Right on average, and no two stores alike: one may be wrong about the most popular key, each time.
            () if !candidate.learns() && rate.mean <= *wanted && rate.deviation > rate.mean => Keeps::NotSure,
            () => match rate.is_at_most(*wanted) {
                Some(true) => Keeps::Yes,
                Some(false) => Keeps::No,
                None => Keeps::NotSure,
            },
        };
        let sum = |of: &dyn Fn(&Outcome) -> u64| outcomes.iter().map(of).sum::<u64>();
        let mistakes = sum(&|outcome| outcome.false_positives).max(1) as f64;
        let each = |of: &dyn Fn(&Outcome) -> u64| sum(of) as f64 / mistakes * rate.mean;
        let index_reads = sum(&|outcome| outcome.store.index_reads) as f64 / mistakes;
        let reads = rate.mean * (1.0 + index_reads);
        let filled = outcomes.iter().map(|outcome| outcome.filled).fold(1.0, f64::max);
        let bits = planned.local_bits as f64 * filled;
        let lookups_per_second = outcomes.last().map_or(0.0, |outcome| outcome.lookups_per_second);
        let used = Use {
            reads: reads * 1e6,
            commits: each(&|outcome| outcome.store.commits) * 1e6,
            lookups_per_second,
            bits_per_key: bits / *keys as f64,
            disk_bits_per_key: disk as f64 * 8.0 / *keys as f64,
        };
        let cost_parts = weights.costs(*wanted, &used);
        Fitted {
            filter: candidate.kind().to_string(),
            learns: candidate.learns(),
            adaptive: candidate.is_adaptive(),
            width: planned.width,
            cells: planned.cells,
            ask_for: planned.rate,
            bits_per_key: used.bits_per_key,
            bytes: (bits / 8.0).round() as u64,
            bytes_on_disk: disk,
            index_entries: planned.index_entries,
            static_rate,
            rate: rate.mean,
            rate_low: rate.low,
            rate_high: rate.high,
            rate_deviation: rate.deviation,
            keeps_rate,
            false_positives: sum(&|outcome| outcome.false_positives),
            queries: sum(&|outcome| outcome.queries),
            reads_per_mistake: 1.0 + index_reads,
            remote_reads_per_query: reads,
            reads_per_million: used.reads,
            commits_per_million: used.commits,
            entries_written_per_million: each(&|outcome| outcome.store.entries_written) * 1e6,
            lookups_per_second,
            cost: cost_parts.total(),
            cost_parts,
        }
    }

    /// The rate over all queries.
    ///
    /// A filter that learns has few mistakes that repeat, so their number follows that of the distinct keys. If a trial asks
    /// for a share of the keys, its mistakes for each distinct key are what the whole traffic has too, whichever popular
    /// keys are in the share.
    fn rate(&self, candidate: Candidate, static_rate: f64, outcomes: &[Outcome]) -> Mean {
        if !candidate.learns() {
            // Each distinct key is wrong with this probability, by itself and every time.
            let deviation = (static_rate * (1.0 - static_rate)).sqrt() * self.sample.unevenness;
            return Mean::exactly(static_rate, deviation);
        }
        if self.settings.hostile && candidate.is_adaptive() {
            // The worst that a client can do, whatever the sample is.
            return Mean::exactly(static_rate, 0.0);
        }
        let repeats = self.sample.queries as f64 / self.sample.distinct.max(1) as f64;
        let rate = |outcome: &Outcome| outcome.false_positives as f64 / outcome.distinct.max(1) as f64 / repeats;
        let rates: Vec<f64> = outcomes.iter().map(rate).collect();
        let mean = Mean::of(&rates);
        let distinct: u64 = outcomes.iter().map(|outcome| outcome.distinct).sum();
        let seen: u64 = outcomes.iter().map(|outcome| outcome.false_positives).sum();
        let most = expected_at_most(seen) / distinct.max(1) as f64 / repeats;
        // A store is asked all of the traffic, so it differs less from others than a small trial does, and more than a large.
        let larger = distinct as f64 / outcomes.len().max(1) as f64 / self.sample.distinct.max(1) as f64;
        Mean { high: mean.high.max(most), deviation: mean.deviation * larger.sqrt(), ..mean }
    }
}
