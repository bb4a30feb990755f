//! Finds the narrowest cells with which a filter keeps the wanted rate on the sample.

use super::{Candidate, Settings};
use crate::replay::{self, Progress, ReplayError, Report};
use crate::workload::Workload;
use serde::Serialize;

/// The load of every filter in the sample.
pub(super) const LOAD: f64 = 0.95;

/// The cells of a sample, if the workload does not fix them.
const CELLS: u64 = 4_096;

/// The queries of a sample from an endless generator.
const QUERIES: u64 = 2_000_000;

/// The most widths that are measured in the search for the narrowest.
const MOST_RUNS: u32 = 8;

/// A candidate at the width it needs, and its results on the sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Fitted {
    /// The filter's name.
    pub filter: String,
    /// `true` if it learns from its mistakes.
    pub learns: bool,
    /// `true` if it keeps its rate against clients that attack it.
    pub adaptive: bool,
    /// The bits of a cell or remainder; `None` if no width keeps the wanted rate.
    pub width: Option<u32>,
    /// Bits per key at this width in a large table, by formula. If no width keeps the rate: of the last one measured.
    pub bits_per_key: f64,
    /// The false-positive rate of first-time queries, by formula. Request this rate from the library to get this width.
    pub static_rate: f64,
    /// The rate measured on the sample.
    pub rate: f64,
    /// False positives among the sample's queries.
    pub false_positives: u64,
    /// The sample's queries.
    pub queries: u64,
    /// Store reads per query, for learning and for finding out that a key is absent.
    pub remote_reads_per_query: f64,
    /// Look-ups of absent keys per second.
    pub lookups_per_second: f64,
}

/// Finds the width for a candidate.
///
/// The static rate decides if the filter does not learn: on average it has that rate whatever is asked, and whether it
/// is wrong about the most popular key is luck, no reason to choose a width. The static rate also decides if clients
/// are hostile, since no filter can promise more. Otherwise the rate on the sample decides, with a margin: see
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

/// `true` if the rate is kept with a margin: three more false positives would not exceed it. Seeing none is consistent
/// with an expected three.
fn keeps(false_positives: u64, queries: u64, rate: f64) -> bool {
    (false_positives + 3) as f64 <= rate * queries as f64
}

/// The narrowest width with a low enough static rate.
fn by_static_rate(candidate: Candidate, rate: f64) -> Option<u32> {
    let low_enough = |width: &u32| candidate.design(*width).static_rate(LOAD).is_ok_and(|own| own <= rate);
    candidate.widths().find(low_enough)
}

/// Guesses that one bit less doubles the rate. The guess is strictly between the known widths.
fn next_guess(width: u32, measured: f64, wanted: f64, too_narrow: u32, upper: u32) -> u32 {
    // No false positive seen: try two bits less.
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
    fn a_short_sample_without_a_mistake_does_not_prove_a_low_rate() {
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
