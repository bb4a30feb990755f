//! A counter for many threads that do not share cache lines.

use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The number of stripes. With more threads, some share a stripe.
const STRIPES: usize = 8;

/// A counter that every look-up adds to. Each thread has its own stripe, in its own cache line.
#[derive(Debug, Default)]
pub(crate) struct StripedCounter([CachePadded<AtomicU64>; STRIPES]);

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: usize = THREADS.fetch_add(1, Ordering::Relaxed) % STRIPES;
}

impl StripedCounter {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        // A thread that is ending has lost its stripe number.
        let own = OWN.try_with(|own| *own).unwrap_or(0);
        self.0[own].fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.load(Ordering::Relaxed)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_count_of_any_thread_is_lost() {
        let counter = StripedCounter::default();
        std::thread::scope(|scope| {
            for _ in 0..20 {
                scope.spawn(|| (0..1_000).for_each(|_| counter.add(2)));
            }
        });
        assert_eq!(counter.get(), 40_000);
    }
}
