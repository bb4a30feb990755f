//! What goes wrong around tickets, loads and resyncs, and must not make a guard beside a store lose a key.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::Future;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;
use twiceshy_store::faulty::Faulty;
use twiceshy_store::{Beside, Change, Durability, Error, Memory, MemoryStore, Options, Space, Store};

/// Adopts these rows.
fn adopt<S: Store>(guard: &Beside<S>, rows: &[&'static str]) {
    guard.adopt(|| Ok::<_, Infallible>(rows.iter().map(|row| Ok(*row)))).expect("memory");
}

fn of_no_rows() -> Beside<MemoryStore> {
    let guard = Options::new().open_beside(MemoryStore::new()).expect("an empty store");
    adopt(&guard, &[]);
    guard
}

/// One look-up reads before a row is committed and returns after it; another begins in between. What does that one get?
fn asked_after_a_commit<S: Store>(guard: &Beside<S>) -> Option<&'static str> {
    let rows = Mutex::new(BTreeSet::new());
    let (read, has_read) = mpsc::channel();
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let look_up = |slow: Option<mpsc::Sender<()>>| {
        let Ok(row) = guard.get_or_load("ann", |key| {
            let found = rows.lock().expect("no panic").get(key).copied();
            if let Some(read) = slow {
                read.send(()).expect("the test goes on");
                gone.lock().expect("no panic").recv().expect("the test goes on");
            }
            Ok::<Option<&'static str>, Infallible>(found)
        });
        row
    };
    let look_up = &look_up;
    std::thread::scope(|threads| {
        let first = threads.spawn(move || look_up(Some(read)));
        has_read.recv().expect("it reads");
        rows.lock().expect("no panic").insert("ann");
        let second = threads.spawn(move || look_up(None));
        std::thread::sleep(Duration::from_millis(100));
        go.send(()).expect("it waits");
        assert_eq!(first.join().expect("no panic"), None);
        second.join().expect("no panic")
    })
}

#[test]
fn an_insertion_that_is_rolled_back_during_an_adoption_does_not_hide_the_row_that_was_there() {
    let guard = Options::new().open_beside(MemoryStore::new()).expect("an empty store");
    let before = guard.announce(["bob"]).expect("memory");
    let adopted = guard.adopt(|| {
        // The key is there: the database refuses it.
        guard.announce(["ann"]).expect("memory").rolled_back().expect("memory");
        before.rolled_back().expect("memory");
        Ok::<_, Infallible>([Ok("ann"), Ok("bob")])
    });
    assert_eq!(adopted.expect("memory").keys, 2);
    assert!(guard.is_complete() && guard.may_contain("ann") && guard.may_contain("bob"));
}

#[test]
fn a_ticket_that_is_dropped_during_a_resync_counts_as_open_after_it() {
    let memory = Memory::new();
    let guard = Options::new().open_beside(memory.open().expect("nobody has it open")).expect("memory");
    adopt(&guard, &[]);
    let mut kept = None;
    let resynced = guard.resync(|| {
        drop(guard.announce(["ann"]).expect("memory")); // Its transaction hangs in the server.
        kept = Some(guard.announce(["ann"]).expect("memory"));
        Ok::<_, Infallible>([] as [Result<&str, _>; 0])
    });
    resynced.expect("memory");
    kept.expect("it was announced").done().expect("memory");
    guard.retire(["ann"]).expect("memory").done().expect("memory");
    guard.close().expect("memory");
    let guard = Options::new().open_beside(memory.open().expect("nobody has it open")).expect("memory");
    guard.wait().expect("memory");
    assert!(guard.is_complete() && guard.may_contain("ann"), "the transaction may commit now");
}

#[test]
fn a_load_that_began_before_a_commit_is_not_shared_after_a_panic_of_the_guards_file() {
    let guard = Options::new().open_beside(Faulty::new(MemoryStore::new())).expect("an empty store");
    adopt(&guard, &[]);
    let ticket = guard.announce(["ann"]).expect("memory");
    guard.store().panic_at_commit();
    assert!(matches!(guard.announce(["other"]), Err(Error::Shared(_))));
    guard.announce(["third"]).and_then(|ticket| ticket.done()).expect("it works again");
    assert_eq!(asked_after_a_commit(&guard), Some("ann"));
    ticket.done().expect("memory");
}

#[test]
fn a_load_that_began_before_a_commit_is_not_shared_if_the_ticket_was_cut_off_by_a_crash() {
    let memory = Memory::new();
    let guard = Options::new().open_beside(memory.open().expect("nobody has it open")).expect("memory");
    adopt(&guard, &[]);
    let ticket = guard.announce(["ann"]).expect("memory");
    // The process dies. Its transaction is on the way.
    let left = memory.copy();
    let after = Options::new().open_beside(left.open().expect("nobody has it open")).expect("memory");
    after.wait().expect("memory");
    assert_eq!(asked_after_a_commit(&after), Some("ann"));
    // Closed and opened again it is still not known.
    after.close().expect("memory");
    let after = Options::new().open_beside(left.open().expect("nobody has it open")).expect("memory");
    assert_eq!(asked_after_a_commit(&after), Some("ann"));
    adopt(&after, &["ann"]);
    assert_eq!(asked_after_a_commit(&after), None, "no ticket is open, so loads are shared");
    ticket.done().expect("memory");
}

