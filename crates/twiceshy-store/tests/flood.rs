//! A flood of false positives: the filter and the list of those that wait keep up with it.
//!
//! A program of its own: the learner must keep up with the queries, and other tests would take its time.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use twiceshy::hash::HashKey;
use twiceshy_store::{
    Change, CommitError, Durability, Guard, Kind, MemoryStore, Options, RedbStore, Space, Stats, Store,
};

/// A store that counts commits, and whose reads take longer once it is told so.
struct Watched<S> {
    inner: S,
    commits: AtomicU64,
    /// In microseconds.
    delay: AtomicU64,
}

impl<S> Watched<S> {
    fn new(inner: S) -> Watched<S> {
        Watched { inner, commits: AtomicU64::new(0), delay: AtomicU64::new(0) }
    }

    fn wait(&self) {
        match self.delay.load(Ordering::Relaxed) {
            0 => {}
            delay => std::thread::sleep(Duration::from_micros(delay)),
        }
    }
}

impl<S: Store> Store for Watched<S> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        self.wait();
        self.inner.get(space, key)
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, S::Error> {
        self.wait();
        self.inner.contains(space, key)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.wait();
        self.inner.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.inner.commit(changes, durability)
    }
}

fn key(number: u64) -> [u8; 16] {
    let high = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&high.to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// What one pass over the queries came to.
#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
struct Pass {
    mistakes: u64,
    skipped: u64,
    queries_per_second: u64,
    commits_per_second: u64,
    longest: Duration,
}

fn stats<S: Store>(guard: &Guard<S>) -> Stats {
    guard.stats()
}

/// A flood of the same absent keys in each pass.
#[derive(Clone, Copy, Debug)]
struct Flood {
    /// What each read takes longer, in microseconds.
    delay: u64,
    keys: u64,
    queries: u64,
    passes: u32,
    /// `true` if everything is learned before the next pass.
    waits: bool,
}

fn flood<S: Store>(kind: Kind, store: S, flood: Flood) -> Vec<Pass> {
    let Flood { delay, keys, queries, passes, waits } = flood;
    let options = Options::new().filter(kind).false_positive_rate(1.0 / 50.0).expected_keys(keys);
    let options = options.hash_key(HashKey::fixed(9)).durability(Durability::Seen);
    let guard = options.open(Watched::new(store)).expect("an empty store");
    guard.insert_all((0..keys).map(|number| (key(number), b""))).expect("a store that works");
    let store = guard.store();
    store.delay.store(delay, Ordering::Relaxed);
    let pass = |_| {
        let (before, commits, began) = (stats(&guard), store.commits.load(Ordering::Relaxed), Instant::now());
        let mut longest = Duration::ZERO;
        for number in keys..keys + queries {
            let asked = Instant::now();
            assert!(!guard.contains(&key(number)).expect("a store that works"));
            longest = longest.max(asked.elapsed());
        }
        let (after, took) = (stats(&guard), began.elapsed().as_secs_f64());
        if waits {
            guard.wait().expect("a store that works");
        }
        Pass {
            mistakes: after.false_positives - before.false_positives,
            skipped: after.skipped - before.skipped,
            queries_per_second: (queries as f64 / took) as u64,
            commits_per_second: ((store.commits.load(Ordering::Relaxed) - commits) as f64 / took) as u64,
            longest,
        }
    };
    let all: Vec<Pass> = (0..passes).map(pass).collect();
    store.delay.store(0, Ordering::Relaxed);
    let (before, began) = (stats(&guard), Instant::now());
    guard.wait().expect("a store that works");
    let learned = stats(&guard).adapted - before.adapted;
    println!("{kind}, {flood:?}: {learned} were left and learned in {:?}", began.elapsed());
    all.iter().for_each(|pass| println!("    {pass:?}"));
    assert!((0..keys).step_by(97).all(|number| guard.contains(&key(number)).expect("a store that works")));
    guard.close().expect("a store that works");
    all
}

fn redb(folder: &tempfile::TempDir) -> RedbStore {
    RedbStore::open(folder.path().join("store.redb")).expect("a folder")
}

/// The first pass makes about as many mistakes as the filter's rate says, and each further one at most a tenth of them.
///
/// A broom filter that has learned from m mistakes has moved about 5·m of its keys to the next hash function, and that share
/// of the queries is drawn anew. Here these are as many as the keys, so about one in fifteen of the mistakes is new.
fn keeps_up(passes: &[Pass]) {
    let [first, further @ ..] = passes else { panic!("no pass") };
    assert!(first.mistakes > 50, "{passes:?}");
    for pass in further {
        assert!(pass.mistakes * 10 <= first.mistakes, "{passes:?}");
        assert_eq!(pass.skipped, 0);
    }
}

#[test]
fn no_flood_on_redb_makes_the_filter_repeat_its_mistakes() {
    for kind in [Kind::Broom, Kind::Telescoping] {
        for waits in [false, true] {
            let folder = tempfile::tempdir().expect("a folder");
            keeps_up(&flood(kind, redb(&folder), Flood { delay: 0, keys: 40_000, queries: 40_000, passes: 4, waits }));
        }
    }
}

#[test]
fn no_flood_on_a_slow_store_makes_the_filter_repeat_its_mistakes() {
    for kind in [Kind::Broom, Kind::Telescoping] {
        let flood = flood(
            kind,
            MemoryStore::new(),
            Flood { delay: 1_000, keys: 10_000, queries: 10_000, passes: 4, waits: false },
        );
        keeps_up(&flood);
    }
}

/// The figures in `docs/guard.md`.
#[test]
#[ignore = "takes a minute, and prints figures"]
fn figures_of_a_flood() {
    for delay in [0, 1_000] {
        for kind in [Kind::Broom, Kind::Telescoping] {
            let folder = tempfile::tempdir().expect("a folder");
            flood(kind, redb(&folder), Flood { delay, keys: 100_000, queries: 400_000, passes: 8, waits: false });
        }
    }
}
