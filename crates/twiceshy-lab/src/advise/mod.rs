//! Which filter to choose for a workload: the candidates are measured on a sample of it, and the smallest that keeps the
//! wanted rate is recommended.
//!
//! The rate that counts is that of the workload, repeated queries included. So a filter that learns may do with fewer bits
//! than its static rate suggests, and how many fewer is what is found out here.

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

/// What to advise on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The keys that will be stored.
    pub keys: u64,
    /// The rate of false positives that the traffic may see.
    pub rate: f64,
    /// The traffic.
    pub workload: Workload,
    /// A/S, the distinct absent keys over the stored ones. A trace has its own: its distinct keys over the stored ones.
    pub ratio: Option<f64>,
    /// Queries for each absent key, where the workload leaves them open.
    pub per_key: Option<u64>,
    /// Whether clients may choose their queries to do harm.
    pub hostile: bool,
    /// Where all randomness comes from.
    pub seed: u64,
    /// How many candidates are measured at once.
    pub jobs: usize,
}

/// A/S where nobody knows it.
pub const DEFAULT_RATIO: f64 = 10.0;

/// Measures the candidates and recommends one. `progress` is told how many candidates are done, and of how many.
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
        return refuse("0 keys need no filter: ask for at least 1".into());
    }
    if !(settings.rate > 0.0 && settings.rate < 1.0) {
        return refuse(format!("a rate of {} is impossible: above 0 and below 1, such as 0.01", settings.rate));
    }
    if settings.ratio.is_some_and(|ratio| !(ratio > 0.0 && ratio.is_finite())) {
        return refuse("A/S must be a number above 0, such as 10".into());
    }
    Ok(())
}

/// The most keys that are stored in a sample: beyond, A/S is larger in the sample than it will be, which is not in favour of
/// filters that learn.
const MOST_STORED: f64 = 500_000.0;

/// A/S as it was given, or as a trace has it: all its keys are absent ones.
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
