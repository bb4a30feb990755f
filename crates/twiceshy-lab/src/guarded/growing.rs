//! How long a look-up waits while the filter grows.

use super::GuardedError;
use super::clock::histogram;
use super::keys::{key, value};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::cell::Cell;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use twiceshy_store::{
    Change, CommitError, Durability, Guard, Kind, Options, RedbError, RedbStore, SNAPSHOT_FILE, STORE_FILE, Space,
    Store,
};

/// Times of look-ups, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Waits {
    /// The number of look-ups.
    pub lookups: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The 99.99th percentile.
    pub p9999_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

/// Look-ups while a filter grows, and while nothing happens.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// The filter.
    pub filter: String,
    /// Keys at the start; twice as many at the end.
    pub keys: u64,
    /// How often the filter has grown.
    pub grown: u64,
    /// The time of the insertions.
    pub seconds: f64,
    /// Insertions per second.
    pub inserts_per_second: f64,
    /// Without insertions: the machine's own delays.
    pub quiet: Waits,
    /// While keys are inserted and the filter grows: look-ups that the filter answered.
    pub growing: Waits,
    /// The other look-ups, which the store answered, with its own waits for the disk.
    pub growing_asked: Waits,
}

thread_local! {
    /// `true` if this thread has reached the store.
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// A store that records which threads ask it.
struct Noting(RedbStore);

impl Store for Noting {
    type Error = RedbError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, RedbError> {
        ASKED.set(true);
        self.0.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RedbError> {
        self.0.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<RedbError>> {
        self.0.commit(changes, durability)
    }
}

/// Fills a store in a folder, and doubles it while another thread looks up absent keys.
pub fn grow(kind: Kind, keys: u64, folder: &Path) -> Result<Growth, GuardedError> {
    let options = Options::new().filter(kind).expected_keys(keys).durability(Durability::Seen);
    let guard = options.snapshot(folder.join(SNAPSHOT_FILE)).open(Noting(RedbStore::open(folder.join(STORE_FILE))?))?;
    guard.insert_all((0..keys).map(|number| (key(number), value(number))))?;
    let before = guard.stats().grown;
    let begun = Instant::now();
    let ended = AtomicBool::new(false);
    let ([growing, asked], seconds) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| ask(&guard, keys, &|| ended.load(Ordering::Relaxed)));
        let inserted = guard.insert_all((keys..2 * keys).map(|number| (key(number), value(number))));
        let seconds = begun.elapsed().as_secs_f64();
        ended.store(true, Ordering::Relaxed);
        let times = asking.join().unwrap_or(Err(GuardedError::Panicked))?;
        inserted?;
        Ok::<_, GuardedError>((times, seconds))
    })?;
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let [quiet, _] = ask(&guard, keys, &|| Instant::now() > until)?;
    let grown = guard.stats().grown - before;
    if grown == 0 {
        return Err(GuardedError::Settings("the filter need not grow for so few keys: use more keys"));
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
        growing_asked: waits(&asked),
    })
}

/// Looks up absent keys until `ended`. Returns the times of those that the filter answered, and of the others.
fn ask(guard: &Guard<Noting>, keys: u64, ended: &dyn Fn() -> bool) -> Result<[Histogram<u64>; 2], GuardedError> {
    let (mut times, mut number) = ([histogram()?, histogram()?], 3 * keys);
    while !ended() {
        let absent = key(number);
        number += 1;
        ASKED.set(false);
        let begun = Instant::now();
        let found = guard.contains(&absent)?;
        let took = begun.elapsed().as_nanos() as u64;
        times[usize::from(ASKED.get())].record(took).map_err(|_| GuardedError::Wrong)?;
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
