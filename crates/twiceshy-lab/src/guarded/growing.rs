//! How long a look-up waits while the filter grows.

use super::GuardedError;
use super::clock::histogram;
use super::keys::{key, value};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use twiceshy_store::{Durability, FilterKind, Guard, Options, RedbStore};

/// Times of look-ups, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Waits {
    /// How many.
    pub lookups: u64,
    /// The median.
    pub p50_ns: u64,
    /// One in a hundred takes longer.
    pub p99_ns: u64,
    /// One in ten thousand takes longer.
    pub p9999_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

/// Look-ups while a filter grows, and while nothing happens.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// The filter.
    pub filter: String,
    /// Keys in the beginning; twice as many in the end.
    pub keys: u64,
    /// How often the filter has grown.
    pub grown: u64,
    /// What the insertions took.
    pub seconds: f64,
    /// Insertions a second.
    pub inserts_per_second: f64,
    /// With nobody inserting: what the machine itself does to a look-up.
    pub quiet: Waits,
    /// While keys are inserted and the filter grows.
    pub growing: Waits,
}

/// Fills a store in a folder, and doubles it while somebody looks up absent keys.
pub fn grow(kind: FilterKind, keys: u64, folder: &Path) -> Result<Growth, GuardedError> {
    let options = Options::new().filter(kind).expected_keys(keys).durability(Durability::Seen);
    let guard = options.open_folder(folder)?;
    guard.insert_all((0..keys).map(|number| (key(number), value(number))))?;
    let before = guard.stats()?.grown;
    let begun = Instant::now();
    let ended = AtomicBool::new(false);
    let (growing, seconds) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&guard, keys, &|| ended.load(Ordering::Relaxed)));
        let inserted = guard.insert_all((keys..2 * keys).map(|number| (key(number), value(number))));
        let seconds = begun.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        let times = asking.join().unwrap_or(Err(GuardedError::Panicked))?;
        inserted?;
        Ok::<_, GuardedError>((times, seconds))
    })?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let quiet = ask(&guard, keys, &|| Instant::now() > until)?;
    let grown = guard.stats()?.grown - before;
    if grown == 0 {
        return Err(GuardedError::Settings("so few keys fit without growth: take more"));
    }
    guard.close()?;
    let inserts_per_second = keys as f64 / seconds;
    Ok(Growth {
        filter: kind.to_string(),
        keys,
        grown,
        seconds,
        inserts_per_second,
        quiet: waits(&quiet),
        growing: waits(&growing),
    })
}

/// Looks up absent keys until it is to end.
fn ask(guard: &Guard<RedbStore>, keys: u64, ended: &dyn Fn() -> bool) -> Result<Histogram<u64>, GuardedError> {
    let (mut times, mut number) = (histogram()?, 3 * keys);
    while !ended() {
        let absent = key(number);
        number += 1;
        let begun = Instant::now();
        let found = guard.contains(&absent)?;
        times.record(begun.elapsed().as_nanos() as u64).map_err(|_| GuardedError::Wrong)?;
        if found {
            return Err(GuardedError::Wrong);
        }
    }
    Ok(times)
}

fn waits(times: &Histogram<u64>) -> Waits {
    Waits {
        lookups: times.len(),
        p50_ns: times.value_at_quantile(0.5),
        p99_ns: times.value_at_quantile(0.99),
        p9999_ns: times.value_at_quantile(0.9999),
        longest_ns: times.max(),
    }
}
