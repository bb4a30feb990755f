//! A redb file: reading it without changing it, its locks, its mode, a full disk, checks and repairs.
#![cfg(feature = "redb")]

use super::support::quiet_hook;
use redb::{Database, DatabaseError};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;
use twiceshy_store::{
    Change, CommitError, Durability, RedbError, RedbOptions, RedbStore, Space, Store, panics_become_errors,
};

const PAGE: usize = 4_096;

fn put(number: u32, value: &[u8]) -> Change {
    Change { space: Space::Values, key: number.to_be_bytes().to_vec(), value: Some(value.to_vec()) }
}

fn get(store: &RedbStore, number: u32) -> Option<Vec<u8>> {
    store.get(Space::Values, &number.to_be_bytes()).expect("an answer")
}

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.redb");
    (folder, path)
}

fn fill(store: &RedbStore, numbers: std::ops::Range<u32>) {
    let changes: Vec<Change> = numbers.map(|number| put(number, b"a value of some length")).collect();
    store.commit(&changes, Durability::Synced).expect("committed");
}

/// A file with 1,000 keys, closed.
fn closed() -> (TempDir, PathBuf) {
    let (folder, path) = place();
    fill(&RedbStore::open(&path).expect("a store"), 0..1_000);
    (folder, path)
}

fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("the file")
}

/// The bytes, and the time of the last change.
fn stamp(path: &Path) -> (Vec<u8>, std::time::SystemTime) {
    (bytes(path), std::fs::metadata(path).and_then(|data| data.modified()).expect("a time"))
}

fn is_in_use(opened: Result<RedbStore, RedbError>) -> bool {
    matches!(opened, Err(RedbError::InUse(_)))
}

#[test]
fn reading_changes_neither_the_bytes_nor_the_time_of_a_file() {
    let (_folder, path) = closed();
    let before = stamp(&path);
    let store = RedbStore::open_read_only(&path).expect("opened");
    assert_eq!(get(&store, 7).as_deref(), Some(&b"a value of some length"[..]));
    assert_eq!(get(&store, 1_000), None);
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
    let refused = store.commit(&[put(1, b"")], Durability::Synced);
    assert!(matches!(refused, Err(CommitError::Failed(RedbError::ReadOnly(at))) if at == path));
    drop(store);
    assert!(stamp(&path) == before);
}

#[test]
fn a_file_that_was_not_closed_can_be_read_and_stays_as_it_is() {
    let (folder, path) = closed();
    let open = RedbStore::open(&path).expect("opened");
    fill(&open, 1_000..1_500);
    let crashed = folder.path().join("crashed.redb");
    std::fs::copy(&path, &crashed).expect("a copy");
    drop(open);
    let own = redb::Builder::new().open_read_only(&crashed);
    assert!(matches!(own, Err(DatabaseError::RepairAborted)), "the copy needs no repair");
    let before = stamp(&crashed);
    let store = RedbStore::open_read_only(&crashed).expect("opened");
    assert!((0..1_500).all(|number| get(&store, number).is_some()));
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
    drop(store);
    assert!(stamp(&crashed) == before);
}

#[test]
fn reading_creates_no_file_and_finds_nothing_in_one_that_was_never_finished() {
    let (_folder, path) = place();
    assert!(matches!(RedbStore::open_read_only(&path), Err(RedbError::Open { .. })));
    assert!(!path.exists());
    let mut unfinished = vec![0; 1_056_768];
    unfinished[9] = 4;
    for content in [Vec::new(), unfinished] {
        std::fs::write(&path, &content).expect("a file");
        assert_eq!(get(&RedbStore::open_read_only(&path).expect("opened"), 1), None);
        assert!(bytes(&path) == content);
    }
}

#[test]
fn many_can_read_a_file_but_not_while_it_is_written() {
    let (_folder, path) = closed();
    let writer = RedbStore::open(&path).expect("opened");
    assert!(is_in_use(RedbStore::open(&path)));
    assert!(is_in_use(RedbStore::open_read_only(&path)));
    drop(writer);
    let readers =
        [RedbStore::open_read_only(&path).expect("opened"), RedbStore::open_read_only(&path).expect("opened")];
    assert!(is_in_use(RedbStore::open(&path)));
    assert!(matches!(Database::open(&path), Err(DatabaseError::DatabaseAlreadyOpen)));
    assert!(readers.iter().all(|reader| get(reader, 5).is_some()));
    let [first, second] = readers;
    drop(first);
    assert!(is_in_use(RedbStore::open(&path)));
    drop(second);
    assert!(RedbStore::open(&path).is_ok());
}

#[cfg(unix)]
#[test]
fn a_new_file_is_its_owners_alone_and_an_old_ones_mode_stays() {
    use std::os::unix::fs::PermissionsExt;
    let (_folder, path) = place();
    let mode = || std::fs::metadata(&path).expect("the file").permissions().mode() & 0o777;
    drop(RedbStore::open(&path).expect("created"));
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).expect("changed");
    drop(RedbStore::open(&path).expect("opened"));
    assert_eq!(mode(), 0o640);
}

