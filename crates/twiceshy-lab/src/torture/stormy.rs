//! A store with bad weather: it fails, loses answers, stalls and panics at random while a storm blows.

use crate::workload::rng::scramble;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// What happens to a call during a storm. A probability is in 256ths.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weather {
    pub(super) fails: u64,
    /// Of commits only.
    pub(super) loses: u64,
    pub(super) panics: u64,
    pub(super) stalls: u64,
    /// The longest stall.
    pub(super) longest: Duration,
}

/// Wraps a store.
#[derive(Debug)]
pub(super) struct Stormy<S> {
    inner: S,
    weather: Weather,
    blows: AtomicBool,
    /// The number of calls, which decides what happens to them together with the seed.
    calls: AtomicU64,
    seed: u64,
}

/// An error of a storm, or of the store inside.
#[derive(Debug, thiserror::Error)]
pub(super) enum StormError<E> {
    #[error("the store failed in a storm")]
    Storm,
    #[error(transparent)]
    Inner(E),
}

/// What a panic of a storm carries.
#[derive(Debug)]
pub(super) struct StormPanic;

/// What happens to a call.
enum Fate {
    Works,
    Fails,
    LosesBefore,
    LosesAfter,
}

impl<S: Store> Stormy<S> {
    pub(super) fn new(inner: S, weather: Weather, seed: u64) -> Stormy<S> {
        Stormy { inner, weather, blows: AtomicBool::new(false), calls: AtomicU64::new(0), seed }
    }

    /// Starts or ends a storm.
    pub(super) fn blow(&self, blows: bool) {
        self.blows.store(blows, Ordering::Relaxed);
    }

    fn call(&self) -> Fate {
        let drawn = scramble(self.seed ^ scramble(self.calls.fetch_add(1, Ordering::Relaxed)));
        if !self.blows.load(Ordering::Relaxed) {
            return Fate::Works;
        }
        let Weather { fails, loses, panics, stalls, longest } = self.weather;
        let (number, rest) = (drawn % 256, drawn >> 8);
        match number {
            number if number < fails => Fate::Fails,
            number if number < fails + loses && rest % 2 == 0 => Fate::LosesBefore,
            number if number < fails + loses => Fate::LosesAfter,
            // Without the message that a panic prints.
            number if number < fails + loses + panics => std::panic::resume_unwind(Box::new(StormPanic)),
            number if number < fails + loses + panics + stalls => {
                std::thread::sleep(longest * (rest % 256) as u32 / 256);
                Fate::Works
            }
            _ => Fate::Works,
        }
    }

    fn read(&self) -> Result<(), StormError<S::Error>> {
        match self.call() {
            Fate::Fails => Err(StormError::Storm),
            _ => Ok(()),
        }
    }
}

impl<S: Store> Store for Stormy<S> {
    type Error = StormError<S::Error>;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error> {
        self.read()?;
        self.inner.get(space, key).map_err(StormError::Inner)
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, Self::Error> {
        self.read()?;
        self.inner.contains(space, key).map_err(StormError::Inner)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Self::Error> {
        self.read()?;
        self.inner.scan(space, from, found).map_err(StormError::Inner)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<Self::Error>> {
        let fate = self.call();
        match fate {
            Fate::Fails => return Err(CommitError::Failed(StormError::Storm)),
            Fate::LosesBefore => return Err(CommitError::Unknown(StormError::Storm)),
            Fate::LosesAfter | Fate::Works => {}
        }
        let committed = self.inner.commit(changes, durability).map_err(|error| match error {
            CommitError::Failed(error) => CommitError::Failed(StormError::Inner(error)),
            CommitError::Unknown(error) => CommitError::Unknown(StormError::Inner(error)),
        });
        match fate {
            Fate::LosesAfter => committed.and(Err(CommitError::Unknown(StormError::Storm))),
            _ => committed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use twiceshy_store::MemoryStore;

    #[test]
    fn everything_happens_in_a_storm_and_nothing_after_it() {
        let weather = Weather { fails: 30, loses: 30, panics: 30, stalls: 30, longest: Duration::from_micros(9) };
        let store = Stormy::new(MemoryStore::new(), weather, 1);
        let mut counts = [0; 5];
        let put = |number: u64| {
            let (key, value) = (number.to_be_bytes().to_vec(), Some(Vec::new()));
            let change = [Change { space: Space::Values, key, value }];
            catch_unwind(AssertUnwindSafe(|| store.commit(&change, Durability::Synced)))
        };
        store.blow(true);
        for number in 0..2_000u64 {
            let done = put(number);
            let there = store.inner.contains(Space::Values, &number.to_be_bytes()).expect("memory");
            counts[match done {
                Ok(Ok(())) => 0,
                Ok(Err(CommitError::Failed(_))) => 1,
                Ok(Err(CommitError::Unknown(_))) if there => 2,
                Ok(Err(CommitError::Unknown(_))) => 3,
                Err(panic) => {
                    assert!(panic.is::<StormPanic>());
                    4
                }
            }] += 1;
        }
        assert!(counts.iter().all(|count| *count > 50), "{counts:?}");
        store.blow(false);
        assert!((2_000..4_000).all(|number| matches!(put(number), Ok(Ok(())))));
    }
}
