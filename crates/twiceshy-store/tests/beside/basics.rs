//! A guard beside a store that somebody else owns.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use twiceshy_store::{
    Beside, Change, Durability, Error, Guard, Kind, Memory, MemoryStore, Options, ResyncError, Resynced, Space, Store,
};

/// The store that somebody else owns, and how often it was asked.
#[derive(Default)]
struct Rows {
    rows: Mutex<BTreeMap<Vec<u8>, u64>>,
    asked: AtomicU64,
}

impl Rows {
    fn of(keys: impl IntoIterator<Item = u64>) -> Rows {
        let rows = Rows::default();
        keys.into_iter().for_each(|key| rows.write(key));
        rows
    }

    fn write(&self, key: u64) {
        self.rows.lock().unwrap().insert(name(key), key);
    }

    fn delete(&self, key: u64) {
        self.rows.lock().unwrap().remove(&name(key));
    }

    fn get(&self, key: &[u8]) -> Result<Option<u64>, Infallible> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.rows.lock().unwrap().get(key).copied())
    }

    fn cursor(&self) -> Result<Vec<Result<Vec<u8>, Infallible>>, Infallible> {
        Ok(self.rows.lock().unwrap().keys().cloned().map(Ok).collect())
    }

    fn asked(&self) -> u64 {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

fn name(key: u64) -> Vec<u8> {
    format!("user-{key}").into_bytes()
}

fn look_up<S: Store>(guard: &Beside<S>, rows: &Rows, key: u64) -> Option<u64> {
    let Ok(found) = guard.get_or_load(&name(key), |key| rows.get(key));
    found
}

fn in_memory(options: Options) -> Beside<MemoryStore> {
    // Checks would be counted among the loads.
    options.spot_check(None).open_beside(MemoryStore::new()).expect("an empty store")
}

fn adopted(rows: &Rows) -> Beside<MemoryStore> {
    let guard = in_memory(Options::new().background(false));
    guard.adopt(|| rows.cursor()).expect("memory");
    guard
}

#[test]
fn a_new_guard_asks_the_loader_for_everything_until_it_has_adopted_the_rows() {
    let rows = Rows::of(0..2_000);
    let guard = in_memory(Options::new().background(false));
    assert!(!guard.is_complete() && guard.may_contain(name(9_999)));
    assert_eq!(look_up(&guard, &rows, 7), Some(7));
    assert_eq!(look_up(&guard, &rows, 9_999), None);
    assert_eq!(rows.asked(), 2);
    let done = guard.adopt(|| rows.cursor()).expect("memory");
    assert_eq!((done.read, done.added, done.removed, done.keys), (2_000, 2_000, 0, 2_000));
    assert!(guard.is_complete());
    assert!((0..2_000).all(|key| look_up(&guard, &rows, key) == Some(key)));
    assert_eq!(rows.asked(), 2_000);
    assert!((2_000..22_000).all(|key| look_up(&guard, &rows, key).is_none()));
    let mistakes = rows.asked();
    assert!((20..200).contains(&mistakes), "about one in 256: {mistakes}");
    assert!((2_000..22_000).all(|key| look_up(&guard, &rows, key).is_none()));
    assert!(rows.asked() <= mistakes / 4, "the filter has learned");
}

#[test]
fn every_filter_can_stand_beside_a_store() {
    for kind in Kind::ALL {
        let rows = Rows::of(0..1_500);
        let guard = in_memory(Options::new().filter(*kind).background(false));
        guard.adopt(|| rows.cursor()).expect("memory");
        for key in 1_500..3_000 {
            let ticket = guard.announce([name(key)]).expect("memory");
            rows.write(key);
            ticket.done().expect("memory");
        }
        for key in 0..500 {
            let ticket = guard.retire([name(key)]).expect("memory");
            rows.delete(key);
            ticket.done().expect("memory");
        }
        assert!((0..3_000).all(|key| look_up(&guard, &rows, key) == (key >= 500).then_some(key)), "{kind}");
        let drift = guard.resync(|| rows.cursor()).expect("memory");
        assert_eq!((drift.added, drift.removed, drift.settled, drift.keys), (0, 0, 0, 2_500), "{kind}");
    }
}

#[test]
fn what_was_adopted_and_announced_is_there_after_opening_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard");
    let rows = Rows::of(0..3_000);
    let guard = Guard::beside(&path).unwrap();
    guard.adopt(|| rows.cursor()).unwrap();
    let ticket = guard.announce((3_000..6_000).map(name)).unwrap();
    (3_000..6_000).for_each(|key| rows.write(key));
    ticket.done().unwrap();
    guard.close().unwrap();
    let guard = Options::new().spot_check(None).beside(&path).unwrap();
    guard.wait().unwrap();
    assert!(guard.is_complete());
    assert!((0..6_000).all(|key| look_up(&guard, &rows, key) == Some(key)));
    rows.asked();
    assert!((6_000..7_000).all(|key| look_up(&guard, &rows, key).is_none()));
    assert!(rows.asked() < 50);
    let busy = Guard::beside(&path).err().unwrap().to_string();
    assert!(busy.contains("open"), "{busy}");
    drop(guard);
    assert!(matches!(Guard::open(&path).err().unwrap(), Error::IsBeside));
    let owned = folder.path().join("owned");
    Guard::open(&owned).unwrap().close().unwrap();
    assert!(matches!(Guard::beside(&owned).err().unwrap(), Error::IsOwned));
}

