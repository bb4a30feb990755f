//! An index entry that was damaged: no filter is built that lacks a key, and nobody is told that a stored key is absent.

use std::ops::Bound;
use twiceshy::hash::HashKey;
use twiceshy_store::{Change, Checked, Durability, Error, Guard, Kind, Memory, MemoryStore, Options, Space, Store};

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

const KEYS: u64 = 700;

fn open(memory: &Memory, kind: Kind) -> Guard<MemoryStore> {
    let options = Options::new().filter(kind).hash_key(HashKey::fixed(3));
    options.open(memory.open().expect("nobody has it open")).expect("its own store")
}

/// One entry of order 0.
fn some_entry(store: &MemoryStore) -> Vec<u8> {
    let (mut entries, mut chosen) = (0, None);
    let found = &mut |entry: &[u8], _: &[u8]| {
        entries += u32::from(entry[4] == 0);
        chosen = Some(entry.to_vec());
        entries < 50
    };
    store.scan(Space::Index, Bound::Unbounded, found).expect("memory");
    chosen.expect("an entry")
}

/// What may happen to an entry: a bit of its key, its word or its generation flips, or it is lost, or cut.
fn damages(entry: &[u8]) -> Vec<(&'static str, Option<Vec<u8>>)> {
    let flipped = |at: usize| {
        let mut damaged = entry.to_vec();
        damaged[at] ^= 4;
        Some(damaged)
    };
    vec![
        ("key", flipped(15)),
        ("word", flipped(12)),
        ("high bit of the word", flipped(5)),
        ("order", flipped(4)),
        ("generation", flipped(3)),
        ("cut", Some(entry[..entry.len() - 1].to_vec())),
        ("cut short", Some(entry[..9].to_vec())),
        ("lost", None),
    ]
}

fn damage(store: &MemoryStore, entry: &[u8], becomes: Option<Vec<u8>>) {
    let change = |key: Vec<u8>, value| Change { space: Space::Index, key, value };
    let mut changes = vec![change(entry.to_vec(), None)];
    changes.extend(becomes.map(|becomes| change(becomes, Some(Vec::new()))));
    store.commit(&changes, Durability::Synced).expect("memory");
}

fn has_all(guard: &Guard<MemoryStore>, when: &str) {
    assert!((0..KEYS).all(|number| guard.contains(&key(number)).expect("memory")), "{when}: a key is lost");
    assert!(!guard.contains(&key(KEYS + 5)).expect("memory"), "{when}");
}

#[test]
fn no_filter_is_rebuilt_from_a_damaged_index() {
    for kind in Kind::ALL {
        let cases = damages(&[0; 21]).len();
        for case in 0..cases {
            let memory = Memory::new();
            let guard = open(&memory, *kind);
            guard.insert_all((0..KEYS).map(|number| (key(number), b"value"))).expect("memory");
            drop(guard);
            let store = memory.open().expect("nobody has it open");
            let entry = some_entry(&store);
            let (what, becomes) = damages(&entry).swap_remove(case);
            let when = format!("{kind}, {what}");
            damage(&store, &entry, becomes);
            drop(store);
            let guard = open(&memory, *kind);
            for _ in 0..2 {
                let refused = guard.insert(&key(KEYS + 1), b"value");
                assert!(matches!(refused, Err(Error::Inconsistent)), "{when}: {refused:?}");
                assert!(matches!(guard.remove(&key(1)), Err(Error::Inconsistent)), "{when}");
                has_all(&guard, &when);
                assert!(matches!(guard.check(), Ok(Checked::StoreDamaged(_))), "{when}");
            }
            let text = guard.wait().expect_err("there is no filter").to_string();
            assert!(text.contains("twiceshy check --repair") && text.contains("Guard::repair"), "{text}");
            assert_eq!(guard.stats().rebuilt, 0, "{when}");
            drop(guard);
            has_all(&open(&memory, *kind), &when);
        }
    }
}

#[test]
fn a_filter_that_meets_a_damaged_entry_while_it_grows_is_given_up() {
    for kind in Kind::ALL.iter().filter(|kind| !kind.learning_writes()) {
        for case in 0..damages(&[0; 21]).len() {
            let memory = Memory::new();
            let guard = open(&memory, *kind);
            guard.insert_all((0..KEYS).map(|number| (key(number), b"value"))).expect("memory");
            let entry = some_entry(guard.store());
            let (what, becomes) = damages(&entry).swap_remove(case);
            let when = format!("{kind}, {what}");
            damage(guard.store(), &entry, becomes);
            // More than the first table holds.
            let inserted = (KEYS + 10..KEYS + 3_000).try_for_each(|number| guard.insert(&key(number), b"").map(drop));
            assert!(matches!(inserted, Err(Error::Inconsistent)), "{when}: {inserted:?}");
            has_all(&guard, &when);
            assert!(matches!(guard.insert(&key(KEYS + 5), b""), Err(Error::Inconsistent)), "{when}");
        }
    }
}
