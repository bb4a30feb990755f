//! Guarding stores that have values already.

use std::collections::BTreeMap;
use std::ops::Bound;
use twiceshy_store::faulty::{Faulty, FaultyError};
use twiceshy_store::{Change, Checked, Durability, Error, Guard, Kind, Memory, Options, Space, Store};

/// The families: one index entry a key, two, and two or three that move.
const KINDS: [Kind; 3] = [Kind::Telescoping, Kind::Swapping, Kind::Broom];

/// More than fit into one commit of index entries.
const KEYS: u64 = 2_500;

fn key(number: u64) -> Vec<u8> {
    // One is empty.
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[usize::from(number == 0) * 8..].to_vec()
}

fn value(number: u64) -> Vec<u8> {
    // Some have fewer bytes than a checksum.
    vec![b'v'; number as usize % 9]
}

fn put(store: &impl Store, space: Space, key: &[u8], value: Option<&[u8]>) {
    let change = Change { space, key: key.to_vec(), value: value.map(<[u8]>::to_vec) };
    store.commit(&[change], Durability::Synced).expect("it works");
}

fn all(store: &impl Store, space: Space) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut found = BTreeMap::new();
    let scanned = store.scan(space, Bound::Unbounded, &mut |key, value| {
        found.insert(key.to_vec(), value.to_vec());
        true
    });
    scanned.expect("it answers");
    found
}

/// A store with values that no guard wrote.
fn filled(keys: u64) -> Memory {
    let memory = Memory::new();
    let put = |number| Change { space: Space::Values, key: key(number), value: Some(value(number)) };
    let changes: Vec<Change> = (0..keys).map(put).collect();
    memory.open().expect("nobody has it open").commit(&changes, Durability::Synced).expect("memory");
    memory
}

fn options(kind: Kind) -> Options {
    Options::new().filter(kind).false_positive_rate(0.05).background(false)
}

/// Every key is there with its value, and everything works.
fn is_whole<S: Store>(guard: &Guard<S>, keys: u64, when: &str) {
    for number in 0..keys {
        assert_eq!(guard.get(&key(number)).expect("it answers"), Some(value(number)), "{when}: {number}");
    }
    assert_eq!((guard.len().expect("it counts"), guard.check().expect("it answers")), (keys, Checked::Sound), "{when}");
    assert!((keys..2 * keys).all(|number| !guard.contains(&key(number)).expect("it answers")), "{when}");
    assert!(guard.remove(&key(7)).expect("it works") && guard.insert(&key(7), &value(7)).expect("it works"), "{when}");
    assert!(guard.insert(b"new", b"later").expect("it works"), "{when}");
    assert_eq!(guard.get(b"new").expect("it answers").as_deref(), Some(&b"later"[..]), "{when}");
    assert!(guard.remove(b"new").expect("it works"), "{when}");
    assert_eq!(guard.check().expect("it answers"), Checked::Sound, "{when}");
    assert_eq!(guard.repair().expect("it works").repaired, Vec::<String>::new(), "{when}");
}

#[test]
fn values_that_no_guard_wrote_become_the_guarded_set() {
    for kind in KINDS {
        let (memory, folder) = (filled(KEYS), tempfile::tempdir().expect("a folder"));
        let options = || options(kind).snapshot(folder.path().join("filter"));
        let before = all(&memory.open().expect("nobody has it open"), Space::Values);
        let guard = options().take_over(true).open(memory.open().expect("nobody has it open")).expect("values alone");
        assert_eq!(all(guard.store(), Space::Values), before, "{kind}: the values are as before");
        assert!(all(guard.store(), Space::Meta).keys().eq([b"state"]), "{kind}: nothing else is left");
        is_whole(&guard, KEYS, kind.name());
        let stats = guard.stats();
        assert!(stats.turned_away > KEYS / 2, "{kind}: {stats:?}");
        guard.close().expect("memory");
        // It is a guarded store like others now.
        for take_over in [false, true] {
            let opened = options().take_over(take_over).open(memory.open().expect("nobody has it open"));
            let guard = opened.expect("its own store");
            assert_eq!(guard.stats().unfiltered, 0);
            is_whole(&guard, KEYS, kind.name());
            guard.close().expect("memory");
        }
    }
}

#[test]
fn without_the_option_such_a_store_is_refused_and_left_as_it_is() {
    let memory = filled(3);
    for options in [Options::new(), Options::new().read_only(true), Options::new().create(false)] {
        let refused = options.open(memory.open().expect("nobody has it open")).err().expect("a refusal");
        assert!(
            matches!(refused, Error::NotGuarded) && refused.to_string().contains("Options::take_over"),
            "{refused}"
        );
    }
    let for_reading = Options::new().take_over(true).read_only(true).open(memory.open().expect("nobody has it open"));
    assert!(matches!(for_reading, Err(Error::ReadOnly)));
    let impossible = Options::new().take_over(true).false_positive_rate(7.0);
    assert!(matches!(impossible.open(memory.open().expect("nobody has it open")), Err(Error::Options(_))));
    let store = memory.open().expect("nobody has it open");
    assert_eq!(Space::ALL.map(|space| all(&store, space).len()), [3, 0, 0, 0]);
}

