//! The figures of a guard come from memory, and follow what is committed.

use std::sync::atomic::{AtomicBool, Ordering};
use twiceshy_store::faulty::Faulty;
use twiceshy_store::hooked::{Call, Hook, Hooked};
use twiceshy_store::{Change, Durability, Guard, Kind, Memory, MemoryStore, Options, Space, Store};

/// The store can no longer be read.
#[derive(Default)]
struct Unreadable {
    broken: AtomicBool,
}

impl Hook for Unreadable {
    fn before(&self, call: Call<'_>) {
        assert!(matches!(call, Call::Commit(..)) || !self.broken.load(Ordering::SeqCst), "the store was read");
    }
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

#[test]
fn stats_read_no_store() {
    let store = Hooked { inner: MemoryStore::new(), hook: Unreadable::default() };
    let guard = Options::new().background(false).open(store).expect("an empty store");
    guard.insert_all((0..50).map(|number| (key(number), b""))).expect("memory");
    guard.store().hook.broken.store(true, Ordering::SeqCst);
    let stats = guard.stats();
    assert_eq!(stats.keys, 50);
    assert!(stats.cells >= 50 && stats.local_bits > 0, "{stats:?}");
    guard.store().hook.broken.store(false, Ordering::SeqCst);
}

/// The number of keys in the figures is the store's.
fn agree<S: Store>(guard: &Guard<S>, expected: u64, when: &str) {
    assert_eq!((guard.stats().keys, guard.len().expect("memory")), (expected, expected), "{when}");
}

#[test]
fn the_number_of_keys_follows_every_way_in_which_the_state_changes() {
    for kind in Kind::ALL {
        let memory = Memory::new();
        let open = || {
            let store = Faulty::new(memory.open().expect("nobody has it open"));
            Options::new().filter(*kind).background(false).open(store).expect("its own store")
        };
        let guard = open();
        agree(&guard, 0, "empty");
        guard.insert(&key(0), b"").expect("memory");
        agree(&guard, 1, "inserted");
        guard.insert_all((0..3_000).map(|number| (key(number), b""))).expect("memory");
        agree(&guard, 3_000, "grown");
        guard.remove_all((0..10).map(key)).expect("memory");
        agree(&guard, 2_990, "removed");

        guard.store().fail_commit();
        assert!(guard.insert(&key(0), b"").is_err());
        agree(&guard, 2_990, "failed");
        for (happens, expected) in [(false, 2_990), (true, 2_991)] {
            guard.store().lose_answer(happens);
            assert!(guard.insert(&key(0), b"").is_err());
            assert_eq!(guard.stats().keys, 2_990, "in doubt");
            guard.wait().expect("memory");
            agree(&guard, expected, "settled");
        }
        assert!(guard.repair().expect("memory").lost.is_empty());
        agree(&guard, 2_991, "repaired");
        drop(guard);
        let guard = open();
        agree(&guard, 2_991, "opened");
        guard.wait().expect("memory");
        agree(&guard, 2_991, "rebuilt");
    }
}

/// A state record that counts wrongly is what a guard believes until it is repaired.
#[test]
fn the_number_of_keys_is_right_again_after_a_repair() {
    let memory = Memory::new();
    let guard = Options::new().open(memory.open().expect("nobody has it open")).expect("an empty store");
    guard.insert_all((0..20).map(|number| (key(number), b""))).expect("memory");
    drop(guard);
    let damage = Change { space: Space::Meta, key: b"state".to_vec(), value: Some(b"garbage".to_vec()) };
    memory.open().expect("nobody has it open").commit(&[damage], Durability::Synced).expect("memory");
    let options = Options::new().open_damaged(true);
    let guard = options.open(memory.open().expect("nobody has it open")).expect("it may be damaged");
    assert_eq!(guard.stats().keys, 0, "nobody knows");
    assert!(!guard.repair().expect("memory").repaired.is_empty());
    agree(&guard, 20, "repaired");
}