#[test]
fn a_guard_that_owns_its_store_and_one_beside_refuse_each_others_files() {
    let memory = Memory::new();
    let guard = Options::new().open(memory.open().unwrap()).unwrap();
    guard.insert(b"key", b"value").unwrap();
    guard.close().unwrap();
    assert!(matches!(Options::new().open_beside(memory.open().unwrap()).err().unwrap(), Error::IsOwned));
    let memory = Memory::new();
    Options::new().open_beside(memory.open().unwrap()).unwrap().close().unwrap();
    assert!(matches!(Options::new().open(memory.open().unwrap()).err().unwrap(), Error::IsBeside));
    Options::new().open_beside(memory.open().unwrap()).unwrap().close().unwrap();
}

#[test]
fn a_damaged_guard_beside_a_store_says_what_helps() {
    let memory = Memory::new();
    Options::new().open_beside(memory.open().unwrap()).unwrap().close().unwrap();
    let store = memory.open().unwrap();
    let record = Change { space: Space::Meta, key: b"state".to_vec(), value: Some(b"damaged".to_vec()) };
    store.commit(&[record], Durability::Synced).unwrap();
    let adopt = "if a guard beside a store is damaged, delete its folder, open it again and call `Beside::adopt`";
    let damaged = Options::new().open_beside(store).err().unwrap().to_string();
    assert!(damaged.ends_with(adopt), "{damaged}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard");
    Guard::beside(&path).unwrap().close().unwrap();
    // There is nothing to repair it from.
    let refused = Options::new().repair_folder(&path).err().unwrap();
    assert!(matches!(refused, Error::IsBeside) && refused.to_string().ends_with(adopt), "{refused}");
    std::fs::write(path.join("keys.redb"), b"no such file").unwrap();
    let damaged = Guard::beside(&path).err().unwrap().to_string();
    assert!(damaged.ends_with(adopt) && !damaged.contains("backup"), "{damaged}");
    // It helps.
    std::fs::remove_dir_all(&path).unwrap();
    let guard = Guard::beside(&path).unwrap();
    guard.adopt(|| Ok::<_, Infallible>([Ok("ann")])).unwrap();
    assert!(guard.may_contain("ann") && guard.is_complete());
}

#[test]
fn an_interrupted_adoption_leaves_the_guard_incomplete_and_can_be_begun_again() {
    let memory = Memory::new();
    let rows = Rows::of(0..30_000);
    {
        let guard = Options::new().open_beside(memory.open().unwrap()).unwrap();
        let broken = || {
            let keys = (0..18_000).map(|key| Ok(name(key)));
            Ok(keys.chain([Err("the connection was lost")]).collect::<Vec<_>>())
        };
        assert!(matches!(guard.adopt(broken), Err(ResyncError::Cursor("the connection was lost"))));
        assert!(!guard.is_complete());
        assert!((29_000..31_000).all(|key| look_up(&guard, &rows, key) == (key < 30_000).then_some(key)));
        // Tickets work meanwhile.
        let ticket = guard.announce([name(50_000)]).unwrap();
        rows.write(50_000);
        ticket.done().unwrap();
    }
    let guard = Options::new().open_beside(memory.open().unwrap()).unwrap();
    assert!(!guard.is_complete());
    let done = guard.adopt(|| rows.cursor()).unwrap();
    assert_eq!((done.read, done.keys, guard.progress()), (30_001, 30_001, 30_001));
    assert!((1..=13_616).contains(&done.added) && done.removed == 0, "{done:?}");
    assert!((0..30_000).all(|key| look_up(&guard, &rows, key) == Some(key)));
}

