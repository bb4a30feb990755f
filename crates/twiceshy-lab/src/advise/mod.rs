//! Recommends a filter for a workload: measures the candidates on a sample of it and picks the smallest that keeps the
//! wanted rate.
//!
//! The rate that counts is the workload's, repeated queries included. So an adaptive filter may need fewer bits than
//! its static rate suggests; how many fewer is measured here.

mod candidate;
mod fitting;
mod verdict;

pub use candidate::Candidate;
pub use fitting::Fitted;
pub use verdict::{Advice, Reason};

use crate::replay::{Progress, ReplayError};
use crate::workload::Workload;
use crate::workload::recording::Recording;
use crate::workload::trace::Trace;

/// The input of [`advise`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The number of keys to store.
    pub keys: u64,
    /// The highest acceptable false-positive rate.
    pub rate: f64,
    /// The traffic.
    pub workload: Workload,
    /// A/S, the distinct absent keys over the stored ones. Defaults to a trace's distinct keys over the stored keys.
    pub ratio: Option<f64>,
    /// Queries per absent key, for workloads that do not fix it.
    pub per_key: Option<u64>,
    /// `true` if clients may attack the filter.
    pub hostile: bool,
    /// The random seed.
    pub seed: u64,
    /// How many candidates to measure in parallel.
    pub jobs: usize,
}

/// A/S if it is not given.
pub const DEFAULT_RATIO: f64 = 10.0;

/// Measures the candidates and recommends one. Calls `progress` with the number of candidates done and the total.
pub fn advise(settings: &Settings, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Advice, ReplayError> {
    check(settings)?;
    let ratio = ratio(settings)?;
    let candidates = Candidate::all();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let done = std::sync::atomic::AtomicUsize::new(0);
    let fitted = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|threads| {
        for _ in 0..settings.jobs.clamp(1, candidates.len()) {
            threads.spawn(|| {
                use std::sync::atomic::Ordering::Relaxed;
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(candidate) = candidates.get(number) else { break };
                    let outcome = fitting::fit(*candidate, settings, ratio, &|_: Progress| ());
                    if let Ok(mut fitted) = fitted.lock() {
                        fitted.push((number, outcome));
                    }
                    progress(done.fetch_add(1, Relaxed) + 1, candidates.len());
                }
            });
        }
    });
    let mut fitted = fitted.into_inner().unwrap_or_default();
    fitted.sort_by_key(|(number, _)| *number);
    let fitted = fitted.into_iter().map(|(_, outcome)| outcome).collect::<Result<Vec<_>, _>>()?;
    Ok(verdict::weigh(settings, ratio, fitted))
}

fn check(settings: &Settings) -> Result<(), ReplayError> {
    let refuse = |why: String| Err(ReplayError::Setting(why));
    if settings.keys == 0 {
        return refuse("the number of keys must be at least 1, not 0".into());
    }
    if !(settings.rate > 0.0 && settings.rate < 1.0) {
        return refuse(format!("the rate must be between 0 and 1, such as 0.01, not {}", settings.rate));
    }
    if settings.ratio.is_some_and(|ratio| !(ratio > 0.0 && ratio.is_finite())) {
        return refuse("A/S must be a number above 0, such as 10".into());
    }
    Ok(())
}

/// The most keys stored in a sample. If more will be stored, A/S is larger in the sample than in reality, which is a
/// disadvantage for filters that learn.
const MOST_STORED: f64 = 500_000.0;

/// A/S as given, or computed from the trace, whose keys are all absent.
fn ratio(settings: &Settings) -> Result<f64, ReplayError> {
    match (&settings.workload, settings.ratio) {
        (_, Some(ratio)) => Ok(ratio),
        (Workload::Misses(path), None) => {
            let trace = Trace::misses(Recording::File(path.clone()))?;
            Ok(trace.distinct_absent() as f64 / (settings.keys as f64).min(MOST_STORED))
        }
        (_, None) => Ok(DEFAULT_RATIO),
    }
}
