//! Recommends a filter for a workload: builds each candidate as `twiceshy create` would, measures it on a sample of the
//! workload, and weighs what it costs.
//!
//! The rate that counts is the workload's, repeated queries included. So an adaptive filter may need fewer bits than
//! its static rate suggests; how many fewer, and how many more store reads its learning takes, is measured here.
//!
//! Sizes come from the code that makes a store ([`Options::planned`](twiceshy_store::Options::planned)), rates and reads
//! from a guard over a store in memory, and sizes on disk from a guard over a redb file.

mod candidate;
mod cost;
mod counted;
mod disk;
mod fitting;
mod sample;
mod scale;
mod spread;
mod trial;
mod verdict;
mod words;

pub use candidate::Candidate;
pub use cost::{Costs, Weights};
pub use counted::{Counted, StoreCounts};
pub use fitting::{Fitted, Keeps};
pub use sample::DEFAULT_RATIO;
pub use verdict::{Advice, Reason};

use crate::workload::Workload;
use crate::workload::trace_error::TraceError;
use fitting::Bench;
use sample::Sample;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use twiceshy::error::OptionsError;
use twiceshy_store::{Error, MemoryError, RedbError};

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
    /// The bytes of a stored key. Defaults to the mean of the keys that are asked for.
    pub key_bytes: Option<usize>,
    /// The bytes of a stored value.
    pub value_bytes: usize,
    /// What counts how much.
    pub weights: Weights,
    /// `true` if clients may attack the filter.
    pub hostile: bool,
    /// The random seed.
    pub seed: u64,
    /// How many candidates to measure in parallel.
    pub jobs: usize,
    /// An empty folder in which stores are made to be measured.
    pub folder: PathBuf,
}

/// Why no advice can be given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdviseError {
    /// An invalid setting.
    #[error("{0}")]
    Setting(String),
    /// A filter cannot be built like this.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The trace cannot be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The folder cannot be used.
    #[error("a store could not be made to measure its size: {0}")]
    Io(#[from] std::io::Error),
    /// A store on disk failed.
    #[error("a store could not be made to measure its size: {0}")]
    Disk(#[from] Error<RedbError>),
    /// A store in memory failed: a bug.
    #[error("a store in memory failed, which is a bug: {0}")]
    Memory(#[from] Error<MemoryError>),
    /// Something that cannot be.
    #[error("the sample went wrong, which is a bug: {0}")]
    Bug(String),
}

/// Measures the candidates and recommends one. Calls `progress` with the number of measurements done and the total.
pub fn advise(settings: &Settings, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Advice, AdviseError> {
    check(settings)?;
    let candidates = Candidate::all();
    let sample = Sample::of(settings)?;
    let key_bytes = settings.key_bytes.unwrap_or(sample.key_bytes.round() as usize).max(1);
    let measured: Vec<Candidate> =
        candidates.iter().copied().filter(|own| disk::stand_in(own.kind()) == own.kind()).collect();
    let (done, of) = (AtomicUsize::new(0), measured.len() + candidates.len());
    let tell = || progress(done.fetch_add(1, Relaxed) + 1, of);
    let sizes = in_parallel(settings.jobs, &measured, |candidate| {
        let Ok(planned) = candidate.options(settings.keys, settings.rate).planned() else { return Ok((*candidate, 0)) };
        let bytes =
            disk::bytes(*candidate, &planned, settings.keys, key_bytes, settings.value_bytes, &settings.folder)?;
        tell();
        Ok((*candidate, bytes))
    })?;
    let bench = Bench { settings, sample: &sample, plain_rate: plain_rate(settings, &candidates) };
    let fitted = in_parallel(settings.jobs, &candidates, |candidate| {
        let size = sizes.iter().find(|(own, _)| own.kind() == disk::stand_in(candidate.kind()));
        let fitted = bench.fit(*candidate, size.map_or(0, |(_, bytes)| *bytes));
        tell();
        fitted
    })?;
    Ok(verdict::weigh(settings, &sample, key_bytes, fitted.into_iter().flatten().collect()))
}

/// The lowest rate of the filters that do not learn, built for the wanted rate.
fn plain_rate(settings: &Settings, candidates: &[Candidate]) -> f64 {
    let plain = candidates.iter().filter(|candidate| !candidate.learns());
    let rate = |candidate: &Candidate| {
        let planned = candidate.options(settings.keys, settings.rate).planned().ok()?;
        Some(candidate.static_rate(&planned, settings.keys))
    };
    plain.filter_map(rate).fold(f64::INFINITY, f64::min)
}

/// Does the work for every item, on a few threads. The results are in the order of the items.
fn in_parallel<T: Sync, R: Send>(
    jobs: usize,
    items: &[T],
    work: impl Fn(&T) -> Result<R, AdviseError> + Sync,
) -> Result<Vec<R>, AdviseError> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|threads| {
        for _ in 0..jobs.clamp(1, items.len().max(1)) {
            threads.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(number) else { break };
                    let result = work(item);
                    if let Ok(mut results) = results.lock() {
                        results.push((number, result));
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

fn check(settings: &Settings) -> Result<(), AdviseError> {
    let refuse = |why: String| Err(AdviseError::Setting(why));
    if settings.keys == 0 {
        return refuse("the number of keys must be at least 1, not 0".into());
    }
    if !(settings.rate > 0.0 && settings.rate < 1.0) {
        return refuse(format!("the rate must be between 0 and 1, such as 0.01, not {}", settings.rate));
    }
    if settings.ratio.is_some_and(|ratio| !(ratio > 0.0 && ratio.is_finite())) {
        return refuse("A/S must be a number above 0, such as 10".into());
    }
    if settings.per_key == Some(0) {
        return refuse("the number of queries per key must be at least 1, not 0".into());
    }
    if settings.key_bytes.is_some_and(|bytes| bytes > LONGEST) || settings.value_bytes > LONGEST {
        return refuse(format!("keys and values of up to {LONGEST} bytes can be measured"));
    }
    settings.weights.wrong().map_or(Ok(()), refuse)
}

/// The longest keys and values of a store that is made to be measured.
const LONGEST: usize = 65_536;
