//! Who waits for the writer's lock.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Lets the learner stand back for the threads that wait for the writer's lock: the standard lock may go to its last holder
/// again and again.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: AtomicUsize,
    /// How often a thread has got the lock.
    taken: AtomicU64,
}

/// How long the learner sleeps between two looks, and how often it looks.
const NAP: Duration = Duration::from_micros(50);
const NAPS: u32 = 200;

/// A thread that waits for the lock. Dropped when it has the lock.
pub(crate) struct Waits<'a>(&'a Turns);

impl Turns {
    pub(crate) fn wait(&self) -> Waits<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waits(self)
    }

    /// Waits until one of the threads that wait has got the lock. The caller must not hold it.
    pub(crate) fn stand_back(&self) {
        let taken = self.taken.load(Ordering::Relaxed);
        for _ in 0..NAPS {
            if self.waiting.load(Ordering::Relaxed) == 0 || self.taken.load(Ordering::Relaxed) != taken {
                return;
            }
            std::thread::sleep(NAP);
        }
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_add(1, Ordering::Relaxed);
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn the_learner_stands_back_until_a_thread_that_waits_has_its_turn() {
        let turns = Turns::default();
        let began = Instant::now();
        turns.stand_back();
        assert!(began.elapsed() < NAP * NAPS, "nobody waits");
        let waits = turns.wait();
        std::thread::scope(|threads| {
            let learner = threads.spawn(|| turns.stand_back());
            std::thread::sleep(NAP * 10);
            assert!(!learner.is_finished(), "a thread waits");
            drop(waits);
            learner.join().expect("it ends");
        });
        let _for_ever = turns.wait();
        turns.stand_back();
    }
}
