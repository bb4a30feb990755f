//! A snapshot that is cut, damaged, old, foreign or newer: never a false negative, never a panic.

use std::ops::Bound;
use std::path::Path;
use twiceshy::hash::HashKey;
use twiceshy_store::{Checked, Error, Guard, Kind, Memory, MemoryStore, Options, Space, Store};

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn open(memory: &Memory, path: &Path, kind: Kind) -> Guard<MemoryStore> {
    let options = Options::new().filter(kind).hash_key(HashKey::fixed(5)).snapshot(path);
    options.open(memory.open().expect("nobody has it open")).expect("its own store")
}

fn has_all(guard: &Guard<MemoryStore>, keys: u64, when: &str) {
    assert!((0..keys).all(|number| guard.contains(&key(number)).expect("memory")), "{when}: a key is lost");
    assert_eq!(guard.check().expect("memory"), Checked::Sound, "{when}");
}

#[test]
fn a_snapshot_cut_anywhere_or_with_any_byte_changed_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    for kind in [Kind::Telescoping, Kind::Cyclic, Kind::Broom] {
        let memory = Memory::new();
        let guard = open(&memory, &path, kind);
        guard.insert_all((0..60).map(|number| (key(number), b""))).expect("memory");
        guard.close().expect("a folder");
        let whole = std::fs::read(&path).expect("a snapshot");
        // Every byte and length is tried in the tests of the snapshot itself, and of the filters' own files.
        let step = whole.len() / 150 + 1;
        for len in (0..whole.len()).step_by(step) {
            std::fs::write(&path, &whole[..len]).expect("a folder");
            let guard = open(&memory, &path, kind);
            has_all(&guard, 60, &format!("{kind}, {len} bytes"));
            assert_eq!(guard.stats().rebuilt, 1, "{kind}, {len} bytes were trusted");
        }
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << (at % 8);
            std::fs::write(&path, &damaged).expect("a folder");
            let guard = open(&memory, &path, kind);
            has_all(&guard, 60, &format!("{kind}, byte {at}"));
            assert_eq!(guard.stats().rebuilt, 1, "{kind}, byte {at} was not missed");
        }
    }
}

#[test]
fn a_snapshot_of_another_store_or_of_commits_that_were_lost_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    let kind = Kind::Telescoping;
    let (one, other) = (Memory::new(), Memory::new());
    let guard = open(&one, &path, kind);
    guard.insert_all((0..50).map(|number| (key(number), b""))).expect("memory");
    guard.close().expect("a folder");
    let guard = open(&other, &path, kind);
    guard.insert_all((100..150).map(|number| (key(number), b""))).expect("memory");
    assert!((100..150).all(|number| guard.contains(&key(number)).expect("memory")));
    assert_eq!(guard.check().expect("memory"), Checked::Sound);
    drop(guard);
    // Now the snapshot is the other's.
    let guard = open(&one, &path, kind);
    has_all(&guard, 50, "the other's snapshot");
    assert_eq!(guard.stats().rebuilt, 1);
}

#[test]
fn a_snapshot_that_says_it_is_newer_or_larger_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    let memory = Memory::new();
    let guard = open(&memory, &path, Kind::Telescoping);
    guard.insert_all((0..50).map(|number| (key(number), b""))).expect("memory");
    guard.close().expect("a folder");
    let whole = std::fs::read(&path).expect("a snapshot");
    // The version, and the length of the filter.
    for at in [8, 9, 26, 30, 33] {
        let mut bytes = whole.clone();
        bytes[at] ^= 9;
        std::fs::write(&path, &bytes).expect("a folder");
        let guard = open(&memory, &path, Kind::Telescoping);
        has_all(&guard, 50, &format!("byte {at}"));
        assert_eq!(guard.stats().rebuilt, 1);
    }
}

#[test]
fn the_log_stays_bounded_with_a_snapshot_and_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    for with_snapshot in [false, true] {
        let memory = Memory::new();
        let options = Options::new().background(false);
        let options = if with_snapshot { options.snapshot(&path) } else { options };
        let guard = options.open(memory.open().expect("nobody has it open")).expect("an empty store");
        guard.insert_all((0..100).map(|number| (key(number), b""))).expect("memory");
        let mut longest = 0;
        for round in 0..30u64 {
            for number in 0..500 {
                guard.insert(&key(1_000 + number), b"").expect("memory");
                guard.remove(&key(1_000 + number)).expect("memory");
            }
            let mut records = 0;
            let count = &mut |_: &[u8], _: &[u8]| {
                records += 1;
                true
            };
            guard.store().scan(Space::Log, Bound::Unbounded, count).expect("memory");
            longest = longest.max(records);
            assert!(records <= 11_000, "round {round}: {records} records");
        }
        assert!(longest >= 9_000, "a log that is dropped all the time brings no snapshot forward: {longest}");
        assert_eq!(guard.stats().snapshots > 0, with_snapshot);
        drop(guard);
        // The place of the first round's snapshot is taken by the second round's.
        let guard = Options::new().snapshot(&path).open(memory.open().expect("nobody")).expect("its own store");
        has_all(&guard, 100, "a long life");
        assert_eq!(guard.stats().rebuilt, u64::from(!with_snapshot));
    }
}

