//! When commits are synced.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use twiceshy_store::{Change, CommitError, Durability, MemoryError, MemoryStore, Options, Space, Store};

/// Counts the commits and bytes since the last that was synced.
#[derive(Default)]
struct Counting {
    inner: MemoryStore,
    commits: AtomicU64,
    bytes: AtomicU64,
    most_commits: AtomicU64,
    most_bytes: AtomicU64,
}

impl Store for Counting {
    type Error = MemoryError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, MemoryError> {
        self.inner.get(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), MemoryError> {
        self.inner.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<MemoryError>> {
        if durability == Durability::Synced {
            self.commits.store(0, Ordering::Relaxed);
            self.bytes.store(0, Ordering::Relaxed);
        } else {
            let bytes = changes.iter().map(|change| change.value.as_ref().map_or(0, Vec::len) as u64).sum();
            let commits = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
            let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            self.most_commits.fetch_max(commits, Ordering::Relaxed);
            self.most_bytes.fetch_max(bytes, Ordering::Relaxed);
        }
        self.inner.commit(changes, durability)
    }
}

#[test]
fn commits_that_are_only_seen_are_synced_now_and_then_whatever_they_change() {
    let options = Options::new().durability(Durability::Seen).background(false);
    let guard = options.open(Counting::default()).expect("an empty store");
    guard.insert(b"key", b"value").expect("memory");
    // Updates of values change no set, so no log grows.
    for number in 0..30_000u64 {
        guard.insert(b"key", &number.to_be_bytes()).expect("memory");
    }
    let most = guard.store().most_commits.load(Ordering::Relaxed);
    assert!((1_000..10_000).contains(&most), "{most} commits in a row were not synced");
    let large = vec![7; 1 << 20];
    for _ in 0..200 {
        guard.insert(b"key", &large).expect("memory");
    }
    let most = guard.store().most_bytes.load(Ordering::Relaxed);
    assert!((8 << 20..64 << 20).contains(&most), "{most} bytes in a row were not synced");
}
