//! A filled store, and the measurements on it.

use super::GuardedError;
use super::absent_cache::AbsentCache;
use super::clock::{Ask, Lap, Stretch};
use super::comparing::Settings;
use super::delayed::Delayed;
use super::keys::{key, value};
use super::subject::Subject;
use super::traffic::{Known, Traffic, gather};
use std::num::NonZeroU64;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use twiceshy_store::{Durability, Kind, Options, RedbError, RedbOptions, RedbStore, Space, Store};

/// Stored keys per slow key that the replaying attacker has found.
const KEYS_PER_SLOW: u64 = 20;

/// A filled store, and the snapshot of its filter before it learned anything.
pub(crate) struct Filled {
    pub(crate) kind: Kind,
    store: Arc<RedbStore>,
    pristine: PathBuf,
    keys: NonZeroU64,
    pub(crate) local_bits: u64,
}

/// The result of one stretch.
pub(crate) struct Measured {
    pub(crate) lap: Lap,
    /// Look-ups that reached the store.
    pub(crate) asked: u64,
    pub(crate) index_reads: u64,
    pub(crate) adapted: u64,
    pub(crate) local_bits: u64,
}

impl Filled {
    pub(crate) fn new(kind: Kind, settings: &Settings, folder: &Path) -> Result<Filled, GuardedError> {
        let cache = RedbOptions::new().cache(settings.cache);
        let store = Arc::new(RedbStore::open_with(folder.join(format!("{kind}.redb")), &cache)?);
        let pristine = folder.join(format!("{kind}.pristine"));
        let options = Options::new().filter(kind).false_positive_rate(settings.rate);
        let options = options.expected_keys(settings.keys.get()).durability(Durability::Seen).snapshot(&pristine);
        let guard = options.open(Delayed::new(Arc::clone(&store), Duration::ZERO))?;
        guard.insert_all((0..settings.keys.get()).map(|number| (key(number), value(number))))?;
        let local_bits = guard.stats().local_bits;
        guard.close()?;
        // Warm up: read all that look-ups and learning read.
        for space in [Space::Index, Space::Values] {
            store.scan(space, Bound::Unbounded, &mut |_, _| true)?;
        }
        Ok(Filled { kind, store, pristine, keys: settings.keys, local_bits })
    }

    /// The median time of the store to answer an absent key.
    pub(crate) fn answers_in(&self) -> Result<u64, GuardedError> {
        let mut times = Vec::new();
        for number in 0..10_001 {
            let absent = key(u64::MAX - number);
            let begun = Instant::now();
            self.store.get(Space::Values, &absent)?;
            times.push(begun.elapsed().as_nanos() as u64);
        }
        times.sort_unstable();
        Ok(times[times.len() / 2])
    }

    /// Measures a subject that has learned nothing yet.
    pub(crate) fn measure(
        &self,
        subject: Subject,
        delay: Duration,
        cache_bytes: u64,
        stretch: &Stretch,
        slow: Duration,
    ) -> Result<Measured, GuardedError> {
        let far = Delayed::new(Arc::clone(&self.store), delay);
        let run = |ask: &Ask<'_>| {
            let were_slow = match stretch.traffic {
                Traffic::Replay => self.were_slow(&far, stretch.seed, ask)?,
                _ => Arc::new([]),
            };
            let (gets, scans) = (far.gets(), far.scans());
            let lap = stretch.measure(ask, &Known { stored: self.keys, slow, were_slow })?;
            let (asked, index_reads) = (far.gets() - gets, far.scans() - scans);
            Ok(Measured { lap, asked, index_reads, adapted: 0, local_bits: 0 })
        };
        match subject {
            Subject::Bare => run(&|key| Ok(far.get(Space::Values, key)?.is_some())),
            Subject::PlainAndCache => {
                let measured = self.guarded(subject, AbsentCache::new(far.clone(), cache_bytes), &run)?;
                Ok(Measured { local_bits: measured.local_bits + cache_bytes * 8, ..measured })
            }
            _ => self.guarded(subject, far.clone(), &run),
        }
    }

    fn guarded<S: Store<Error = RedbError>>(
        &self,
        subject: Subject,
        store: S,
        run: &dyn Fn(&Ask<'_>) -> Result<Measured, GuardedError>,
    ) -> Result<Measured, GuardedError> {
        let snapshot = self.pristine.with_extension("snapshot");
        std::fs::copy(&self.pristine, &snapshot)?;
        let guard = Options::new().adapt(subject.adapt()).snapshot(snapshot).open(store)?;
        let measured = run(&|key| Ok(guard.get(key)?.is_some()))?;
        let stats = guard.stats();
        if stats.rebuilt > 0 || stats.keys != self.keys.get() {
            return Err(GuardedError::Wrong);
        }
        guard.close()?;
        Ok(Measured { adapted: stats.adapted, local_bits: stats.local_bits, ..measured })
    }

    /// Lets the attacker look for slow keys. To save time, the delay is off meanwhile and the attacker is told which
    /// look-ups reached the store.
    fn were_slow(&self, far: &Delayed<RedbStore>, seed: u64, ask: &Ask<'_>) -> Result<Arc<[u64]>, GuardedError> {
        far.set_far(false);
        let mut before = far.gets();
        let slow = gather((self.keys.get() / KEYS_PER_SLOW) as usize, seed, |number| {
            ask(&key(number))?;
            let now = far.gets();
            Ok(std::mem::replace(&mut before, now) != now)
        });
        far.set_far(true);
        slow
    }
}
