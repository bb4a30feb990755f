//! redb's checksums, compared when pages are read: a sound file is never refused, and a damaged one is not changed.
#![cfg(feature = "redb")]

use super::support::quiet_hook;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use twiceshy_store::{Change, CommitError, Durability, RedbError, RedbOptions, RedbStore, Space, Store};

const PAGE: usize = 4_096;

/// A small generator: the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((word ^ word >> 31) % end as u64) as usize
    }
}

fn key(number: usize) -> Vec<u8> {
    format!("key {number:06}").into_bytes()
}

fn put(number: usize, length: usize) -> Change {
    Change { space: Space::Values, key: key(number), value: Some(vec![number as u8; length]) }
}

fn remove(number: usize) -> Change {
    Change { space: Space::Values, key: key(number), value: None }
}

type Contents = BTreeMap<Vec<u8>, Vec<u8>>;

fn contents(store: &RedbStore) -> Contents {
    let mut all = Contents::new();
    let scanned = store.scan(Space::Values, Bound::Unbounded, &mut |key, value| {
        all.insert(key.to_vec(), value.to_vec());
        true
    });
    scanned.expect("readable");
    all
}

fn apply(model: &mut Contents, changes: &[Change]) {
    for change in changes {
        match &change.value {
            Some(value) => model.insert(change.key.clone(), value.clone()),
            None => model.remove(&change.key),
        };
    }
}

/// Changes of a few or many keys. Some values need pages of several sizes.
fn changes(random: &mut Random, keys: usize) -> Vec<Change> {
    let count = [1, 10, 300][random.below(3)];
    let length = [0, 50, 500, 5_000, 100_000][random.below(if count > 10 { 3 } else { 5 })];
    let removes = random.below(3) == 0;
    let number = |random: &mut Random| random.below(keys);
    let numbers: Vec<usize> = (0..count).map(|_| number(random)).collect();
    numbers.into_iter().map(|number| if removes { remove(number) } else { put(number, length) }).collect()
}

/// Opens a copy of a file that is in use, as a crash leaves it.
fn open_crashed(path: &Path, model: &Contents) {
    let copy = path.with_extension("copy");
    std::fs::copy(path, &copy).expect("a copy");
    let read = RedbStore::open_read_only(&copy).expect("readable");
    assert!(contents(&read) == *model);
    drop(read);
    let store = RedbStore::open(&copy).expect("repaired");
    assert!(contents(&store) == *model);
    store.commit(&[put(1, 10)], Durability::Synced).expect("committed");
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
}

#[test]
fn a_sound_file_is_never_refused() {
    for (seed, keys) in [1, 10, 200, 2_000, 20_000, 20_000].into_iter().enumerate() {
        let mut random = Random(seed as u64);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("store.redb");
        let mut model = Contents::new();
        for _ in 0..8 {
            // With a small cache, pages are read again and again, and written before their commit.
            let cache = [0, 50_000, RedbOptions::CACHE][random.below(3)];
            let store = RedbStore::open_with(&path, &RedbOptions::new().cache(cache)).expect("opened");
            assert!(contents(&store) == model);
            if random.below(4) == 0 {
                open_crashed(&path, &model);
            }
            for _ in 0..random.below(12) {
                let durability = if random.below(3) > 0 { Durability::Seen } else { Durability::Synced };
                let changes = changes(&mut random, keys);
                store.commit(&changes, durability).expect("committed");
                apply(&mut model, &changes);
                if durability == Durability::Synced && random.below(4) == 0 {
                    open_crashed(&path, &model);
                }
            }
            if random.below(3) == 0 {
                assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
            }
            drop(store);
            let read = RedbStore::open_read_only(&path).expect("readable");
            assert!(contents(&read) == model);
        }
    }
}

#[test]
fn a_last_commit_that_a_crash_has_torn_does_not_stop_later_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, torn) = (folder.path().join("store.redb"), folder.path().join("torn.redb"));
    drop(RedbStore::open(&path).expect("a store"));
    let store = RedbStore::open(&path).expect("a store");
    let changes: Vec<Change> = (0..1_000).map(|number| put(number, 20)).collect();
    store.commit(&changes, Durability::Synced).expect("committed");
    let (before, whole) = (std::fs::read(&path).expect("the file"), contents(&store));
    store.commit(&[put(1, 30)], Durability::Synced).expect("committed");
    let mut file = std::fs::read(&path).expect("the file");
    for (page, old) in file.chunks_mut(PAGE).zip(before.chunks(PAGE)).skip(1) {
        if page != old {
            page.fill(0x55);
        }
    }
    std::fs::write(&torn, file).expect("written");
    let store = RedbStore::open(&torn).expect("redb goes back by one commit");
    assert!(contents(&store) == whole);
    store.commit(&[put(1, 30)], Durability::Synced).expect("committed");
    assert_eq!(store.verify().expect("checked"), Vec::<String>::new());
}

