//! Compares every subject under every traffic, in front of near and distant stores.

use super::GuardedError;
use super::clock::Stretch;
use super::filled::Filled;
use super::runs::{Runs, Spread};
use super::subject::Subject;
use super::traffic::Traffic;
use serde::Serialize;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;
use twiceshy_store::Kind;

/// The input of [`compare`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// Keys in the store.
    pub keys: NonZeroU64,
    /// The filters' false-positive rate.
    pub rate: f64,
    /// The time of each stretch of look-ups.
    pub time: Duration,
    /// Delays added to each answer of the store, one run each.
    pub delays: Vec<Duration>,
    /// Numbers of asking threads, one run each.
    pub threads: Vec<usize>,
    /// The random seed of the traffic in the first run. Each further run has the next seed, so other keys are popular.
    pub seed: u64,
    /// The kinds of traffic.
    pub traffic: Vec<Traffic>,
    /// What is compared. The plain filter is always measured.
    pub subjects: Vec<Subject>,
    /// How often each measurement is made. The runs of all threads and subjects under one traffic take turns.
    pub runs: NonZeroU64,
    /// The size of redb's cache in bytes, for each of the two stores.
    pub cache: usize,
}

/// A line of the comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Microseconds added to each answer of the store.
    pub delay_us: u64,
    /// The traffic.
    pub traffic: Traffic,
    /// The number of threads.
    pub threads: usize,
    /// What is in front of the store.
    pub subject: Subject,
    /// The number of look-ups, of all runs together.
    pub lookups: u64,
    /// Look-ups per second, of all threads together: the median of the runs.
    pub lookups_per_second: f64,
    /// The same, divided by the rate of the plain filter in the same run: the median of the runs.
    pub ratio_to_plain: f64,
    /// The look-ups per second of all runs.
    pub rate_spread: Spread,
    /// The ratio to the plain filter, of all runs.
    pub ratio_spread: Option<Spread>,
    /// The rate divided by the rate of one thread in the same run; `None` for one thread, and if that was not measured.
    pub ratio_to_one_thread: Option<Spread>,
    /// The median look-up.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.9th percentile.
    pub p999_ns: u64,
    /// The share of look-ups that reached the store.
    pub asked: f64,
    /// Index reads for learning, per look-up.
    pub index_reads: f64,
    /// Adaptations, of all runs together.
    pub adapted: u64,
    /// The subject's memory in bits, per stored key.
    pub local_bits_per_key: f64,
}

/// The whole comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Keys in the store.
    pub keys: u64,
    /// The filters' false-positive rate.
    pub rate: f64,
    /// The time of each stretch of look-ups.
    pub seconds: f64,
    /// The random seed of the traffic in the first run.
    pub seed: u64,
    /// The number of runs.
    pub runs: u64,
    /// The size of redb's cache in bytes.
    pub cache_bytes: u64,
    /// The median time of the store without delay to answer an absent key.
    pub store_ns: u64,
    /// All lines.
    pub rows: Vec<Row>,
}

/// Fills two stores in a folder and measures. Calls `progress` with the number of finished stretches and the total.
pub fn compare(
    settings: &Settings,
    folder: &Path,
    progress: &dyn Fn(usize, usize),
) -> Result<Comparison, GuardedError> {
    if settings.threads.contains(&0) {
        return Err(GuardedError::Settings("the number of threads must be at least 1, not 0"));
    }
    let plain = Filled::new(Kind::Quotient, settings, folder)?;
    let adaptive = Filled::new(Kind::Telescoping, settings, folder)?;
    let cache_bytes = adaptive.local_bits.saturating_sub(plain.local_bits) / 8;
    let store_ns = plain.answers_in()?;
    let subjects = settings.subjects();
    let (mut rows, mut ended) = (Vec::new(), 0);
    let each = settings.threads.len() * subjects.len() * settings.runs.get() as usize;
    let of = settings.delays.len() * settings.traffic.len() * each;
    for (delay, traffic) in settings.delays.iter().flat_map(|on| settings.traffic.iter().map(move |of| (*on, *of))) {
        // A look-up that takes at least half the store's own time has reached the store.
        let slow = (delay + Duration::from_nanos(store_ns)) / 2;
        let pairs = settings.threads.iter().flat_map(|on| subjects.iter().map(move |of| (*on, *of)));
        let mut all: Vec<Runs> = pairs.map(|(threads, subject)| Runs::new(threads, subject)).collect();
        for run in 0..settings.runs.get() {
            let mut turns: Vec<&mut Runs> = all.iter_mut().collect();
            if run % 2 == 1 {
                // Nobody is always the first, or always after the same one.
                turns.reverse();
            }
            for runs in turns {
                let filled = if runs.subject.kind() == plain.kind { &plain } else { &adaptive };
                let seed = settings.seed.wrapping_add(run);
                let stretch = Stretch { traffic, threads: runs.threads, time: settings.time, seed };
                runs.measured.push(filled.measure(runs.subject, delay, cache_bytes, &stretch, slow)?);
                ended += 1;
                progress(ended, of);
            }
        }
        for runs in &all {
            rows.push(runs.row(delay, traffic, settings.keys.get(), &all)?);
        }
    }
    let Settings { keys, rate, time, seed, runs, cache, .. } = settings;
    let (keys, runs, seconds, cache_bytes) = (keys.get(), runs.get(), time.as_secs_f64(), *cache as u64);
    Ok(Comparison { keys, rate: *rate, seconds, seed: *seed, runs, cache_bytes, store_ns, rows })
}

impl Settings {
    /// What is measured, each once.
    fn subjects(&self) -> Vec<Subject> {
        let wanted = |subject: &Subject| *subject == Subject::Plain || self.subjects.contains(subject);
        Subject::ALL.into_iter().filter(wanted).collect()
    }
}
