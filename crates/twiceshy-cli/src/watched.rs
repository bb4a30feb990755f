//! A store that counts how often it is asked for a key.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// A store, and the look-ups that reached it. What a guard reads for itself is not counted.
pub(crate) struct Watched<S> {
    store: S,
    asked: AtomicU64,
}

impl<S> Watched<S> {
    pub(crate) fn new(store: S) -> Watched<S> {
        Watched { store, asked: AtomicU64::new(0) }
    }

    /// How often it was asked for a key.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn note(&self, space: Space) {
        if space == Space::Values {
            self.asked.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<S: Store> Store for Watched<S> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        self.note(space);
        self.store.get(space, key)
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, S::Error> {
        self.note(space);
        self.store.contains(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.store.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        self.store.commit(changes, durability)
    }
}