#[test]
fn a_guard_whose_adoption_failed_is_incomplete_whatever_became_of_its_last_commit() {
    let memory = Memory::new();
    let guard = Options::new().open_beside(Faulty::new(memory.open().expect("nobody has it open"))).expect("memory");
    guard.announce(["bob"]).and_then(|ticket| ticket.rolled_back()).expect("memory");
    let adopted = guard.adopt(|| {
        guard.store().lose_answer(true);
        Ok::<_, Infallible>([] as [Result<&str, _>; 0])
    });
    assert!(adopted.is_err() && !guard.is_complete());
    // The next commit writes down what this process believes.
    drop(guard.announce(["ann"]).expect("memory"));
    guard.close().expect("memory");
    let guard = Options::new().open_beside(memory.open().expect("nobody has it open")).expect("memory");
    assert!(!guard.is_complete());
    guard.adopt(|| Ok::<_, Infallible>([Ok("ann")])).expect("memory");
    assert!(guard.is_complete());
}

#[test]
fn an_announcement_that_is_cancelled_when_it_was_made_is_a_dropped_ticket() {
    let guard = of_no_rows();
    let mut announcement = Box::pin(guard.announce_async(["ann"]));
    let polled = announcement.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    // The desk may have been faster: then the ticket is here, and dropped with what was returned.
    while polled.is_pending() && guard.tickets().open == 0 {
        std::thread::yield_now();
    }
    drop(polled);
    // As by a timeout.
    drop(announcement);
    while guard.tickets().dropped == 0 {
        std::thread::yield_now();
    }
    assert_eq!(guard.tickets().open, 0);
    let done = guard.resync(|| Ok::<_, Infallible>([] as [Result<&str, _>; 0])).expect("memory");
    assert_eq!((done.removed, guard.tickets().dropped), (1, 0));
}

#[test]
fn a_panic_of_the_guards_file_leaves_tickets_that_a_resync_settles() {
    let guard = Options::new().open_beside(Faulty::new(MemoryStore::new())).expect("an empty store");
    adopt(&guard, &[]);
    let closing = guard.announce(["bob"]).expect("memory");
    guard.store().panic_at_commit();
    assert!(matches!(guard.announce(["ann"]), Err(Error::Shared(_))));
    guard.store().panic_at_commit();
    assert!(matches!(closing.done(), Err(Error::Shared(_))));
    assert_eq!((guard.tickets().open, guard.tickets().dropped), (0, 2));
    assert!(guard.may_contain("ann") && guard.may_contain("bob"), "nobody knows");
    guard.announce(["ann"]).and_then(|ticket| ticket.rolled_back()).expect("it works again");
    let done = guard.resync(|| Ok::<_, Infallible>([Ok("bob")])).expect("memory");
    assert_eq!((done.keys, guard.tickets().dropped), (1, 0), "{done:?}");
    assert!(!guard.may_contain("ann") && guard.may_contain("bob"));
}

#[test]
fn wait_waits_for_all_that_was_said_before() {
    for _ in 0..20 {
        let guard = Options::new().false_positive_rate(0.25).open_beside(MemoryStore::new()).expect("an empty store");
        guard.adopt(|| Ok::<_, Infallible>((0..900u32).map(|key| Ok(key.to_be_bytes())))).expect("memory");
        (1_000..1_100u32).for_each(|key| guard.was_absent(key.to_be_bytes()));
        guard.wait().expect("memory");
        let counted = guard.stats().false_positives;
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(guard.stats().false_positives, counted);
    }
}

#[test]
fn a_ticket_without_keys_is_closed_like_any_other() {
    let guard = of_no_rows();
    drop(guard.announce([] as [&str; 0]).expect("memory"));
    drop(guard.retire([] as [&str; 0]).expect("memory"));
    assert_eq!((guard.tickets().open, guard.tickets().dropped), (0, 2));
}

#[test]
fn a_guard_beside_a_store_takes_nobodys_values_for_keys() {
    let store = MemoryStore::new();
    let value = Some(b"hoots".to_vec());
    let owl = Change { space: Space::Values, key: b"owl".to_vec(), value };
    store.commit(&[owl], Durability::Synced).expect("memory");
    assert!(matches!(Options::new().take_over(true).open_beside(store), Err(Error::NotGuarded)));
}

/// A loader that asks for its own key, and two that ask for each other's.
#[test]
fn loaders_that_ask_for_keys_through_the_guard_do_not_wait_for_ever() {
    fn get(guard: &Beside<MemoryStore>, key: &str, path: &[&str], meet: Option<&Barrier>) -> Option<u32> {
        let Ok(found) = guard.get_or_load(key, |_| {
            meet.map(Barrier::wait);
            Ok::<_, Infallible>(match path {
                [next, rest @ ..] => get(guard, next, rest, None),
                [] => Some(7),
            })
        });
        found
    }
    let guard = Arc::new(of_no_rows());
    let _open = guard.announce(["ann", "bob"]).and_then(|ticket| ticket.done());
    assert_eq!(get(&guard, "ann", &["ann", "ann"], None), Some(7));
    let meet = Barrier::new(2);
    std::thread::scope(|threads| {
        for (one, other) in [("ann", "bob"), ("bob", "ann")] {
            let (guard, meet) = (&guard, &meet);
            threads.spawn(move || assert_eq!(get(guard, one, &[other], Some(meet)), Some(7)));
        }
    });
}
