//! The narrowest cells with which a filter keeps the wanted rate on the sample.

use super::{Candidate, Settings};
use crate::replay::{self, Progress, ReplayError, Report};
use crate::workload::Workload;
use serde::Serialize;

/// The load of every filter in the sample.
pub(super) const LOAD: f64 = 0.95;

/// The cells of a sample whose workload leaves them open.
const CELLS: u64 = 4_096;

/// The queries of a sample of a generator that could go on.
const QUERIES: u64 = 2_000_000;

/// How often a width is measured at most until the narrowest is found.
const MOST_RUNS: u32 = 8;

/// A candidate in the width that it needs, and what it did on the sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fitted {
    /// The filter's name.
    pub filter: String,
    /// Whether it learns from its mistakes.
    pub learns: bool,
    /// Whether it keeps its rate against clients who choose their queries to do harm.
    pub adaptive: bool,
    /// The bits of a cell or remainder; `None` where no width keeps the wanted rate.
    pub width: Option<u32>,
    /// The bits a key at this width in a large table, by formula; of the last one measured where none keeps the rate.
    pub bits_per_key: f64,
    /// The rate of keys never asked before, by formula: what to ask the library for to get this width.
    pub static_rate: f64,
    /// The rate measured on the sample.
    pub rate: f64,
    /// False positives among the sample's queries.
    pub false_positives: u64,
    /// The sample's queries.
    pub queries: u64,
    /// Reads of the store for learning and for finding out that a key is absent, for each query.
    pub remote_reads_per_query: f64,
    /// Look-ups of absent keys a second.
    pub lookups_per_second: f64,
}

/// Finds the width of a candidate.
///
/// A filter that does not learn has its static rate on average, whatever is asked; whether it is wrong about the one key that
/// is asked for most is luck, and no reason to choose a width. Against clients who choose their queries the static rate is all
/// that any filter can promise. In both cases the static rate decides. Else it is the rate on the sample, for sure: see
/// [`keeps`].
pub(super) fn fit(
    candidate: Candidate,
    settings: &Settings,
    ratio: f64,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Fitted, ReplayError> {
    let by_formula = by_static_rate(candidate, settings.rate);
    let mut width = by_formula.unwrap_or(*candidate.widths().end());
    let report = measure(candidate, width, settings, ratio, progress)?;
    if settings.hostile || !candidate.learns() {
        return Ok(fitted(candidate, width, by_formula.is_some(), &report));
    }
    let fits = |report: &Report| keeps(report.false_positives, report.queries, settings.rate);
    let (mut too_narrow, mut enough) = (candidate.widths().start() - 1, None);
    let mut last = (width, report);
    for _ in 1..MOST_RUNS {
        let (measured, report) = &last;
        if fits(report) {
            enough = Some(last.clone());
        } else {
            too_narrow = too_narrow.max(*measured);
        }
        let upper = enough.as_ref().map_or(candidate.widths().end() + 1, |(width, _)| *width);
        if upper - too_narrow <= 1 {
            break;
        }
        width = next_guess(*measured, report.fpr, settings.rate, too_narrow, upper);
        last = (width, measure(candidate, width, settings, ratio, progress)?);
    }
    if fits(&last.1) && enough.as_ref().is_none_or(|(width, _)| last.0 < *width) {
        enough = Some(last.clone());
    }
    let fits = enough.is_some();
    let (width, report) = enough.unwrap_or(last);
    Ok(fitted(candidate, width, fits, &report))
}

/// Whether a rate is kept for sure: also if three more of the queries had been false positives, which is what none may hide.
fn keeps(false_positives: u64, queries: u64, rate: f64) -> bool {
    (false_positives + 3) as f64 <= rate * queries as f64
}

/// The narrowest width whose static rate is low enough.
fn by_static_rate(candidate: Candidate, rate: f64) -> Option<u32> {
    let low_enough = |width: &u32| candidate.design(*width).static_rate(LOAD).is_ok_and(|own| own <= rate);
    candidate.widths().find(low_enough)
}

/// A bit less halves most rates; strictly between the widths that are known.
fn next_guess(width: u32, measured: f64, wanted: f64, too_narrow: u32, upper: u32) -> u32 {
    // Nothing seen at all: two bits less, and see.
    let steps = if measured > 0.0 { (wanted / measured).log2() } else { 2.0 };
    let steps = if steps >= 0.0 { steps.floor().max(1.0) } else { steps.floor() };
    let guess = f64::from(width) - steps.clamp(-16.0, 16.0);
    (guess as u32).clamp(too_narrow + 1, upper - 1)
}

fn measure(
    candidate: Candidate,
    width: u32,
    settings: &Settings,
    ratio: f64,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report, ReplayError> {
    let generated = matches!(settings.workload, Workload::Generated(_));
    let settings = replay::Settings {
        filter: candidate.spec(width),
        cells: generated.then_some(CELLS),
        load: LOAD,
        ratio,
        per_key: settings.per_key.filter(|_| generated),
        queries: matches!(settings.workload, Workload::Firehose(_)).then_some(QUERIES),
        trials: 1,
        seed: settings.seed,
        workload: settings.workload.clone(),
        timed: true,
        jobs: 1,
    };
    replay::run(&settings, progress)
}

fn fitted(candidate: Candidate, width: u32, fits: bool, report: &Report) -> Fitted {
    let design = candidate.design(width);
    let reads = if candidate.learns() { report.adapting.remote_reads } else { report.false_positives };
    Fitted {
        filter: candidate.kind().to_string(),
        learns: candidate.learns(),
        adaptive: candidate.is_adaptive(),
        width: fits.then_some(width),
        bits_per_key: design.bits_per_key(LOAD).unwrap_or(report.bits_per_key),
        static_rate: design.static_rate(LOAD).unwrap_or(report.first_time_fpr),
        rate: report.fpr,
        false_positives: report.false_positives,
        queries: report.queries,
        remote_reads_per_query: reads as f64 / report.queries.max(1) as f64,
        lookups_per_second: report.lookups_per_second,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_stay_between_the_widths_that_are_known() {
        assert_eq!(next_guess(8, 0.04, 0.01, 8, 33), 10, "two bits more");
        assert_eq!(next_guess(8, 0.001, 0.01, 1, 8), 5, "three bits less");
        assert_eq!(next_guess(8, 0.0, 0.01, 1, 8), 6);
        assert_eq!(next_guess(8, 0.0099, 0.01, 1, 8), 7);
        assert_eq!(next_guess(8, 0.5, 1e-9, 8, 10), 9);
    }

    #[test]
    fn a_sample_without_a_mistake_proves_no_rate_that_it_is_too_short_for() {
        assert!(keeps(0, 3_000, 0.001) && !keeps(0, 2_999, 0.001));
        assert!(keeps(97, 10_000, 0.01) && !keeps(98, 10_000, 0.01));
    }

    #[test]
    fn every_candidate_has_a_width_for_a_usual_rate() {
        for candidate in Candidate::all() {
            let width = by_static_rate(candidate, 0.01);
            assert!(width.is_some_and(|width| (7..=11).contains(&width)), "{candidate:?}: {width:?}");
            assert_eq!(by_static_rate(candidate, 1e-12), None, "{candidate:?}");
        }
    }
}