#[test]
fn a_cursor_is_not_asked_again_after_its_end() {
    let guard = in_memory(Options::new());
    let mut left = 3;
    let done = guard.adopt(|| {
        Ok(std::iter::from_fn(|| match left {
            0 => {
                left = -1;
                None
            }
            -1 => Some(Err("the stream is closed")),
            _ => {
                left -= 1;
                Some(Ok(name(left as u64)))
            }
        }))
    });
    assert_eq!(done.unwrap().keys, 3);
}

#[test]
fn tickets_are_taken_during_a_resync_and_their_keys_are_left_to_them() {
    for complete in [false, true] {
        let rows = Rows::of(0..10_000);
        let guard = in_memory(Options::new());
        if complete {
            guard.adopt(|| rows.cursor()).unwrap();
        }
        let (opened, open) = (guard.announce([name(20_000)]).unwrap(), |_: &Beside<MemoryStore>| rows.cursor());
        let done = guard.resync(|| {
            let cursor = open(&guard);
            // What the cursor does not see.
            let ticket = guard.announce((30_000..32_000).map(name)).unwrap();
            (30_000..32_000).for_each(|key| rows.write(key));
            ticket.done().unwrap();
            let ticket = guard.retire([name(5)]).unwrap();
            rows.delete(5);
            ticket.done().unwrap();
            cursor
        });
        let done = done.unwrap();
        rows.write(20_000);
        assert!(look_up(&guard, &rows, 20_000) == Some(20_000));
        opened.done().unwrap();
        assert!((30_000..32_000).all(|key| look_up(&guard, &rows, key) == Some(key)));
        let wanted = if complete { 0 } else { 10_000 };
        // The key that was retired has left the set, if it was in it.
        assert!(done.added.abs_diff(wanted) <= 1 && done.removed == 0, "{done:?}");
        let drift = guard.resync(|| rows.cursor()).unwrap();
        assert!(drift.added == 0 && drift.removed <= u64::from(!complete), "{drift:?}");
    }
}

#[test]
fn a_resync_finds_what_drifted() {
    let rows = Rows::of(0..5_000);
    let guard = adopted(&rows);
    // Written past the guard, deleted past it, and a ticket that was dropped.
    (5_000..5_010).for_each(|key| rows.write(key));
    (0..7).for_each(|key| rows.delete(key));
    drop(guard.announce([name(6_000), name(6_001)]).unwrap());
    rows.write(6_000);
    assert!((5_000..5_010).any(|key| look_up(&guard, &rows, key).is_none()), "a filter cannot know them");
    assert_eq!(look_up(&guard, &rows, 6_000), Some(6_000));
    assert_eq!((look_up(&guard, &rows, 6_001), guard.tickets().dropped), (None, 1));
    rows.asked();
    assert!((0..9).all(|_| look_up(&guard, &rows, 6_001).is_none()));
    assert_eq!(rows.asked(), 9, "its row may appear at any time");
    let done = guard.resync(|| rows.cursor()).unwrap();
    let Resynced { read, added, removed, settled, keys, .. } = done;
    assert_eq!((read, added, removed, settled, keys), (5_004, 10, 8, 1, 5_004));
    assert_eq!(guard.tickets().dropped, 0);
    assert!((7..5_010).all(|key| look_up(&guard, &rows, key) == Some(key)));
    rows.asked();
    assert!((0..9).all(|_| look_up(&guard, &rows, 6_001).is_none()));
    assert!(rows.asked() <= 1, "it has left the set");
    let again = guard.resync(|| rows.cursor()).unwrap();
    assert_eq!((again.added, again.removed, again.settled, again.keys), (0, 0, 0, 5_004));
}

#[test]
fn two_resyncs_at_once_are_refused_and_a_loaders_error_teaches_nothing() {
    let rows = Rows::of(0..100);
    let guard = adopted(&rows);
    let inner = guard.resync(|| {
        assert!(matches!(guard.resync(|| rows.cursor()), Err(ResyncError::Running)));
        rows.cursor()
    });
    inner.unwrap();
    let wrong: Vec<u64> = (100..60_000).filter(|key| guard.may_contain(name(*key))).collect();
    assert!(!wrong.is_empty());
    for key in &wrong {
        let failed = guard.get_or_load(&name(*key), |_| Err::<Option<u64>, _>("no connection"));
        assert_eq!(failed, Err("no connection"));
        assert!(guard.may_contain(name(*key)));
    }
    assert_eq!(guard.stats().false_positives, 0);
    wrong.iter().for_each(|key| guard.was_absent(name(*key)));
    let left = wrong.iter().filter(|key| guard.may_contain(name(**key))).count();
    assert!(left <= wrong.len() / 4, "{left} of {} are wrong again", wrong.len());
    // Of a stored key it is not believed.
    (0..100).for_each(|key| guard.was_absent(name(key)));
    assert!((0..100).all(|key| guard.may_contain(name(key))));
}

