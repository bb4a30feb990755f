//! A counter for many threads that do not share cache lines.

use std::sync::atomic::Ordering;
use twiceshy::striped::{Stripe, own};

/// The number of stripes. With more threads, some share a stripe.
const STRIPES: usize = 8;

/// A counter that every look-up adds to. Each thread has its own stripe, in its own cache line.
#[derive(Debug, Default)]
pub(crate) struct StripedCounter([Stripe; STRIPES]);

impl StripedCounter {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        own(&self.0).fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
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
