//! A filter that takes another hash key: the index is written once more beside the old one, a few keys with each insertion, and
//! one commit switches. Whatever fails on the way, no key is lost and nothing is left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::Path;
use twiceshy::hash::HashKey;
use twiceshy_store::faulty::{Faulty, FaultyError};
use twiceshy_store::{
    Change, Checked, Durability, Error, Guard, Kind, Memory, MemoryError, MemoryStore, Options, Space, Store,
};

type Exact = BTreeSet<u64>;
type Failure = Error<FaultyError<MemoryError>>;

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

/// Those that are rebuilt beside the filter in use.
fn kinds() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|kind| !kind.learning_writes())
}

const KEYS: u64 = 300;
/// Enough changes for all keys to come over and for the old entries to go.
const CHANGES: u64 = 40;

fn options_of(kind: Kind) -> Options {
    Options::new().filter(kind).false_positive_rate(0.1).background(false).hash_key(HashKey::fixed(1))
}

fn guarded(kind: Kind) -> (Guard<Faulty<MemoryStore>>, Exact) {
    let guard = options_of(kind).open(Faulty::new(MemoryStore::new())).expect("an empty store");
    guard.insert_all((0..KEYS).map(|number| (key(number), b""))).expect("nothing fails yet");
    (guard, (0..KEYS).collect())
}

/// The `step`-th change: mostly insertions, which bring other keys over, and some removals.
fn change(step: u64, guard: &Guard<Faulty<MemoryStore>>, exact: &mut Exact) -> Result<(), Failure> {
    match step % 3 {
        2 => {
            guard.remove(&key(step * 5))?;
            exact.remove(&(step * 5));
        }
        _ => {
            guard.insert(&key(1_000 + step), b"")?;
            exact.insert(1_000 + step);
        }
    }
    Ok(())
}

fn agrees<S: Store>(guard: &Guard<S>, exact: &Exact, when: &str) {
    for number in (0..KEYS).chain(1_000..1_000 + CHANGES) {
        let found = guard.contains(&key(number)).expect("it answers");
        assert_eq!(found, exact.contains(&number), "{when}: key {number}");
    }
    assert_eq!(guard.len().expect("it answers"), exact.len() as u64, "{when}");
    assert_eq!(guard.check().expect("it answers"), Checked::Sound, "{when}");
}

/// The generations of the index, with their entries.
fn generations<S: Store>(store: &S) -> BTreeMap<u32, Vec<Vec<u8>>> {
    let mut found: BTreeMap<u32, Vec<Vec<u8>>> = BTreeMap::new();
    let add = &mut |entry: &[u8], _: &[u8]| {
        let generation = u32::from_be_bytes(*entry.first_chunk().expect("an entry"));
        found.entry(generation).or_default().push(entry.to_vec());
        true
    };
    store.scan(Space::Index, Bound::Unbounded, add).expect("it answers");
    found
}

/// Checks that only one generation has entries, all of the set's, and returns it.
fn only_generation<S: Store>(store: &S, exact: &Exact, when: &str) -> u32 {
    let found = generations(store);
    let numbers: Vec<u32> = found.keys().copied().collect();
    assert_eq!(numbers.len(), 1, "{when}: generations {numbers:?}");
    let entries = &found[&numbers[0]];
    let first: BTreeSet<&[u8]> = entries.iter().filter(|entry| entry[4] == 0).map(|entry| &entry[13..]).collect();
    assert_eq!(first.len(), exact.len(), "{when}");
    assert!(exact.iter().all(|number| first.contains(&key(*number)[..])), "{when}");
    assert_eq!(entries.len() % exact.len(), 0, "{when}: every key has an entry in each order");
    numbers[0]
}

/// `true` if the index is ordered by the hash key that the store was created with.
fn has_first_hash_key<S: Store>(store: &S) -> bool {
    let found = generations(store);
    let entry = found.values().flatten().find(|entry| entry[4] == 0).expect("some key");
    let word = u64::from_be_bytes(entry[5..13].try_into().expect("eight bytes"));
    HashKey::fixed(1).words(&entry[13..]).word(0) == word
}

