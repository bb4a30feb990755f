//! Compares every subject under every traffic, in front of near and distant stores.

use super::GuardedError;
use super::clock::Stretch;
use super::filled::Filled;
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
    /// The random seed of the traffic.
    pub seed: u64,
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
    /// The number of look-ups.
    pub lookups: u64,
    /// Look-ups per second, of all threads together.
    pub lookups_per_second: f64,
    /// The same, divided by the rate of the plain filter.
    pub ratio_to_plain: f64,
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
    /// Adaptations.
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
    /// The random seed of the traffic.
    pub seed: u64,
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
    let mut rows: Vec<Row> = Vec::new();
    let of = settings.delays.len() * Traffic::ALL.len() * settings.threads.len() * Subject::ALL.len();
    for delay in &settings.delays {
        // A look-up that takes at least half the store's own time has reached the store.
        let slow = (*delay + Duration::from_nanos(store_ns)) / 2;
        for (traffic, threads) in Traffic::ALL.iter().flat_map(|of| settings.threads.iter().map(move |on| (*of, *on))) {
            let stretch = Stretch { traffic, threads, time: settings.time, seed: settings.seed };
            let mut plain_rate = f64::NAN;
            for subject in Subject::ALL {
                let filled = if subject.kind() == plain.kind { &plain } else { &adaptive };
                let measured = filled.measure(subject, *delay, cache_bytes, &stretch, slow)?;
                if subject == Subject::Plain {
                    plain_rate = measured.lap.lookups_per_second;
                }
                rows.push(measured.row(*delay, &stretch, subject, settings.keys.get()));
                progress(rows.len(), of);
            }
            let own = rows.len() - Subject::ALL.len();
            rows[own..].iter_mut().for_each(|row| row.ratio_to_plain = row.lookups_per_second / plain_rate);
        }
    }
    let Settings { keys, rate, time, seed, .. } = settings;
    Ok(Comparison { keys: keys.get(), rate: *rate, seconds: time.as_secs_f64(), seed: *seed, store_ns, rows })
}