#[test]
fn an_empty_store_is_made_anew_and_not_taken_over() {
    let guard = Options::new().take_over(true).open(Memory::new().open().expect("it is new")).expect("an empty store");
    guard.insert(b"key", b"value").expect("memory");
    assert_eq!(all(guard.store(), Space::Values)[&b"key"[..]].len(), b"value".len() + 4, "values have checksums");
}

#[test]
fn a_store_with_entries_in_other_maps_is_damaged_and_not_taken_over() {
    for space in [Space::Index, Space::Log, Space::Meta] {
        for keys in [0, 3] {
            let memory = filled(keys);
            put(&memory.open().expect("nobody has it open"), space, b"something", Some(b""));
            for options in [Options::new(), Options::new().take_over(true)] {
                let refused = options.open(memory.open().expect("nobody has it open"));
                assert!(matches!(refused, Err(Error::Damaged)), "{space:?}, {keys} keys");
            }
        }
    }
    // A guarded store that has lost its state record.
    let memory = Memory::new();
    let guard = Options::new().open(memory.open().expect("nobody has it open")).expect("an empty store");
    guard.insert(b"key", b"value").expect("memory");
    guard.close().expect("memory");
    put(&memory.open().expect("nobody has it open"), Space::Meta, b"state", None);
    let refused = Options::new().take_over(true).open(memory.open().expect("nobody has it open"));
    assert!(matches!(refused, Err(Error::Damaged)));
}

#[test]
fn whatever_call_fails_the_store_can_be_taken_over_again() {
    for kind in KINDS {
        for calls in 0.. {
            let when = format!("{kind}, failing after {calls} calls");
            let memory = filled(KEYS);
            let faulty = Faulty::new(memory.open().expect("nobody has it open"));
            faulty.fail_after(calls);
            let opened = options(kind).take_over(true).open(faulty);
            let failed = match &opened {
                Err(Error::Store(FaultyError::Told)) => true,
                Err(other) => panic!("{when}: {other}"),
                Ok(guard) => !guard.store().heal(),
            };
            let half_way = opened.is_err();
            drop(opened);
            if half_way {
                let refused = options(kind).open(memory.open().expect("nobody has it open"));
                match refused {
                    // The last call was one that deletes what is left of the index.
                    Ok(_) | Err(Error::NotGuarded) => {}
                    Err(other) => panic!("{when}: {other}"),
                }
            }
            let again = options(kind).take_over(true).open(memory.open().expect("nobody has it open"));
            is_whole(&again.expect(&when), KEYS, &when);
            if !failed {
                assert!(calls > 12, "there are more calls than that");
                break;
            }
        }
    }
}

#[test]
fn a_take_over_whose_answer_is_lost_is_begun_again_or_complete() {
    for happens in [true, false] {
        let memory = filled(KEYS);
        let faulty = Faulty::new(memory.open().expect("nobody has it open"));
        faulty.lose_answer(happens);
        let lost = options(Kind::Telescoping).take_over(true).open(faulty);
        assert!(matches!(lost, Err(Error::Unknown(_))));
        drop(lost);
        let again = options(Kind::Telescoping).take_over(true).open(memory.open().expect("nobody has it open"));
        is_whole(&again.expect("values"), KEYS, "again");
    }
}

#[test]
fn values_that_are_changed_after_an_interrupted_take_over_are_taken_as_they_are() {
    let memory = filled(KEYS);
    let faulty = Faulty::new(memory.open().expect("nobody has it open"));
    // In the middle of the index.
    faulty.fail_after(21);
    assert!(options(Kind::Telescoping).take_over(true).open(faulty).is_err());
    let store = memory.open().expect("nobody has it open");
    assert!(!all(&store, Space::Index).is_empty() && all(&store, Space::Index).len() < KEYS as usize);
    put(&store, Space::Values, &key(3), None);
    put(&store, Space::Values, b"another", Some(b"value"));
    drop(store);
    let guard = options(Kind::Telescoping).take_over(true).open(memory.open().expect("nobody has it open"));
    let guard = guard.expect("values");
    assert!(!guard.contains(&key(3)).expect("memory") && guard.contains(b"another").expect("memory"));
    assert_eq!((guard.len().expect("memory"), guard.check().expect("memory")), (KEYS, Checked::Sound));
    assert_eq!(all(guard.store(), Space::Index).len(), KEYS as usize, "the entries of the first attempt are deleted");
}