/// The contents of a store at this moment, as a killed process leaves them.
fn copy<S: Store>(store: &S) -> Memory {
    let memory = Memory::new();
    let mut changes = Vec::new();
    for space in Space::ALL {
        let add = &mut |key: &[u8], value: &[u8]| {
            changes.push(Change { space, key: key.to_vec(), value: Some(value.to_vec()) });
            true
        };
        store.scan(space, Bound::Unbounded, add).expect("it answers");
    }
    memory.open().expect("nobody has it open").commit(&changes, Durability::Synced).expect("memory");
    memory
}

/// The length of the state record: it names each generation that was begun.
fn state_len<S: Store>(store: &S) -> usize {
    store.get(Space::Meta, b"state").expect("it answers").expect("a state").len()
}

/// Opens what a killed process left, and works on it until nothing is left of what it had begun.
///
/// Where asked to, it takes another hash key at once, although the entries of one that was begun are still there.
fn reopened(memory: &Memory, kind: Kind, snapshot: Option<&Path>, exact: &Exact, asks: bool, when: &str) -> (u64, u32) {
    let options = snapshot.into_iter().fold(options_of(kind), |options, path| options.snapshot(path));
    let guard = options.open(memory.open().expect("nobody has it open")).expect("its own store");
    let mut exact = exact.clone();
    agrees(&guard, &exact, when);
    let rebuilt = guard.stats().rebuilt;
    if asks {
        guard.ask_for_hash_key().expect("memory");
    }
    for number in 1_000..1_040 {
        guard.insert(&key(number), b"").expect("memory");
        exact.insert(number);
    }
    agrees(&guard, &exact, when);
    // Changes of nothing delete old entries, too.
    (0..60).for_each(|_| assert!(!guard.remove(&key(50_000)).expect("memory"), "{when}"));
    let generation = only_generation(guard.store(), &exact, when);
    assert_eq!(guard.stats().grown, u64::from(asks), "{when}");
    let fresh = options_of(kind).open(MemoryStore::new()).expect("an empty store");
    assert_eq!(state_len(guard.store()), state_len(fresh.store()), "{when}: an abandoned generation is remembered");
    guard.close().expect("memory");
    (rebuilt, generation)
}

#[test]
fn a_filter_takes_another_hash_key_a_few_keys_at_a_time() {
    for kind in kinds() {
        let (guard, mut exact) = guarded(kind);
        let (cells, mut both) = (guard.stats().cells, 0);
        guard.ask_for_hash_key().expect("memory");
        for step in 0..CHANGES {
            change(step, &guard, &mut exact).expect("nothing fails");
            agrees(&guard, &exact, &format!("{kind}, change {step}"));
            both += u32::from(generations(guard.store()).len() == 2);
        }
        let stats = guard.stats();
        assert_eq!((stats.grown, stats.rebuilt, stats.cells), (1, 0, cells), "{kind}");
        assert!(both > 8, "{kind}: it was not spread over changes, {both}");
        assert_eq!(only_generation(guard.store(), &exact, kind.name()), 1);
        assert!(!has_first_hash_key(guard.store()), "{kind}");
        // What it learns from now on, it learns under the new hash key.
        for number in 5_000..9_000 {
            assert!(!guard.contains(&key(number)).expect("memory"));
        }
        agrees(&guard, &exact, kind.name());
        // And once more.
        guard.ask_for_hash_key().expect("memory");
        for step in 0..1_500 {
            guard.insert(&key(2_000), b"").expect("memory");
            guard.remove(&key(2_000)).expect("memory");
            if guard.stats().grown == 2 && step % 50 == 0 {
                break;
            }
        }
        (0..40).for_each(|_| assert!(!guard.remove(&key(2_000)).expect("memory")));
        agrees(&guard, &exact, kind.name());
        assert_eq!(only_generation(guard.store(), &exact, kind.name()), 2);
    }
}

