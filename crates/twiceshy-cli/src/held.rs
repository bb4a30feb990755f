//! The keys that a command works on, wherever they are.

use crate::guarded::{self, Access, Done, refusal};
use crate::place::Place;
use crate::shared;
use serde::Serialize;
use std::path::Path;
use twiceshy_store::{Guard, RedbStore, Stats};

/// A key and its value.
pub(crate) type Entry = (Vec<u8>, Vec<u8>);

/// What the filter did.
#[derive(Serialize)]
pub(crate) struct FilterCounts {
    pub(crate) turned_away: u64,
    /// Look-ups of mistakes that wait to be learned: answered without the store.
    pub(crate) known_absent: u64,
    pub(crate) false_positives: u64,
    /// Look-ups answered without a filter, before it was ready.
    pub(crate) unfiltered: u64,
    pub(crate) adapted: u64,
}

/// A store of keys behind a filter. Its errors say where it is and what to do.
pub(crate) trait Held {
    /// `true` for each key that is there.
    fn contains_all(&self, keys: &[&[u8]]) -> anyhow::Result<Vec<bool>>;

    /// The value of each key, up to the first that cannot be read.
    fn get_all(&self, keys: &[&[u8]]) -> Vec<anyhow::Result<Option<Vec<u8>>>>;

    /// Sets values. Returns how many keys are new.
    fn insert_all(&self, entries: Vec<Entry>) -> anyhow::Result<u64>;

    /// Returns how many keys were there.
    fn remove_all(&self, keys: Vec<Vec<u8>>) -> anyhow::Result<u64>;

    /// The length of the longest key; `None` if it need not be known.
    fn longest_key(&self) -> Option<usize>;

    /// Waits until the filter has learned from the mistakes so far.
    fn wait(&self) -> anyhow::Result<()>;

    /// What the filter did so far.
    fn counts(&self) -> FilterCounts;
}

/// Opens an existing store, runs `work` on it and closes it, even if `work` failed.
pub(crate) fn with<T>(
    place: &Place,
    access: Access,
    work: impl FnOnce(&dyn Held) -> anyhow::Result<T>,
) -> anyhow::Result<Done<T>> {
    match place {
        Place::Folder(path) => guarded::with(path, access, |guard| work(&InFolder { path, guard })),
        Place::Address(address) => shared::with(address, work),
    }
}

/// A guarded store in a folder.
struct InFolder<'a> {
    path: &'a Path,
    guard: &'a Guard<RedbStore>,
}

impl Held for InFolder<'_> {
    fn contains_all(&self, keys: &[&[u8]]) -> anyhow::Result<Vec<bool>> {
        self.guard.contains_all(keys).map_err(|error| refusal(self.path, error))
    }

    fn get_all(&self, keys: &[&[u8]]) -> Vec<anyhow::Result<Option<Vec<u8>>>> {
        let values = self.guard.get_all(keys);
        values.map(|value| value.map_err(|error| refusal(self.path, error))).collect()
    }

    fn insert_all(&self, entries: Vec<Entry>) -> anyhow::Result<u64> {
        self.guard.insert_all(entries).map_err(|error| refusal(self.path, error))
    }

    fn remove_all(&self, keys: Vec<Vec<u8>>) -> anyhow::Result<u64> {
        self.guard.remove_all(keys).map_err(|error| refusal(self.path, error))
    }

    fn longest_key(&self) -> Option<usize> {
        None
    }

    fn wait(&self) -> anyhow::Result<()> {
        self.guard.wait().map_err(|error| refusal(self.path, error))
    }

    fn counts(&self) -> FilterCounts {
        let Stats { turned_away, known_absent, false_positives, unfiltered, adapted, .. } = self.guard.stats();
        FilterCounts { turned_away, known_absent, false_positives, unfiltered, adapted }
    }
}
