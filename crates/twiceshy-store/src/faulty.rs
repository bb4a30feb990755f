//! A store that fails on command.

use crate::store::{Change, CommitError, Durability, Space, Store};
use std::ops::Bound;
use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

/// Wraps a store, for tests of what happens when it fails.
#[derive(Debug)]
pub struct Faulty<S> {
    inner: S,
    /// The number of calls before one fails; negative if none will.
    left: AtomicI64,
    lose: AtomicU8,
}

/// The requested failure, or an error of the store inside.
#[derive(Debug, thiserror::Error)]
pub enum FaultyError<E> {
    /// The requested failure.
    #[error("the store was told to fail")]
    Told,
    /// An error of the store inside.
    #[error(transparent)]
    Inner(E),
}

const ANSWERS: u8 = 0;
const LOSES_BEFORE: u8 = 1;
const LOSES_AFTER: u8 = 2;
const PANICS: u8 = 3;
const REFUSES: u8 = 4;

impl<S: Store> Faulty<S> {
    /// A store that does not fail yet.
    pub fn new(inner: S) -> Faulty<S> {
        Faulty { inner, left: AtomicI64::new(-1), lose: AtomicU8::new(ANSWERS) }
    }

    /// This many calls succeed, and the next one fails.
    pub fn fail_after(&self, calls: u32) {
        self.left.store(calls.into(), Ordering::SeqCst);
    }

    /// The answer to the next commit is lost. `happens` says whether the commit is made.
    pub fn lose_answer(&self, happens: bool) {
        self.lose.store(if happens { LOSES_AFTER } else { LOSES_BEFORE }, Ordering::SeqCst);
    }

    /// The next commit fails without any effect.
    pub fn fail_commit(&self) {
        self.lose.store(REFUSES, Ordering::SeqCst);
    }

    /// The next commit panics.
    pub fn panic_at_commit(&self) {
        self.lose.store(PANICS, Ordering::SeqCst);
    }

    /// Cancels all failures. `true` if one was pending.
    pub fn heal(&self) -> bool {
        let left = self.left.swap(-1, Ordering::SeqCst);
        self.lose.swap(ANSWERS, Ordering::SeqCst) != ANSWERS || left >= 0
    }

    fn call(&self) -> Result<(), FaultyError<S::Error>> {
        match self.left.load(Ordering::SeqCst) {
            ..0 => Ok(()),
            left => {
                self.left.store(left - 1, Ordering::SeqCst);
                if left == 0 { Err(FaultyError::Told) } else { Ok(()) }
            }
        }
    }
}

impl<S: Store> Store for Faulty<S> {
    type Error = FaultyError<S::Error>;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, Self::Error> {
        self.call()?;
        self.inner.get(space, key).map_err(FaultyError::Inner)
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, Self::Error> {
        self.call()?;
        self.inner.contains(space, key).map_err(FaultyError::Inner)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Self::Error> {
        self.call()?;
        self.inner.scan(space, from, found).map_err(FaultyError::Inner)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<Self::Error>> {
        self.call().map_err(CommitError::Failed)?;
        let lost = self.lose.swap(ANSWERS, Ordering::SeqCst);
        assert!(lost != PANICS, "the store was told to panic");
        if lost == REFUSES {
            return Err(CommitError::Failed(FaultyError::Told));
        }
        if lost == LOSES_BEFORE {
            return Err(CommitError::Unknown(FaultyError::Told));
        }
        let committed = self.inner.commit(changes, durability).map_err(|error| match error {
            CommitError::Failed(error) => CommitError::Failed(FaultyError::Inner(error)),
            CommitError::Unknown(error) => CommitError::Unknown(FaultyError::Inner(error)),
        });
        match lost {
            LOSES_AFTER => committed.and(Err(CommitError::Unknown(FaultyError::Told))),
            _ => committed,
        }
    }

    fn longest_key(&self) -> Option<usize> {
        self.inner.longest_key()
    }

    fn verify(&self) -> Result<Vec<String>, Self::Error> {
        self.call()?;
        self.inner.verify().map_err(FaultyError::Inner)
    }
}
