//! The comparison: every subject under every traffic before stores near and far, in one run.

use super::GuardedError;
use super::clock::Stretch;
use super::filled::Filled;
use super::subject::Subject;
use super::traffic::Traffic;
use serde::Serialize;
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;
use twiceshy_store::FilterKind;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Keys in the store.
    pub keys: NonZeroU64,
    /// The filters' false-positive rate.
    pub rate: f64,
    /// What each stretch of look-ups takes.
    pub time: Duration,
    /// What is added to each answer of the store, in one run after the other.
    pub delays: Vec<Duration>,
    /// How many threads ask, in one run after the other.
    pub threads: Vec<usize>,
    /// Where the traffic comes from.
    pub seed: u64,
}

/// A line of the comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Microseconds added to each answer of the store.
    pub delay_us: u64,
    /// Who asks.
    pub traffic: Traffic,
    /// On how many threads.
    pub threads: usize,
    /// What stands before the store.
    pub subject: Subject,
    /// Look-ups in the time.
    pub lookups: u64,
    /// Look-ups a second, of all threads together.
    pub lookups_per_second: f64,
    /// The same over that of the plain filter.
    pub ratio_to_plain: f64,
    /// The median look-up.
    pub p50_ns: u64,
    /// One in a hundred takes longer.
    pub p99_ns: u64,
    /// One in a thousand takes longer.
    pub p999_ns: u64,
    /// The share of the look-ups that the store was asked for.
    pub asked: f64,
    /// Reads of the index for what was learned, for each look-up.
    pub index_reads: f64,
    /// Adaptations.
    pub adapted: u64,
    /// What the subject keeps in memory, for each stored key.
    pub local_bits_per_key: f64,
}

/// The whole comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Keys in the store.
    pub keys: u64,
    /// The filters' false-positive rate.
    pub rate: f64,
    /// What each stretch of look-ups took.
    pub seconds: f64,
    /// Where the traffic came from.
    pub seed: u64,
    /// What the store without delay answers an absent key in, in the middle.
    pub store_ns: u64,
    /// All lines.
    pub rows: Vec<Row>,
}

/// Fills two stores in a folder and measures. `progress` hears how many of how many stretches have ended.
pub fn compare(
    settings: &Settings,
    folder: &Path,
    progress: &dyn Fn(usize, usize),
) -> Result<Comparison, GuardedError> {
    if settings.threads.contains(&0) {
        return Err(GuardedError::Settings("no thread asks for anything: take one at least"));
    }
    let plain = Filled::new(FilterKind::Quotient, settings, folder)?;
    let adaptive = Filled::new(FilterKind::Telescoping, settings, folder)?;
    let cache_bytes = adaptive.local_bits.saturating_sub(plain.local_bits) / 8;
    let store_ns = plain.answers_in()?;
    let mut rows: Vec<Row> = Vec::new();
    let of = settings.delays.len() * Traffic::ALL.len() * settings.threads.len() * Subject::ALL.len();
    for delay in &settings.delays {
        // What takes at least half as long as the store alone has been there.
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