#[test]
fn a_file_that_cannot_be_created_is_not_left_behind() {
    let (_folder, path) = place();
    let mut failures = 0;
    for room in [0, 100, PAGE as u64, 20_000, 100_000, 1 << 30] {
        match RedbStore::open_limited(&path, room) {
            Ok(store) => assert_eq!(get(&store, 1), None),
            Err(error) => {
                assert!(!path.exists(), "{error}");
                failures += 1;
            }
        }
    }
    assert!((2..6).contains(&failures));
    assert!(RedbStore::open(path.join("below")).is_err());
}

/// Commits until the disk is full. The number of keys that were acknowledged.
fn fill_up(store: &RedbStore, durability: Durability) -> u32 {
    for number in 1_000.. {
        if store.commit(&[put(number, &[7; 2_000])], durability).is_err() {
            return number;
        }
    }
    unreachable!("the numbers do not end")
}

#[test]
fn a_full_disk_fails_commits_and_loses_no_key() {
    for room in [0, 10_000, 300_000, 1_000_000] {
        let (_folder, path) = closed();
        let store = RedbStore::open_limited(&path, room).expect("opened");
        let end = fill_up(&store, Durability::Synced);
        // redb refuses further commits until the file is opened again. Nothing else is lost meanwhile.
        assert!(store.commit(&[put(0, b"small")], Durability::Synced).is_err());
        for number in 0..end {
            let read = store.get(Space::Values, &number.to_be_bytes());
            assert!(read.is_err() || read.is_ok_and(|value| value.is_some()));
        }
        drop(store);
        let store = RedbStore::open(&path).expect("opened");
        assert!((0..end).all(|number| get(&store, number).is_some()), "after {room} bytes");
        fill(&store, end..end + 500);
        assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
    }
}

#[test]
fn a_full_disk_loses_no_key_that_was_synced() {
    let (_folder, path) = closed();
    let store = RedbStore::open_limited(&path, 100_000).expect("opened");
    let written = store.commit(&[put(5_000, &[7; 2_000_000])], Durability::Seen);
    let synced = store.commit(&[put(1, b"small")], Durability::Synced);
    assert!(written.is_err() || synced.is_err());
    drop(store);
    let store = RedbStore::open(&path).expect("opened");
    assert!((0..1_000).all(|number| get(&store, number).is_some()));
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
}

#[test]
fn a_panic_of_the_caller_goes_on_and_the_store_too() {
    let (_folder, path) = closed();
    let store = RedbStore::open(&path).expect("opened");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        store.scan(Space::Values, Bound::Unbounded, &mut |_, _| {
            assert!(!panics_become_errors(), "the caller's own code");
            std::panic::resume_unwind(Box::new("the caller's"))
        })
    }));
    assert_eq!(panicked.expect_err("a panic").downcast_ref::<&str>(), Some(&"the caller's"));
    fill(&store, 2_000..2_010);
    assert_eq!(store.verify().expect("no transaction is left"), Vec::<String>::new());
}

#[test]
fn a_check_waits_for_a_scan_that_asks_the_store() {
    let (_folder, path) = closed();
    let store = &RedbStore::open(&path).expect("opened");
    let (began, has_begun) = mpsc::channel();
    let (checked, is_checked) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            has_begun.recv().expect("a scan");
            checked.send(store.verify()).expect("sent");
        });
        let scanned = store.scan(Space::Values, Bound::Unbounded, &mut |_, _| {
            began.send(()).expect("sent");
            assert!(is_checked.recv_timeout(Duration::from_millis(100)).is_err(), "it did not wait");
            assert!(get(store, 3).is_some());
            false
        });
        scanned.expect("scanned");
        let checked = is_checked.recv_timeout(Duration::from_secs(20)).expect("in time");
        assert_eq!(checked.expect("checked"), Vec::<String>::new());
    });
}

#[test]
fn a_check_keeps_commits_that_are_not_synced_yet() {
    let (_folder, path) = closed();
    let store = RedbStore::open(&path).expect("opened");
    store.commit(&[put(1_000, b"seen")], Durability::Seen).expect("committed");
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
    assert_eq!(get(&store, 1_000).as_deref(), Some(&b"seen"[..]));
}

#[test]
fn a_check_repairs_a_file_whose_last_commit_is_damaged() {
    let (_folder, path) = closed();
    let store = RedbStore::open(&path).expect("opened");
    fill(&store, 1_000..1_001);
    let before = bytes(&path);
    fill(&store, 1_001..1_002);
    let mut after = bytes(&path);
    let changed =
        |page: &usize| before.get(page * PAGE..(page + 1) * PAGE) != after.get(page * PAGE..(page + 1) * PAGE);
    let pages: Vec<usize> = (1..after.len() / PAGE).filter(changed).collect();
    assert!(!pages.is_empty());
    pages.iter().for_each(|page| after[page * PAGE..][..PAGE].fill(0x55));
    std::fs::write(&path, after).expect("written");
    let problems = store.verify().expect("repaired");
    assert!(matches!(&problems[..], [problem] if problem.contains("was repaired")), "{problems:?}");
    assert_eq!((get(&store, 1_000).is_some(), get(&store, 1_001)), (true, None));
    fill(&store, 1_001..1_100);
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
}

