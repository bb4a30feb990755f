//! Checks whether a store keeps the [contract](crate::Store), by trying it.
//!
//! For the tests of store implementations. The suite opens the same store several times, and describes the first violation:
//!
//! ```
//! use twiceshy_store::{Memory, contract};
//!
//! let memory = Memory::new();
//! contract::check(|| memory.open())?;
//! # Ok::<(), String>(())
//! ```

use crate::store::{Change, CommitError, Durability, Space, Store};
use std::fmt::Display;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};

type Verdict = Result<(), String>;

/// Tries everything that a store must do. `open` must open the same store each time, which is empty at first.
pub fn check<S: Store, E: Display>(mut open: impl FnMut() -> Result<S, E>) -> Verdict {
    let mut again = move || open().map_err(|error| format!("the store cannot be opened: {error}"));
    let store = again()?;
    maps_are_empty_and_apart(&store)?;
    scans_go_in_the_order_of_bytes(&store)?;
    a_commit_makes_its_changes_in_order(&store)?;
    short_and_long_entries_are_read_back(&store)?;
    no_read_sees_half_a_commit(&store)?;
    if again().is_ok() {
        return Err("the store can be opened twice at once: two guards would give wrong answers".into());
    }
    store.commit(&[put(Space::Values, b"seen", b"1")], Durability::Seen).map_err(failed)?;
    store.commit(&[put(Space::Meta, b"synced", b"2")], Durability::Synced).map_err(failed)?;
    drop(store);
    let store = again()?;
    expect(&store, Space::Values, b"seen", Some(b"1"))?;
    expect(&store, Space::Meta, b"synced", Some(b"2"))
}

fn put(space: Space, key: &[u8], value: &[u8]) -> Change {
    Change { space, key: key.to_vec(), value: Some(value.to_vec()) }
}

fn delete(space: Space, key: &[u8]) -> Change {
    Change { space, key: key.to_vec(), value: None }
}

fn failed(error: impl Display) -> String {
    format!("the store failed: {error}")
}

fn expect<S: Store>(store: &S, space: Space, key: &[u8], value: Option<&[u8]>) -> Verdict {
    let found = store.get(space, key).map_err(failed)?;
    let contained = store.contains(space, key).map_err(failed)?;
    if found.as_deref() != value || contained != value.is_some() {
        return Err(format!("{}: the key {key:02x?} has {found:02x?}, where {value:02x?} was stored", space.name()));
    }
    Ok(())
}

/// Up to `most` keys of a map from a bound on.
fn scanned<S: Store>(store: &S, space: Space, from: Bound<&[u8]>, most: usize) -> Result<Vec<Vec<u8>>, String> {
    let mut keys = Vec::new();
    let mut asked_on = false;
    let scan = store.scan(space, from, &mut |key, _| {
        asked_on |= keys.len() >= most;
        keys.push(key.to_vec());
        keys.len() < most
    });
    scan.map_err(failed)?;
    if asked_on { Err("a scan goes on when it was told to stop".into()) } else { Ok(keys) }
}

fn clear<S: Store>(store: &S) -> Verdict {
    for space in Space::ALL {
        let keys = scanned(store, space, Bound::Unbounded, usize::MAX)?;
        let changes: Vec<Change> = keys.iter().map(|key| delete(space, key)).collect();
        store.commit(&changes, Durability::Seen).map_err(failed)?;
    }
    Ok(())
}

fn maps_are_empty_and_apart<S: Store>(store: &S) -> Verdict {
    for space in Space::ALL {
        if !scanned(store, space, Bound::Unbounded, 9)?.is_empty() {
            return Err(format!("{} is not empty at first", space.name()));
        }
    }
    for space in Space::ALL {
        store.commit(&[put(space, b"key", space.name().as_bytes())], Durability::Seen).map_err(failed)?;
    }
    for space in Space::ALL {
        expect(store, space, b"key", Some(space.name().as_bytes()))?;
        store.commit(&[delete(space, b"key"), delete(space, b"never there")], Durability::Seen).map_err(failed)?;
        expect(store, space, b"key", None)?;
    }
    clear(store)
}

fn scans_go_in_the_order_of_bytes<S: Store>(store: &S) -> Verdict {
    let sorted: [&[u8]; 9] = [b"", b"\0", b"\0\0", b"a", b"a\0", b"ab", b"b", b"\x7f", b"\xff\xff"];
    let changes: Vec<Change> = sorted.iter().rev().map(|key| put(Space::Index, key, b"")).collect();
    store.commit(&changes, Durability::Seen).map_err(failed)?;
    for (at, key) in sorted.iter().enumerate() {
        for (from, first) in [(Bound::Included(*key), at), (Bound::Excluded(*key), at + 1), (Bound::Unbounded, 0)] {
            for most in [1, 2, 100] {
                let wanted: Vec<&[u8]> = sorted[first..].iter().copied().take(most).collect();
                if scanned(store, Space::Index, from, most)? != wanted {
                    return Err(format!("a scan from {from:02x?} does not return {wanted:02x?}"));
                }
            }
        }
    }
    // Between two keys, and after the last.
    if scanned(store, Space::Index, Bound::Included(b"aa"), 1)? != [b"ab"] {
        return Err("a scan from an absent key does not begin at the next key".into());
    }
    if !scanned(store, Space::Index, Bound::Excluded(b"\xff\xff"), 1)?.is_empty() {
        return Err("a scan finds something after the last key".into());
    }
    clear(store)
}

