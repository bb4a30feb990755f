//! Numbers that every look-up changes, for many threads that do not share cache lines.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// A number in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Stripe(pub AtomicU64);

static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: usize = THREADS.fetch_add(1, Ordering::Relaxed);
}

/// The stripe of this thread. With more threads than stripes, some share one.
#[inline]
pub fn own<const STRIPES: usize>(stripes: &[Stripe; STRIPES]) -> &AtomicU64 {
    // A thread that is ending has lost its number.
    &stripes[OWN.try_with(|own| *own).unwrap_or(0) % STRIPES].0
}