/// A file with a branch page, closed.
fn closed(path: &Path) -> Vec<u8> {
    let store = RedbStore::open(path).expect("a store");
    for start in 0..10 {
        let changes: Vec<Change> = (start..3_000).step_by(10).map(|number| put(number, number % 60)).collect();
        store.commit(&changes, Durability::Synced).expect("committed");
    }
    drop(store);
    std::fs::read(path).expect("the file")
}

/// Where the pointers of the branch pages are that the store uses. Free pages may hold older ones.
fn pointers(file: &[u8], path: &Path) -> Vec<usize> {
    let mut all = Vec::new();
    for page in (1..file.len() / PAGE).map(|page| page * PAGE).filter(|page| file[*page] == 2) {
        let children = usize::from(u16::from_le_bytes([file[page + 2], file[page + 3]])) + 1;
        let start = page + 8 + 16 * children;
        // A bit of a pointer that redb ignores: without the checksum nothing would happen.
        damage(file, path, start + 5, 5);
        // It is refused if the page belongs to redb's own tables.
        let Ok(store) = RedbStore::open(path) else { continue };
        if change_everything(&store).iter().any(Result::is_err) {
            all.extend(start..start + 8 * children);
        }
    }
    all
}

fn damage(file: &[u8], path: &Path, at: usize, bit: usize) {
    let mut damaged = file.to_vec();
    damaged[at] ^= 1 << bit;
    std::fs::write(path, &damaged).expect("written");
}

/// Changes all over the store, many times. The results of the commits.
fn change_everything(store: &RedbStore) -> Vec<Result<(), CommitError<RedbError>>> {
    let mut results = Vec::new();
    for start in 0..6 {
        let some = (start..3_000).step_by(50).map(|number| put(number, number % 50)).collect();
        let fewer = (start..3_000).step_by(61).map(remove).collect();
        let row = (start * 400..start * 400 + 300).map(remove).collect();
        let all: [(Vec<Change>, _); 3] =
            [(some, Durability::Synced), (fewer, Durability::Seen), (row, Durability::Synced)];
        results.extend(all.into_iter().map(|(changes, durability)| store.commit(&changes, durability)));
    }
    results
}

#[test]
fn no_commit_follows_a_damaged_pointer() {
    quiet_hook();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.redb");
    let file = closed(&path);
    let (pointers, mut random) = (pointers(&file, &path), Random(3));
    assert!(pointers.len() > 100);
    let mut stopped = 0;
    // In a build without debug assertions, some of these used to abort the process.
    for _ in 0..1_000 {
        let (at, bit) = (pointers[random.below(pointers.len())], random.below(8));
        damage(&file, &path, at, bit);
        let Ok(store) = RedbStore::open(&path) else { continue };
        let results = change_everything(&store);
        let failed = |result: &Result<(), _>| matches!(result, Err(CommitError::Failed(RedbError::Damaged(_))));
        assert!(results.iter().all(failed), "bit {bit} of byte {at}: {results:?}");
        stopped += 1;
    }
    println!("{} files were refused, and {stopped} not changed", 1_000 - stopped);
    assert!(stopped > 100);
}

#[test]
fn a_damaged_page_stops_commits_but_not_reads() {
    quiet_hook();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("store.redb");
    let file = closed(&path);
    let mut stopped = 0;
    for page in (1..file.len() / PAGE).map(|page| page * PAGE).filter(|page| file[*page] == 1) {
        // In a leaf of many keys, a byte of a value.
        if file[page + 2] < 20 {
            continue;
        }
        damage(&file, &path, page + 2_000, 0);
        let Ok(store) = RedbStore::open(&path) else { continue };
        assert_eq!(contents(&store).len(), 3_000);
        let commit = || store.commit(&[put(1, 10)], Durability::Synced);
        if commit().is_ok() {
            continue;
        }
        assert!(commit().is_err_and(|error| error.to_string().contains("is not as redb wrote it")));
        assert_eq!(contents(&store).len(), 3_000);
        assert!(store.verify().is_err());
        stopped += 1;
    }
    assert!(stopped > 20, "{stopped}");
}