#[test]
fn a_key_with_an_open_ticket_is_loaded_and_its_absence_teaches_nothing() {
    let rows = Rows::of(0..1_000);
    let guard = adopted(&rows);
    let ticket = guard.announce([name(2_000)]).unwrap();
    let before = guard.stats();
    assert_eq!(look_up(&guard, &rows, 2_000), None);
    guard.was_absent(name(2_000));
    let after = guard.stats();
    assert_eq!((after.false_positives, after.adapted), (before.false_positives, before.adapted));
    assert!(guard.may_contain(name(2_000)));
    ticket.rolled_back().unwrap();
    assert_eq!((guard.stats().keys, guard.tickets().open), (1_000, 0));
    // A load that began before a ticket and ends after it.
    let key = (3_000..).find(|key| guard.may_contain(name(*key))).unwrap();
    let loaded: Result<Option<u64>, Infallible> = guard.get_or_load(&name(key), |_| {
        let ticket = guard.announce([name(key)]).unwrap();
        rows.write(key);
        ticket.done().unwrap();
        Ok(None)
    });
    assert_eq!((loaded, look_up(&guard, &rows, key)), (Ok(None), Some(key)));
}

#[test]
fn callers_that_ask_for_one_key_share_one_load_but_not_across_a_ticket() {
    let rows = Rows::of(0..10);
    let guard = adopted(&rows);
    let (begun, ended) = (Barrier::new(2), Barrier::new(2));
    let slow = |key: &[u8]| {
        begun.wait();
        let found = rows.get(key);
        ended.wait();
        found
    };
    std::thread::scope(|threads| {
        // One place in the program that asks.
        let ask = |wait: bool| {
            let key = name(3);
            guard.get_or_load(key.as_slice(), |key| if wait { slow(key) } else { rows.get(key) })
        };
        let leader = threads.spawn(move || ask(true));
        begun.wait();
        let others: Vec<_> = (0..4).map(|_| threads.spawn(move || ask(false))).collect();
        while guard.tickets().shared == 0 && others.iter().any(|other| !other.is_finished()) {
            if rows.asked.load(Ordering::Relaxed) == 1 {
                // The load has asked the store; those who come now get what it found.
                std::thread::sleep(std::time::Duration::from_millis(20));
                ended.wait();
                break;
            }
        }
        assert_eq!(leader.join().unwrap(), Ok(Some(3)));
        assert!(others.into_iter().all(|other| other.join().unwrap() == Ok(Some(3))));
        assert_eq!((rows.asked(), guard.tickets().shared), (1, 4));

        // A ticket that is opened and closed while a load is under way: who asks then must see what was written.
        let leader = threads.spawn(move || ask(true));
        begun.wait();
        while rows.asked.load(Ordering::Relaxed) == 0 {}
        let ticket = guard.announce([name(3)]).unwrap();
        rows.rows.lock().unwrap().insert(name(3), 30);
        ticket.done().unwrap();
        let after = threads.spawn(move || ask(false));
        std::thread::sleep(std::time::Duration::from_millis(50));
        ended.wait();
        assert_eq!(leader.join().unwrap(), Ok(Some(3)));
        assert_eq!(after.join().unwrap(), Ok(Some(30)), "the load under way has read the old row");
    });
}

#[test]
fn a_load_that_fails_or_panics_leaves_the_others_to_load_for_themselves() {
    let rows = Rows::of(0..10);
    let guard = adopted(&rows);
    for panics in [false, true] {
        let begun = Barrier::new(2);
        let ask = |leads: bool| {
            guard.get_or_load(&name(3), |key| {
                if leads {
                    begun.wait();
                    std::thread::sleep(std::time::Duration::from_millis(30));
                    if panics {
                        std::panic::panic_any("the loader's own panic");
                    }
                    return Err("no connection");
                }
                rows.get(key).map_err(|never| match never {})
            })
        };
        let ask = &ask;
        std::thread::scope(|threads| {
            let leader = threads.spawn(move || ask(true));
            begun.wait();
            let others: Vec<_> = (0..3).map(|_| threads.spawn(move || ask(false))).collect();
            assert!(others.into_iter().all(|other| other.join().unwrap() == Ok(Some(3))));
            match leader.join() {
                Ok(failed) => assert_eq!((failed, panics), (Err("no connection"), false)),
                Err(_) => assert!(panics),
            }
        });
    }
}

