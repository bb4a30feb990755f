//! A store with a delay.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// A store whose answers are delayed, as over a network.
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
    /// Another handle to the same store; near and far are switched together.
    fn clone(&self) -> Delayed<S> {
        Delayed { store: Arc::clone(&self.store), delay: self.delay, shared: Arc::clone(&self.shared) }
    }
}

/// How much longer than requested a sleep may take. The rest of a delay is spent spinning.
const MAX_OVERSLEEP: Duration = Duration::from_micros(200);

impl<S> Delayed<S> {
    /// Adds a delay to a store. Do not guard a shared store twice at the same time.
    pub fn new(store: Arc<S>, delay: Duration) -> Delayed<S> {
        Delayed { store, delay, shared: Arc::new(Shared { far: true.into(), gets: 0.into(), scans: 0.into() }) }
    }

    /// Switches the delay on (`true`, the initial state) or off.
    pub fn set_far(&self, far: bool) {
        self.shared.far.store(far, Ordering::Relaxed);
    }

    /// The number of reads of a value. The guard's own reads are not counted.
    pub fn gets(&self) -> u64 {
        self.shared.gets.load(Ordering::Relaxed)
    }

    /// The number of range scans, as made for learning.
    pub fn scans(&self) -> u64 {
        self.shared.scans.load(Ordering::Relaxed)
    }

    fn wait(&self) {
        if self.delay.is_zero() || !self.shared.far.load(Ordering::Relaxed) {
            return;
        }
        let (begun, sleep) = (Instant::now(), self.delay.saturating_sub(MAX_OVERSLEEP));
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
