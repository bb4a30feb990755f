//! A guard that is closed while its filter is being rebuilt: closing does not wait, and nothing is lost.
//!
//! A program of its own: it measures how long closing takes.

use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use twiceshy_store::hooked::{Call, Hook, Hooked};
use twiceshy_store::{Checked, Guard, Kind, Memory, MemoryStore, Options, Space, Store};

/// Scans and commits take a while.
struct Delay {
    /// How long each takes, in milliseconds.
    delay: Arc<AtomicU64>,
    scans: Arc<AtomicU64>,
}

impl Hook for Delay {
    fn before(&self, call: Call<'_>) {
        if matches!(call, Call::Scan) {
            self.scans.fetch_add(1, Ordering::SeqCst);
        }
        if !matches!(call, Call::Get) {
            std::thread::sleep(Duration::from_millis(self.delay.load(Ordering::SeqCst)));
        }
    }
}

type Slow = Hooked<MemoryStore, Delay>;

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

const KEYS: u64 = 30_000;
/// Slow enough that a rebuild of the set takes more than a second.
const DELAY: u64 = 150;
/// Filters that are rebuilt in different ways, and the index entries of each key when they are rebuilt.
const KINDS: [(Kind, u64); 3] = [(Kind::Telescoping, 1), (Kind::Swapping, 2), (Kind::Broom, 3)];

struct Place {
    memory: Memory,
    delay: Arc<AtomicU64>,
    scans: Arc<AtomicU64>,
}

impl Place {
    fn new() -> Place {
        Place { memory: Memory::new(), delay: Arc::default(), scans: Arc::default() }
    }

    fn open(&self, kind: Kind, delay: u64, snapshot: &Path) -> Guard<Slow> {
        self.delay.store(delay, Ordering::SeqCst);
        let (delay, scans) = (Arc::clone(&self.delay), Arc::clone(&self.scans));
        let slow = Slow { inner: self.memory.open().expect("nobody has it open"), hook: Delay { delay, scans } };
        Options::new().filter(kind).snapshot(snapshot).open(slow).expect("its own store")
    }

    fn entries(&self) -> u64 {
        let (store, mut entries) = (self.memory.open().expect("nobody has it open"), 0);
        let count = &mut |_: &[u8], _: &[u8]| {
            entries += 1;
            true
        };
        store.scan(Space::Index, Bound::Unbounded, count).expect("memory");
        entries
    }
}

fn is_whole(guard: &Guard<Slow>, when: &str) {
    assert_eq!(guard.check().expect("memory"), Checked::Sound, "{when}");
    assert!((0..KEYS).step_by(7).all(|number| guard.contains(&key(number)).expect("memory")), "{when}");
}

#[test]
fn closing_does_not_wait_for_a_rebuild_and_the_next_open_begins_it_again() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, orders) in KINDS {
        let (place, path) = (Place::new(), folder.path().join(kind.name()));
        let guard = place.open(kind, 0, &path);
        guard.insert_all((0..KEYS).map(|number| (key(number), b""))).expect("memory");
        guard.close().expect("a folder");
        let mut left_behind = false;
        for closes in [true, false] {
            let before_rebuild = place.entries();
            let when = format!("{kind}, closes {closes}");
            std::fs::remove_file(&path).expect("a snapshot");
            let guard = place.open(kind, DELAY, &path);
            // Well into the walk. Look-ups are answered meanwhile.
            let begun = place.scans.load(Ordering::SeqCst);
            while place.scans.load(Ordering::SeqCst) < begun + 5 {
                assert!(guard.contains(&key(5)).expect("memory"), "{when}");
                std::thread::yield_now();
            }
            let (before, scans) = (Instant::now(), place.scans.load(Ordering::SeqCst));
            match closes {
                true => guard.close().expect("the store works"),
                false => drop(guard),
            }
            // At most what had begun, and the state's last commit. The whole rebuild has seven more scans or commits.
            let took = before.elapsed();
            assert!(took < Duration::from_millis(4 * DELAY), "{when}: {took:?}");
            assert!(place.scans.load(Ordering::SeqCst) <= scans + 1, "{when}");
            assert!(!path.exists(), "{when}: there was no filter to save");
            // A broom filter's rebuild writes entries of its own beside the old ones.
            left_behind |= place.entries() > before_rebuild;
            let guard = place.open(kind, 0, &path);
            is_whole(&guard, &when);
            assert_eq!(guard.stats().rebuilt, 1, "{when}");
            guard.close().expect("a folder");
            // What an interrupted rebuild had written is gone.
            assert_eq!(place.entries(), orders * KEYS, "{when}");
            let guard = place.open(kind, 0, &path);
            assert_eq!(guard.stats().rebuilt, 0, "{when}: it was saved");
            is_whole(&guard, &when);
            drop(guard);
        }
        assert_eq!(left_behind, kind.learning_writes(), "{kind}");
    }
}

#[test]
fn what_is_changed_before_a_close_without_a_filter_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    for (kind, _) in KINDS {
        let (place, path) = (Place::new(), folder.path().join(kind.name()));
        let guard = place.open(kind, 0, &path);
        guard.insert_all((0..KEYS).map(|number| (key(number), b""))).expect("memory");
        drop(guard);
        for _ in 0..3 {
            let _ = std::fs::remove_file(&path);
            place.open(kind, DELAY / 3, &path).close().expect("the store works");
        }
        let guard = place.open(kind, 0, &path);
        guard.insert(&key(KEYS), b"").expect("memory");
        is_whole(&guard, kind.name());
        assert!(guard.contains(&key(KEYS)).expect("memory"), "{kind}");
    }
}