fn a_commit_makes_its_changes_in_order<S: Store>(store: &S) -> Verdict {
    let changes = [
        put(Space::Values, b"a", b"1"),
        put(Space::Values, b"a", b"2"),
        put(Space::Values, b"b", b"3"),
        delete(Space::Values, b"b"),
        delete(Space::Values, b"c"),
        put(Space::Values, b"c", b"4"),
    ];
    store.commit(&changes, Durability::Seen).map_err(failed)?;
    expect(store, Space::Values, b"a", Some(b"2"))?;
    expect(store, Space::Values, b"b", None)?;
    expect(store, Space::Values, b"c", Some(b"4"))?;
    store.commit(&[], Durability::Synced).map_err(failed)?;
    clear(store)
}

fn short_and_long_entries_are_read_back<S: Store>(store: &S) -> Verdict {
    let long = vec![7; 1 << 20];
    let key = &long[..store.longest_key().map_or(long.len(), |most| most.min(long.len()))];
    for (key, value) in [(&b""[..], &b""[..]), (b"k", b""), (b"", b"v"), (key, &long)] {
        store.commit(&[put(Space::Values, key, value)], Durability::Seen).map_err(failed)?;
        expect(store, Space::Values, key, Some(value))?;
    }
    if key.len() < long.len() {
        a_key_that_is_too_long_is_refused(store, &long[..=key.len()])?;
    }
    clear(store)
}

fn a_key_that_is_too_long_is_refused<S: Store>(store: &S, long: &[u8]) -> Verdict {
    // Of the other entries, this is the one after it.
    let after: [&[u8]; 1] = [b"k"];
    let refused = store.commit(&[put(Space::Values, b"with it", b""), put(Space::Values, long, b"")], Durability::Seen);
    if !matches!(refused, Err(CommitError::Failed(_))) {
        return Err("a key that is longer than the longest one is not refused".into());
    }
    expect(store, Space::Values, b"with it", None)?;
    expect(store, Space::Values, long, None)?;
    for from in [Bound::Included(long), Bound::Excluded(long)] {
        if scanned(store, Space::Values, from, 9)? != after {
            return Err("a scan from a key that is too long does not begin at the next key".into());
        }
    }
    Ok(())
}

fn no_read_sees_half_a_commit<S: Store>(store: &S) -> Verdict {
    // Many entries, so that a commit takes a while.
    const LAST: u8 = 99;
    let write = |number: u64| {
        let value = number.to_le_bytes();
        let changes: Vec<Change> = (0..=LAST).map(|key| put(Space::Values, &[key], &value)).collect();
        store.commit(&changes, Durability::Seen).map_err(failed)
    };
    write(0)?;
    let ended = AtomicBool::new(false);
    let torn = std::thread::scope(|threads| {
        let reader = threads.spawn(|| {
            while !ended.load(Ordering::Acquire) {
                look_ups_see_all_of_a_commit(store, [0, LAST])?;
                look_ups_see_all_of_a_commit(store, [LAST, 0])?;
                let mut values = Vec::new();
                let scan = store.scan(Space::Values, Bound::Unbounded, &mut |_, value| {
                    values.push(value.to_vec());
                    true
                });
                scan.map_err(failed)?;
                if values.len() != usize::from(LAST) + 1 || values.iter().any(|value| *value != values[0]) {
                    return Err(format!("a scan has seen a part of a commit: {values:02x?}"));
                }
            }
            Ok(())
        });
        let written = (1..200).try_for_each(write);
        ended.store(true, Ordering::Release);
        let read = reader.join().unwrap_or_else(|_| Err("a reader panicked".into()));
        written.and(read)
    });
    torn?;
    clear(store)
}

/// Each look-up is a read of its own, and the second one sees whatever the first has seen.
fn look_ups_see_all_of_a_commit<S: Store>(store: &S, keys: [u8; 2]) -> Verdict {
    let number = |key| {
        let value = store.get(Space::Values, &[key]).map_err(failed)?.unwrap_or_default();
        Ok::<_, String>(value.try_into().map(u64::from_le_bytes).ok())
    };
    let (first, second) = (number(keys[0])?, number(keys[1])?);
    if first.is_none() || first > second {
        return Err(format!("a look-up has seen commit {first:?}, and a later one of another key {second:?}"));
    }
    Ok(())
}