#[test]
fn equal_keys_are_one_key_when_they_are_normalized() {
    let guard = in_memory(Options::new().background(false)).normalizing(|key| key.trim_ascii().to_ascii_lowercase());
    guard.adopt(|| Ok::<_, Infallible>([Ok("Ann "), Ok("BOB")])).unwrap();
    for key in ["ann", "ANN", " Ann ", "bob"] {
        assert!(guard.may_contain(key), "{key}");
        let asked = guard.get_or_load(key, |own| Ok::<_, Infallible>(Some(own.to_string())));
        assert_eq!(asked, Ok(Some(key.to_string())), "the loader gets the key as it was asked for");
    }
    let retired = guard.retire(["bob ", "Bob"]).unwrap();
    assert_eq!(format!("{retired:?}"), "Retirement of 1 keys");
    retired.done().unwrap();
    assert!(!guard.may_contain("BOB"));
    let other = in_memory(Options::new().background(false));
    other.adopt(|| Ok::<_, Infallible>([Ok("Ann ")])).unwrap();
    assert!(!other.may_contain("ann"));
}

#[test]
fn a_resync_after_a_restore_makes_the_folder_and_the_store_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, copy) = (folder.path().join("guard"), folder.path().join("copy"));
    let rows = Rows::of(0..100);
    let guard = Guard::beside(&path).unwrap();
    guard.adopt(|| rows.cursor()).unwrap();
    guard.close().unwrap();
    std::fs::create_dir(&copy).unwrap();
    for file in std::fs::read_dir(&path).unwrap().map(|file| file.unwrap()) {
        std::fs::copy(file.path(), copy.join(file.file_name())).unwrap();
    }
    let guard = Guard::beside(&path).unwrap();
    let ticket = guard.announce([name(100)]).unwrap();
    rows.write(100);
    ticket.done().unwrap();
    // The store is restored: it lacks the last row, and has one whose key has left the set.
    let ticket = guard.retire([name(7)]).unwrap();
    ticket.done().unwrap();
    let restored = Rows::of(0..100);
    let done = guard.resync(|| restored.cursor()).unwrap();
    assert_eq!((done.added, done.removed, done.keys), (1, 1, 100));
    assert_eq!(look_up(&guard, &restored, 7), Some(7));
    guard.close().unwrap();
    // The folder is restored: it does not know the last row.
    let guard = Guard::beside(&copy).unwrap();
    let done = guard.resync(|| rows.cursor()).unwrap();
    assert_eq!((done.added, done.removed, done.keys), (1, 0, 101));
    assert_eq!(look_up(&guard, &rows, 100), Some(100));
}

#[test]
fn tickets_may_outlive_the_guard_and_say_so() {
    let memory = Memory::new();
    let guard = Options::new().open_beside(memory.open().unwrap()).unwrap();
    let (kept, closed) = (guard.announce(["a", "b"]).unwrap(), guard.retire(["c"]).unwrap());
    guard.close().unwrap();
    assert!(matches!(closed.done(), Err(Error::Closed)));
    let guard = Options::new().open_beside(memory.open().unwrap()).unwrap();
    drop(kept);
    guard.adopt(|| Ok::<_, Infallible>([Ok("a")])).unwrap();
    assert!(guard.may_contain("a") && !guard.may_contain("b"));
    let empty: [&str; 0] = [];
    guard.announce(empty).unwrap().done().unwrap();
    guard.announce([[0u8; 0]]).unwrap().done().unwrap();
    assert!(guard.may_contain(""));
}

#[test]
fn many_threads_announce_at_once_and_share_commits() {
    let rows = Rows::default();
    let folder = tempfile::tempdir().unwrap();
    let guard = Guard::beside(folder.path().join("guard")).unwrap();
    guard.adopt(|| rows.cursor()).unwrap();
    let (guard, rows) = (Arc::new(guard), Arc::new(rows));
    std::thread::scope(|threads| {
        for thread in 0..8u64 {
            let (guard, rows) = (&guard, &rows);
            threads.spawn(move || {
                for key in (0..40).map(|key| key * 8 + thread) {
                    let ticket = guard.announce([name(key)]).unwrap();
                    assert!(guard.may_contain(name(key)));
                    rows.write(key);
                    ticket.done().unwrap();
                    assert_eq!(look_up(guard, rows, key), Some(key));
                }
            });
        }
    });
    assert_eq!(guard.stats().keys, 320);
    assert!((0..320).all(|key| look_up(&guard, &rows, key) == Some(key)));
}
