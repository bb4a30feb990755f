//! A store that is further away than it is.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// A store each of whose answers takes a while longer, as over a network.
#[derive(Debug)]
pub struct Delayed<S> {
    store: Arc<S>,
    delay: Duration,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    far: AtomicBool,
    gets: AtomicU64,
    scans: AtomicU64,
}

impl<S> Clone for Delayed<S> {
    /// The same store, near or far together with this one.
    fn clone(&self) -> Delayed<S> {
        Delayed { store: Arc::clone(&self.store), delay: self.delay, shared: Arc::clone(&self.shared) }
    }
}

/// What a sleep may take longer than it was asked to. The rest of a delay is waited for awake.
const OVERSLEPT: Duration = Duration::from_micros(200);

impl<S> Delayed<S> {
    /// Adds a delay to a store. Who shares it must not guard it twice at once.
    pub fn new(store: Arc<S>, delay: Duration) -> Delayed<S> {
        Delayed { store, delay, shared: Arc::new(Shared { far: true.into(), gets: 0.into(), scans: 0.into() }) }
    }

    /// Near, it answers at once; far, as it did in the beginning, after its delay.
    pub fn set_far(&self, far: bool) {
        self.shared.far.store(far, Ordering::Relaxed);
    }

    /// How often it was asked for a value: what a guard reads for itself is not counted.
    pub fn gets(&self) -> u64 {
        self.shared.gets.load(Ordering::Relaxed)
    }

    /// How often it was asked for a stretch of entries, as whoever learns does.
    pub fn scans(&self) -> u64 {
        self.shared.scans.load(Ordering::Relaxed)
    }

    fn wait(&self) {
        if self.delay.is_zero() || !self.shared.far.load(Ordering::Relaxed) {
            return;
        }
        let (begun, sleep) = (Instant::now(), self.delay.saturating_sub(OVERSLEPT));
        if !sleep.is_zero() {
            std::thread::sleep(sleep);
        }
        while begun.elapsed() < self.delay {
            std::hint::spin_loop();
        }
    }
}

impl<S: Store> Store for Delayed<S> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        if space == Space::Values {
            self.shared.gets.fetch_add(1, Ordering::Relaxed);
        }
        self.wait();
        self.store.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.shared.scans.fetch_add(1, Ordering::Relaxed);
        self.wait();
        self.store.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        self.wait();
        self.store.commit(changes, durability)
    }
}