#[test]
fn whatever_call_fails_or_is_the_last_the_filter_takes_its_hash_key_in_the_end() {
    for kind in kinds() {
        let mut calls = 0;
        loop {
            let when = format!("{kind}, failing after {calls} calls");
            let (guard, mut exact) = guarded(kind);
            guard.ask_for_hash_key().expect("memory");
            guard.store().fail_after(calls);
            let mut failed = 0;
            for step in 0..CHANGES {
                match change(step, &guard, &mut exact) {
                    Ok(()) => {}
                    Err(Error::Store(FaultyError::Told)) => {
                        failed += 1;
                        agrees(&guard, &exact, &when);
                        let killed = copy(guard.store());
                        reopened(&killed, kind, None, &exact, false, &format!("{when}, then killed"));
                        change(step, &guard, &mut exact).expect("it fails once");
                    }
                    Err(other) => panic!("{when}: {other}"),
                }
            }
            let untouched = guard.store().heal();
            agrees(&guard, &exact, &when);
            let stats = guard.stats();
            assert!(failed < 2 && stats.rebuilt == 0 && stats.grown == 1, "{when}: {stats:?}");
            assert_eq!(only_generation(guard.store(), &exact, &when), 1);
            if untouched {
                break;
            }
            calls += 1 + calls / 12;
        }
        assert!(calls > 40, "{kind}: {calls} calls");
    }
}

#[test]
fn a_lost_answer_on_the_way_is_found_out() {
    for kind in kinds() {
        for (lost, happens) in (0..24).flat_map(|lost| [(lost, true), (lost, false)]) {
            let when = format!("{kind}, change {lost}, happens {happens}");
            let (guard, mut exact) = guarded(kind);
            guard.ask_for_hash_key().expect("memory");
            for step in 0..CHANGES {
                if step == lost {
                    guard.store().lose_answer(happens);
                }
                let before = exact.clone();
                match change(step, &guard, &mut exact) {
                    Ok(()) => {}
                    // A step of the re-keying itself: the change was not made.
                    Err(Error::Store(FaultyError::Told)) => change(step, &guard, &mut exact).expect("it answers again"),
                    Err(Error::Unknown(_)) => {
                        // Right before anybody has asked what became of it.
                        for number in &before {
                            let found = guard.contains(&key(*number)).expect("it answers");
                            assert!(found || happens && step % 3 == 2, "{when}: key {number}");
                        }
                        let killed = copy(guard.store());
                        let mut now = before.clone();
                        if happens {
                            match step % 3 {
                                2 => drop(now.remove(&(step * 5))),
                                _ => drop(now.insert(1_000 + step)),
                            }
                        }
                        reopened(&killed, kind, None, &now, false, &format!("{when}, then killed"));
                        agrees(&guard, &now, &when);
                        change(step, &guard, &mut exact).expect("it answers again");
                    }
                    Err(other) => panic!("{when}: {other}"),
                }
                if step == lost {
                    agrees(&guard, &exact, &when);
                }
            }
            agrees(&guard, &exact, &when);
            assert_eq!(only_generation(guard.store(), &exact, &when), 1);
            assert_eq!(guard.stats().rebuilt, 0, "{when}");
        }
    }
}

#[test]
fn a_store_killed_on_the_way_begins_again_with_one_hash_key_or_the_other() {
    let folder = tempfile::tempdir().expect("a folder");
    for kind in kinds() {
        let path = folder.path().join(kind.name());
        for saves_at in [None, Some(0), Some(6), Some(20)] {
            let _ = std::fs::remove_file(&path);
            let guard = options_of(kind).snapshot(&path).open(Faulty::new(MemoryStore::new())).expect("an empty store");
            guard.insert_all((0..KEYS).map(|number| (key(number), b""))).expect("memory");
            let mut exact: Exact = (0..KEYS).collect();
            guard.ask_for_hash_key().expect("memory");
            let (mut seen, mut used) = (BTreeSet::new(), 0);
            for step in 0..CHANGES / 2 + 6 {
                change(step % 18, &guard, &mut exact).expect("nothing fails");
                if Some(step) == saves_at {
                    guard.save().expect("a folder");
                }
                let when = format!("{kind}, killed after change {step}, saved at {saves_at:?}");
                let theirs = folder.path().join("killed");
                let reopened = |asks: bool, when: &str| {
                    let _ = std::fs::copy(&path, &theirs);
                    let opened = reopened(&copy(guard.store()), kind, Some(&theirs), &exact, asks, when);
                    let _ = std::fs::remove_file(&theirs);
                    opened
                };
                let (rebuilt, generation) = reopened(false, &when);
                seen.insert(generation);
                let asked = format!("{when}, asked for another");
                assert_eq!(reopened(true, &asked).1, generation + 1, "{asked}");
                used += u32::from(rebuilt == 0);
            }
            assert_eq!(seen, BTreeSet::from([0, 1]), "{kind}, {saves_at:?}");
            // From the snapshot on, until the filter that it holds has no index any more.
            assert_eq!(used > 0, saves_at.is_some(), "{kind}, {saves_at:?}: {used} snapshots used");
            assert!(saves_at != Some(0) || used < 20, "{kind}: a snapshot under the old hash key was used");
        }
    }
}

