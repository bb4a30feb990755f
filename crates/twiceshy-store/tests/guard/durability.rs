//! When commits are synced.

use std::sync::atomic::{AtomicU64, Ordering};
use twiceshy_store::hooked::{Call, Hook, Hooked};
use twiceshy_store::{Durability, MemoryStore, Options};

/// Counts the commits and bytes since the last that was synced.
#[derive(Default)]
struct Counting {
    commits: AtomicU64,
    bytes: AtomicU64,
    most_commits: AtomicU64,
    most_bytes: AtomicU64,
}

impl Hook for Counting {
    fn before(&self, call: Call<'_>) {
        let Call::Commit(changes, durability) = call else { return };
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
    }
}

#[test]
fn commits_that_are_only_seen_are_synced_now_and_then_whatever_they_change() {
    let options = Options::new().durability(Durability::Seen).background(false);
    let guard = options.open(Hooked { inner: MemoryStore::new(), hook: Counting::default() }).expect("an empty store");
    guard.insert(b"key", b"value").expect("memory");
    // Updates of values change no set, so no log grows.
    for number in 0..30_000u64 {
        guard.insert(b"key", &number.to_be_bytes()).expect("memory");
    }
    let most = guard.store().hook.most_commits.load(Ordering::Relaxed);
    assert!((1_000..10_000).contains(&most), "{most} commits in a row were not synced");
    let large = vec![7; 1 << 20];
    for _ in 0..200 {
        guard.insert(b"key", &large).expect("memory");
    }
    let most = guard.store().hook.most_bytes.load(Ordering::Relaxed);
    assert!((8 << 20..64 << 20).contains(&most), "{most} bytes in a row were not synced");
}
