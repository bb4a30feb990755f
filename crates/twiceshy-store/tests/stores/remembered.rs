//! What the filter of a guard has learned survives growth, a rebuild, and a killed process.

use std::path::Path;
use twiceshy::hash::HashKey;
use twiceshy_store::{Guard, Kind, Limits, MemoryStore, Options, RedbStore, Store};

const KEYS: u64 = 3_000;

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn learners() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|kind| kind.learns())
}

fn options(kind: Kind) -> Options {
    let options = Options::new().filter(kind).false_positive_rate(1.0 / 64.0).expected_keys(KEYS);
    options.hash_key(HashKey::fixed(5)).background(false)
}

fn fill<S: Store>(guard: &Guard<S>, numbers: std::ops::Range<u64>) {
    guard.insert_all(numbers.map(|number| (key(number), b""))).expect("a store");
}

/// The number of false positives among these queries.
fn wrong<S: Store>(guard: &Guard<S>, queries: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let count = || guard.stats().false_positives;
    let is_wrong = |query: &u64| {
        let before = count();
        assert!(!guard.contains(&key(*query)).expect("a store"));
        count() > before
    };
    queries.into_iter().filter(is_wrong).collect()
}

/// Asks for five absent keys for each stored one until they are fixed, and returns those that stay fixed. A cyclic filter has
/// only two functions for a cell, and cannot fix them all.
fn taught<S: Store>(guard: &Guard<S>) -> Vec<u64> {
    let absent = 1 << 40..(1 << 40) + 5 * KEYS;
    let mut mistakes = wrong(guard, absent);
    for round in 0..6 {
        let again = wrong(guard, mistakes.iter().copied());
        mistakes.retain(|query| round < 2 || !again.contains(query));
    }
    assert!(mistakes.len() > 60, "{} mistakes say little", mistakes.len());
    mistakes
}

/// At most 1 % of the mistakes are made again, and as many as queries that were never asked, within four standard deviations: keys
/// that were inserted since may collide with them, and to ask one may bring back another.
fn holds<S: Store>(guard: &Guard<S>, mistakes: &[u64], what: &str) {
    let again = wrong(guard, mistakes.iter().copied()).len();
    let expected = mistakes.len() as f64 * (0.01 + 1.0 / 64.0);
    assert!(again as f64 <= expected + 4.0 * expected.sqrt(), "{what}: {again} of {}", mistakes.len());
}

#[test]
fn a_guard_that_grows_makes_no_mistake_again() {
    for kind in learners() {
        let guard = options(kind).open(MemoryStore::new()).expect("an empty store");
        fill(&guard, 0..KEYS);
        let mistakes = taught(&guard);
        let grown = guard.stats().grown;
        for times in 1..=3 {
            fill(&guard, KEYS << (times - 1)..KEYS << times);
            holds(&guard, &mistakes, &format!("{kind}, grown {times} times"));
        }
        let stats = guard.stats();
        assert!(stats.grown > grown && stats.remembered > 0, "{kind}: {stats:?}");
        assert_eq!(guard.check().expect("memory"), twiceshy_store::Checked::Sound, "{kind}");
        assert!((0..KEYS << 3).all(|number| guard.contains(&key(number)).expect("memory")), "{kind}");
    }
}

#[test]
fn without_a_memory_growth_brings_mistakes_back() {
    let again = |limits: Limits| {
        let guard = options(Kind::Telescoping).memory(limits).open(MemoryStore::new()).expect("an empty store");
        fill(&guard, 0..KEYS);
        let mistakes = taught(&guard);
        fill(&guard, KEYS..4 * KEYS);
        (wrong(&guard, mistakes).len(), guard.stats().remembered)
    };
    let (forgotten, remembered) = (again(Limits::OFF), again(Limits::default()));
    assert!(forgotten.0 > 20 && forgotten.1 == 0, "{forgotten:?}");
    assert!(remembered.0 <= 12 && remembered.1 > 60, "{remembered:?}");
}

fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from).expect("a folder") {
        let file = file.expect("a file");
        std::fs::copy(file.path(), to.join(file.file_name())).expect("a folder");
    }
}