#[test]
fn a_snapshot_with_another_filters_bytes_is_not_trusted() {
    let folder = tempfile::tempdir().expect("a folder");
    let kind = Kind::Telescoping;
    let stores = [Memory::new(), Memory::new()];
    // Names that differ in their extensions alone, written at the same time.
    let paths = ["shard.0", "shard.1"].map(|name| folder.path().join(name));
    std::thread::scope(|scope| {
        for (store, (memory, path)) in stores.iter().zip(&paths).enumerate() {
            scope.spawn(move || {
                for round in 0..20 {
                    let guard = open(memory, path, kind);
                    let number = store as u64 * 1_000 + round;
                    guard.insert(&key(number), b"").expect("memory");
                    guard.close().expect("nobody takes its file away");
                }
            });
        }
    });
    let mut mixed = std::fs::read(&paths[0]).expect("a snapshot");
    // The header of one, and the filter of the other.
    mixed.truncate(66);
    mixed.extend(&std::fs::read(&paths[1]).expect("a snapshot")[66..]);
    std::fs::write(&paths[0], mixed).expect("a folder");
    let guard = open(&stores[0], &paths[0], kind);
    has_all(&guard, 20, "a foreign filter");
    assert_eq!(guard.stats().rebuilt, 1);
    let guard = open(&stores[1], &paths[1], kind);
    assert!((1_000..1_020).all(|number| guard.contains(&key(number)).expect("memory")));
    assert_eq!(guard.stats().rebuilt, 0);
}

#[test]
fn a_snapshot_that_can_be_neither_read_nor_written_is_nobodys_trouble_but_the_next_opens() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    std::fs::create_dir(&path).expect("a folder where the snapshot should be");
    let memory = Memory::new();
    let guard = open(&memory, &path, Kind::Telescoping);
    assert!((0..100).all(|number| guard.insert(&key(number), b"").expect("memory")));
    assert!(matches!(guard.close(), Err(Error::Io { .. })), "whoever closes hears of it");
    let guard = open(&memory, &path, Kind::Telescoping);
    has_all(&guard, 100, "no snapshot");
}

#[test]
fn a_broom_filter_that_only_learns_does_not_make_the_log_grow() {
    let memory = Memory::new();
    let options = Options::new().filter(Kind::Broom).false_positive_rate(0.2).background(false);
    let guard = options.open(memory.open().expect("nobody has it open")).expect("an empty store");
    guard.insert_all((0..600).map(|number| (key(number), b""))).expect("memory");
    let mut number = 1_000;
    while guard.stats().adapted < 12_000 {
        assert!(!guard.contains(&key(number)).expect("memory"));
        number += 1;
    }
    let mut records = 0;
    let count = &mut |_: &[u8], _: &[u8]| {
        records += 1;
        true
    };
    guard.store().scan(Space::Log, Bound::Unbounded, count).expect("memory");
    assert!(records <= 11_000, "{records} records");
}

#[test]
fn what_is_no_snapshot_is_neither_read_whole_nor_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("filter");
    let memory = Memory::new();
    let guard = open(&memory, &path, Kind::Telescoping);
    guard.insert_all((0..60).map(|number| (key(number), b""))).expect("memory");
    guard.close().expect("a folder");
    let whole = std::fs::read(&path).expect("a snapshot");
    // A hundred gigabytes without content, with the beginning of a snapshot and without.
    for beginning in [&[][..], &whole[..], &whole[..66]] {
        std::fs::write(&path, beginning).expect("a folder");
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("a file");
        if file.set_len(100 << 30).is_err() {
            return;
        }
        let guard = open(&memory, &path, Kind::Telescoping);
        guard.wait().expect("memory");
        assert_eq!(guard.stats().rebuilt, 1);
        has_all(&guard, 60, "a huge file");
        // It is saved again.
        guard.close().expect("a folder");
        assert!(path.metadata().expect("a file").len() < 1 << 20);
    }
    #[cfg(unix)]
    {
        std::fs::remove_file(&path).expect("a folder");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if made.is_ok_and(|status| status.success()) {
            let guard = open(&memory, &path, Kind::Telescoping);
            has_all(&guard, 60, "a pipe");
            guard.close().expect("the pipe is replaced");
        }
    }
}