/// Opens the file once for each page that holds something, and damages that page behind redb's back. (With debug
/// assertions redb reads all pages when it opens a file.) Gives `work` the store, the bytes that the file had before it
/// was opened, with the damage, and the place.
fn with_each_page_damaged(path: &Path, mut work: impl FnMut(RedbStore, Vec<u8>, usize)) {
    let sound = bytes(path);
    for page in (1..sound.len() / PAGE).map(|page| page * PAGE).filter(|page| sound[*page] != 0) {
        std::fs::write(path, &sound).expect("written");
        let store = RedbStore::open_with(path, &RedbOptions::new().cache(0)).expect("opened");
        // Where the first key ends. In a branch page, checksums and pointers come first.
        let children = usize::from(u16::from_le_bytes([sound[page + 2], sound[page + 3]])) + 1;
        let at = page + if sound[page] == 1 { 7 } else { 8 + 24 * children + 3 };
        let mut damaged = sound.clone();
        damaged[at] ^= 0x40;
        write_byte(path, at, damaged[at]);
        work(store, damaged, at);
    }
}

fn write_byte(path: &Path, at: usize, byte: u8) {
    let mut file = std::fs::OpenOptions::new().write(true).open(path).expect("opened");
    file.seek(SeekFrom::Start(at as u64)).expect("found");
    file.write_all(&[byte]).expect("written");
}

#[test]
fn a_check_that_cannot_repair_a_file_leaves_it_as_it_is() {
    quiet_hook();
    let (_folder, path) = closed();
    let mut found = 0;
    with_each_page_damaged(&path, |store, damaged, _| {
        let Err(error) = store.verify() else { return };
        assert!(matches!(error, RedbError::Damaged(_)), "{error}");
        assert!(error.to_string().contains("restore the file from a backup"));
        // What redb has in memory now may be an older state.
        assert!(store.get(Space::Values, b"a key").is_err() && store.verify().is_err());
        drop(store);
        assert!(bytes(&path) == damaged);
        assert!(!is_in_use(RedbStore::open(&path)));
        found += 1;
    });
    assert!(found > 3, "{found} pages");
}

#[test]
fn a_commit_that_meets_a_damaged_page_changes_nothing() {
    quiet_hook();
    let (_folder, path) = closed();
    let mut found = 0;
    with_each_page_damaged(&path, |store, damaged, at| {
        let everywhere: Vec<Change> = (0..1_000).step_by(10).map(|number| put(number, b"new")).collect();
        let Err(CommitError::Failed(RedbError::Damaged(what))) = store.commit(&everywhere, Durability::Synced) else {
            return;
        };
        if what.contains("redb gave up") {
            let again = store.commit(&[put(1, b"new")], Durability::Synced);
            assert!(matches!(again, Err(CommitError::Failed(RedbError::Damaged(again))) if again == what));
            drop(store);
            // The file was closed properly, as far as redb knows. Without the damage, all is as it was.
            let left = bytes(&path);
            assert!(left[..PAGE] == damaged[..PAGE] && left.len() == damaged.len());
            write_byte(&path, at, damaged[at] ^ 0x40);
            let store = RedbStore::open(&path).expect("sound again");
            assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
            assert!((0..1_000).all(|number| get(&store, number).is_some_and(|value| value != b"new")));
            found += 1;
        }
    });
    assert!(found > 0);
}

#[test]
fn a_scan_gives_keys_in_order_or_an_error() {
    quiet_hook();
    let (_folder, path) = closed();
    let sound = bytes(&path);
    let leaves: Vec<usize> = (1..sound.len() / PAGE).filter(|page| sound[page * PAGE] == 1).collect();
    let mut found = 0;
    for pair in leaves.windows(2) {
        std::fs::write(&path, &sound).expect("written");
        let store = RedbStore::open_with(&path, &RedbOptions::new().cache(0)).expect("opened");
        // The two pages change places behind redb's back.
        let mut swapped = bytes(&path);
        for (page, other) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            swapped[page * PAGE..][..PAGE].copy_from_slice(&sound[other * PAGE..][..PAGE]);
        }
        std::fs::write(&path, swapped).expect("written");
        let mut last = None;
        let scanned = store.scan(Space::Values, Bound::Unbounded, &mut |key, _| {
            assert!(last.as_deref() < Some(key));
            last = Some(key.to_vec());
            true
        });
        found += u32::from(scanned.is_err_and(|error| error.to_string().contains("not in order")));
        // A reader that goes on after the last key must come to an end too.
        let mut last: Option<Vec<u8>> = None;
        loop {
            let (before, mut more) = (last.clone(), 0);
            let from = before.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let scanned = store.scan(Space::Values, from, &mut |key, _| {
                assert!(last.as_deref() < Some(key), "it goes back");
                last = Some(key.to_vec());
                more += 1;
                more < 7
            });
            if scanned.is_err() || more < 7 {
                break;
            }
        }
    }
    assert!(found > 0);
}