/// A copy of the open store is what a killed process leaves behind.
#[test]
fn a_killed_process_forgets_nothing_whether_or_not_there_is_a_snapshot() {
    for kind in learners() {
        let (folder, copied) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let guard: Guard<RedbStore> = options(kind).open_folder(folder.path()).expect("a new store");
        fill(&guard, 0..KEYS);
        guard.save().expect("a folder");
        let mistakes = taught(&guard);
        copy(folder.path(), copied.path());
        let reopen = || {
            let guard = Options::new().background(false).open_folder(copied.path()).expect("what was left");
            // Waits until there is a filter.
            guard.insert(b"one more", b"").expect("a folder");
            holds(&guard, &mistakes, &format!("{kind}, reopened"));
            assert!((0..KEYS).all(|number| guard.contains(&key(number)).expect("a folder")), "{kind}");
        };
        reopen();
        std::fs::remove_file(copied.path().join(twiceshy_store::SNAPSHOT_FILE)).expect("a snapshot");
        reopen();
        drop(guard);
    }
}

/// Whatever the file holds: no panic, no lost key, and the guard goes on to remember.
#[test]
fn a_damaged_memory_costs_only_what_it_remembers() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Options::new().background(false).open_folder(folder.path()).expect("a store");
    let guard = options(Kind::Telescoping).open_folder(folder.path()).expect("a new store");
    fill(&guard, 0..KEYS);
    taught(&guard);
    guard.close().expect("a folder");
    let path = folder.path().join("filter.twiceshy.mistakes");
    let bytes = std::fs::read(&path).expect("a memory");
    let mut damaged: Vec<Vec<u8>> =
        (0..bytes.len()).step_by(bytes.len() / 37).map(|len| bytes[..len].to_vec()).collect();
    for at in (0..bytes.len()).step_by(bytes.len() / 37) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x81;
        damaged.push(changed);
    }
    damaged.push([&bytes[..10], &[0xFF; 64]].concat());
    for bytes in damaged {
        std::fs::write(&path, bytes).expect("a folder");
        let guard = open();
        assert!((0..KEYS).step_by(7).all(|number| guard.contains(&key(number)).expect("a folder")));
        // A new mistake is remembered, also by the next guard.
        let before = guard.stats().remembered;
        let fresh = (1 << 50..).find(|query| !wrong(&guard, [*query]).is_empty());
        let after = guard.stats().remembered;
        assert!(after > before, "{fresh:?}");
        guard.close().expect("a folder");
        assert_eq!(open().stats().remembered, after);
    }
    #[cfg(unix)]
    {
        let precious = folder.path().join("precious");
        std::fs::write(&precious, b"precious").expect("a folder");
        std::fs::remove_file(&path).expect("a file");
        std::os::unix::fs::symlink(&precious, &path).expect("a folder");
        assert!(!wrong(&open(), 1 << 51..(1 << 51) + 2_000).is_empty());
        assert_eq!(std::fs::read(&precious).expect("a file"), b"precious", "a link is not followed");
    }
    std::fs::remove_file(&path).expect("a file");
    std::fs::create_dir(&path).expect("a folder");
    let guard = open();
    assert!(!wrong(&guard, 1 << 52..(1 << 52) + 2_000).is_empty(), "a folder in its place is no error");
}

#[test]
fn the_file_is_written_anew_when_much_of_it_is_out_of_date() {
    let folder = tempfile::tempdir().expect("a folder");
    let guard =
        options(Kind::Telescoping).memory(Limits::one_for(1 << 40)).open_folder(folder.path()).expect("a store");
    fill(&guard, 0..KEYS);
    // 1,024 are remembered, so that most of these are forgotten.
    let made = wrong(&guard, 1 << 40..(1 << 40) + 800_000).len() as u64;
    let stats = guard.stats();
    assert!(made > 10_000 && stats.remembered == 1_024, "{made} {stats:?}");
    let len = std::fs::metadata(folder.path().join("filter.twiceshy.mistakes")).expect("a memory").len();
    assert!(len < 28 * (2 * 1_024 + 4_096 + 64), "{len}");
}

#[test]
fn a_mistake_that_is_inserted_is_found() {
    for kind in learners() {
        let guard = options(kind).open(MemoryStore::new()).expect("an empty store");
        fill(&guard, 0..KEYS);
        let mistakes = taught(&guard);
        for query in &mistakes[..10] {
            guard.insert(&key(*query), b"now stored").expect("memory");
        }
        fill(&guard, KEYS..3 * KEYS);
        for query in &mistakes[..10] {
            assert!(guard.contains(&key(*query)).expect("memory"), "{kind}");
        }
        assert_eq!(guard.stats().disagreements, 0, "{kind}");
        holds(&guard, &mistakes[10..], &format!("{kind}, beside keys that were mistakes"));
    }
}
