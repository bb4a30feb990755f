//! A store that counts what it is asked.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// A store that counts reads and writes of values and of the index. The guard's own records are not counted.
#[derive(Debug)]
pub struct Counted<S> {
    store: S,
    values: AtomicU64,
    index: AtomicU64,
    commits: AtomicU64,
    entries: AtomicU64,
}

/// What a store was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Reads of a value: one for each mistake.
    pub value_reads: u64,
    /// Range reads of the index: to learn from a mistake.
    pub index_reads: u64,
    /// Commits.
    pub commits: u64,
    /// Index entries written or deleted.
    pub entries_written: u64,
}

impl StoreCounts {
    /// What was asked since an earlier count.
    pub fn since(self, earlier: StoreCounts) -> StoreCounts {
        StoreCounts {
            value_reads: self.value_reads - earlier.value_reads,
            index_reads: self.index_reads - earlier.index_reads,
            commits: self.commits - earlier.commits,
            entries_written: self.entries_written - earlier.entries_written,
        }
    }
}

impl<S> Counted<S> {
    /// Counts from zero.
    pub fn new(store: S) -> Counted<S> {
        Counted { store, values: 0.into(), index: 0.into(), commits: 0.into(), entries: 0.into() }
    }

    /// The counts so far.
    pub fn counts(&self) -> StoreCounts {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StoreCounts {
            value_reads: count(&self.values),
            index_reads: count(&self.index),
            commits: count(&self.commits),
            entries_written: count(&self.entries),
        }
    }

    fn count_read(&self, space: Space) {
        match space {
            Space::Values => self.values.fetch_add(1, Ordering::Relaxed),
            Space::Index => self.index.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }
}

impl<S: Store> Store for Counted<S> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        self.count_read(space);
        self.store.get(space, key)
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, S::Error> {
        self.count_read(space);
        self.store.contains(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.count_read(space);
        self.store.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        let entries = changes.iter().filter(|change| change.space == Space::Index).count();
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.entries.fetch_add(entries as u64, Ordering::Relaxed);
        self.store.commit(changes, durability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy_store::{Kind, MemoryStore, Options};

    #[test]
    fn a_mistake_is_one_read_of_a_value_and_learning_from_it_reads_the_index() {
        for kind in [Kind::Quotient, Kind::Telescoping, Kind::Cuckooing, Kind::Broom] {
            let options = Options::new().filter(kind).false_positive_rate(0.1).background(false);
            let guard = options.open(Counted::new(MemoryStore::new())).expect("an empty store");
            guard.insert_all((0..900u64).map(|number| (number.to_be_bytes(), b""))).expect("memory");
            let before = guard.store().counts();
            for number in 900..2_000u64 {
                assert!(!guard.contains(&number.to_be_bytes()).expect("memory"));
            }
            let (asked, stats) = (guard.store().counts().since(before), guard.stats());
            assert!(stats.false_positives > 20, "{kind}");
            assert_eq!(asked.value_reads, stats.false_positives, "{kind}");
            assert_eq!(asked.index_reads >= stats.false_positives, kind.learns(), "{kind}: {asked:?}");
            assert_eq!(asked.commits, if kind == Kind::Broom { stats.false_positives } else { 0 }, "{kind}");
            assert_eq!(asked.entries_written > 0, kind == Kind::Broom, "{kind}");
        }
    }
}