#[test]
fn a_filter_that_must_grow_while_it_takes_another_hash_key_grows_first() {
    for kind in kinds() {
        for batch in [1, 400] {
            let (guard, mut exact) = guarded(kind);
            let cells = guard.stats().cells;
            // Close to where it grows.
            let mut number = 1_000;
            while (exact.len() as f64) < cells as f64 * 0.84 {
                guard.insert(&key(number), b"").expect("memory");
                exact.insert(number);
                number += 1;
            }
            guard.ask_for_hash_key().expect("memory");
            guard.insert(&key(number), b"").expect("memory");
            exact.insert(number);
            number += 1;
            for _ in 0..800 / batch {
                let numbers = number..number + batch;
                guard.insert_all(numbers.clone().map(|number| (key(number), b""))).expect("memory");
                exact.extend(numbers);
                number += batch;
            }
            assert!(guard.stats().cells > cells, "{kind}");
            assert_eq!(guard.stats().rebuilt, 0, "{kind}");
            assert!(exact.iter().all(|number| guard.contains(&key(*number)).expect("memory")), "{kind}");
            assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind}");
            (0..60).for_each(|_| assert!(!guard.remove(&key(1)).expect("memory") || exact.remove(&1)));
            let generation = only_generation(guard.store(), &exact, &format!("{kind}, batches of {batch}"));
            // With single insertions all keys came over before the table was full. A batch did not wait for that.
            assert_eq!(generation, u32::from(batch == 1), "{kind}");
        }
    }
}

/// Pairs of numbers whose keys have the same of `quotients` quotients under the first hash key, and agree in the first `bits`
/// bits of their strings: the closest pairs of 2^24 numbers.
fn close_pairs(quotients: u64, bits: u32) -> Vec<(u64, u64)> {
    let hash = HashKey::fixed(1);
    let of = |number: u64| {
        let key = key(number);
        let words = hash.words(&key);
        let quotient = ((u128::from(words.word(0)) * u128::from(quotients)) >> 64) as u64;
        let string = words.word(0) & 0xFF_FFFF | words.word(1) << 24;
        (quotient, string.reverse_bits() >> (64 - bits), number)
    };
    let mut all: Vec<_> = (10_000..10_000 + (1 << 24)).map(of).collect();
    all.sort_unstable();
    let close = all.windows(2).filter(|two| (two[0].0, two[0].1) == (two[1].0, two[1].1));
    close.map(|two| (two[0].2, two[1].2)).collect()
}

#[test]
fn a_query_that_the_hash_key_cannot_tell_from_a_key_is_told_apart_under_another() {
    let kind = Kind::Extension;
    let (cells, mut found) = (guarded(kind).0.stats().cells, 0);
    // The remainder has a few of these bits. An extension of all the others fits into no code.
    for (stored, query) in close_pairs(cells, 29) {
        let (guard, exact) = guarded(kind);
        guard.insert(&key(stored), b"").expect("memory");
        let is_wrong = || {
            let before = guard.stats().false_positives;
            assert!(!guard.contains(&key(query)).expect("memory"));
            guard.stats().false_positives > before
        };
        if !(0..5).all(|_| is_wrong()) {
            continue;
        }
        found += 1;
        (0..CHANGES).for_each(|step| assert!(guard.insert(&key(1_000 + step), b"").expect("memory")));
        let all = exact.into_iter().chain([stored]).chain(1_000..1_000 + CHANGES).collect();
        assert_eq!(only_generation(guard.store(), &all, "re-keyed"), 1);
        assert!(!has_first_hash_key(guard.store()));
        is_wrong();
        assert!(!is_wrong() && guard.contains(&key(stored)).expect("memory"), "it is told apart now");
        agrees_with(&guard, &all);
    }
    assert!(found > 5, "{found} pairs of keys are close enough");
}

fn agrees_with(guard: &Guard<Faulty<MemoryStore>>, exact: &Exact) {
    assert!(exact.iter().all(|number| guard.contains(&key(*number)).expect("memory")));
    assert_eq!(guard.check().expect("memory"), Checked::Sound);
}
