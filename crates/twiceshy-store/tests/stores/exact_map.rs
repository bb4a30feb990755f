//! A guarded store against an exact map, with every kind of filter.

use std::collections::BTreeMap;
use std::path::Path;
use twiceshy::hash::HashKey;
use twiceshy_store::{Adapt, Checked, Durability, Error, Guard, Kind, Memory, MemoryStore, Options, Store};

/// A small generator: the tests need no more.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 20) % bound
    }
}

fn key(number: u64) -> Vec<u8> {
    // Some keys are a prefix of others, one is empty.
    number.to_string().repeat(1 + number as usize % 3).into_bytes()[(number == 0).into()..].to_vec()
}

/// Guards a store with a snapshot in the folder.
fn guarded<S: Store>(store: S, folder: &Path, kind: Kind) -> Guard<S> {
    Options::new()
        .filter(kind)
        .false_positive_rate(0.05)
        .adapt(Adapt::Always)
        .durability(Durability::Seen)
        .hash_key(HashKey::fixed(3))
        .snapshot(folder.join("filter"))
        .open(store)
        .expect("a store of its own")
}

fn agree<S: Store>(guard: &Guard<S>, exact: &BTreeMap<Vec<u8>, Vec<u8>>, keys: u64) {
    for number in 0..keys {
        let key = key(number);
        assert_eq!(guard.get(&key).expect("it answers"), exact.get(&key).cloned(), "key {number}");
    }
    assert_eq!(guard.len().expect("it answers"), exact.len() as u64);
    let entries: BTreeMap<_, _> = guard.iter().collect::<Result<_, _>>().expect("it answers");
    assert_eq!(&entries, exact);
    assert_eq!(guard.check().expect("it answers"), Checked::Sound);
}

/// Random operations on a guarded store, which is closed and opened now and then.
fn runs_like_an_exact_map<S: Store>(kind: Kind, steps: u32, open_store: impl Fn() -> S) {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || guarded(open_store(), folder.path(), kind);
    let mut random = Random(kind.name().len() as u64 + 77);
    let mut exact = BTreeMap::new();
    let mut guard = open();
    let keys = u64::from(steps / 2);
    for step in 0..steps {
        let number = random.below(keys);
        let (key, value) = (key(number), random.next().to_le_bytes().to_vec());
        match random.below(100) {
            0..45 => {
                let new = exact.insert(key.clone(), value.clone()).is_none();
                assert_eq!(guard.insert(&key, &value).expect("it works"), new, "{kind}: insert {number}");
            }
            45..60 => {
                let stored = exact.remove(&key).is_some();
                assert_eq!(guard.remove(&key).expect("it works"), stored, "{kind}: remove {number}");
            }
            60..97 => assert_eq!(guard.get(&key).expect("it answers"), exact.get(&key).cloned(), "{kind}: {number}"),
            97 => {
                let entries: Vec<_> =
                    (0..random.below(60)).map(|_| (self::key(random.below(keys)), value.clone())).collect();
                guard.insert_all(entries.iter().cloned()).expect("it works");
                exact.extend(entries);
            }
            98 => {
                let keys: Vec<_> = (0..random.below(60)).map(|_| self::key(random.below(keys))).collect();
                guard.remove_all(&keys).expect("it works");
                keys.iter().for_each(|key| drop(exact.remove(key)));
            }
            _ if step % 5 == 0 => {
                // A clean close, or one that leaves the snapshot behind.
                if random.below(2) == 0 {
                    guard.save().expect("a folder");
                    let copy = std::fs::read(folder.path().join("filter")).expect("a snapshot");
                    for _ in 0..random.below(30) {
                        let key = self::key(random.below(keys));
                        guard.insert(&key, b"late").expect("it works");
                        exact.insert(key, b"late".to_vec());
                    }
                    drop(guard);
                    std::fs::write(folder.path().join("filter"), copy).expect("a folder");
                } else {
                    drop(guard);
                }
                guard = open();
            }
            _ => {}
        }
    }
    agree(&guard, &exact, keys);
    drop(guard);
    let guard = open();
    agree(&guard, &exact, keys);
    assert_eq!(guard.stats().rebuilt, 0, "{kind}: a clean close leaves a snapshot");
    assert_eq!(guard.repair().expect("it works").repaired, Vec::<String>::new(), "{kind}: there is nothing to repair");
}

#[test]
fn every_kind_of_filter_gives_the_answers_of_an_exact_map() {
    for kind in Kind::ALL {
        let memory = Memory::new();
        runs_like_an_exact_map(*kind, 12_000, || memory.open().expect("nobody has it open"));
    }
}

/// One that writes when it learns, and one that does not.
const KINDS: [Kind; 2] = [Kind::Telescoping, Kind::Broom];

#[cfg(feature = "redb")]
#[test]
fn a_guarded_redb_file_gives_the_answers_of_an_exact_map() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || twiceshy_store::RedbStore::open(folder.path().join("store")).expect("nobody has it open");
        runs_like_an_exact_map(kind, 4_000, open);
    }
}

#[cfg(feature = "fjall")]
#[test]
fn a_guarded_fjall_folder_gives_the_answers_of_an_exact_map() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || twiceshy_store::FjallStore::open(folder.path()).expect("nobody has it open");
        runs_like_an_exact_map(kind, 4_000, open);
    }
}

#[cfg(feature = "sqlite")]
#[test]
fn a_guarded_sqlite_file_gives_the_answers_of_an_exact_map() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || twiceshy_store::SqliteStore::open(folder.path().join("store")).expect("nobody has it open");
        runs_like_an_exact_map(kind, 4_000, open);
    }
}

#[cfg(feature = "redb")]
#[test]
fn a_store_is_made_only_where_that_is_wanted() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("set");
    let missing = Options::new().create(false).open_folder(&path);
    assert!(matches!(missing, Err(Error::NoStore)) && !path.exists(), "nothing is made on the way to a refusal");
    let made = Options::new().create_new(true).false_positive_rate(0.01).open_folder(&path).expect("a new store");
    assert_eq!(made.filter().expect("redb"), (Kind::Telescoping, 0.01));
    made.insert(b"key", b"value").expect("redb");
    made.close().expect("redb");
    assert!(matches!(Options::new().create_new(true).open_folder(&path), Err(Error::IsThere)));
    let again = Options::new().create(false).open_folder(&path).expect("a store");
    assert_eq!(again.get(b"key").expect("redb").as_deref(), Some(&b"value"[..]));

    let memory = Memory::new();
    let open = |options: Options| options.open(memory.open().expect("nobody has it open"));
    assert!(matches!(open(Options::new().create(false)), Err(Error::NoStore)));
    drop(open(Options::new()));
    assert!(matches!(open(Options::new().create_new(true)), Err(Error::IsThere)));
}

#[test]
fn a_batch_that_outgrows_the_table_in_the_making_goes_in() {
    for kind in Kind::ALL {
        for first in [900, 917, 925, 930] {
            let guard = Options::new().filter(*kind).open(MemoryStore::new()).expect("an empty store");
            let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
            // One by one up to the point where growth has begun, then more than the larger table holds.
            (0..first).for_each(|number| assert!(guard.insert(&key(number), b"").expect("memory")));
            let more = (first..first + 1_000).map(|number| (key(number), b""));
            assert_eq!(guard.insert_all(more).expect("memory"), 1_000, "{kind}");
            assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind} after {first}");
        }
    }
}
