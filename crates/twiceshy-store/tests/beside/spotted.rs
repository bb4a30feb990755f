//! Rows that are written past the guard: checks of absent answers find them, and `seen` does.

use super::tickets::fast_clock;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use twiceshy_store::faulty::Faulty;
use twiceshy_store::{Beside, Memory, MemoryStore, Options, Store};

fn name(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

type Rows = BTreeSet<u64>;

fn open<S: Store>(own: S) -> Beside<S> {
    Options::new().open_beside(own).expect("its own store")
}

fn resync<S: Store>(guard: &Beside<S>, rows: &Rows) -> u64 {
    let done = guard.resync(|| Ok::<_, Infallible>(rows.iter().map(|row| Ok(name(*row))).collect::<Vec<_>>()));
    done.expect("memory").added
}

fn get<S: Store>(guard: &Beside<S>, rows: &Rows, key: u64) -> Option<u64> {
    let Ok(found) = guard.get_or_load(&name(key), |_| Ok::<_, Infallible>(rows.contains(&key).then_some(key)));
    found
}

/// A guard that knows rows 0 to 999, and how often it has said that it drifted.
fn guarded<S: Store>(own: S) -> (Beside<S>, Rows, Arc<AtomicU64>) {
    with_rows(open(own))
}

fn with_rows<S: Store>(guard: Beside<S>) -> (Beside<S>, Rows, Arc<AtomicU64>) {
    let (rows, drifts) = ((0..1_000).collect(), Arc::new(AtomicU64::new(0)));
    let count = Arc::clone(&drifts);
    guard.on_drift(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    resync(&guard, &rows);
    (guard, rows, drifts)
}

/// A key that the filter turns away.
fn denied<S: Store>(guard: &Beside<S>) -> u64 {
    (5_000..).find(|key| !guard.may_contain(name(*key))).expect("nearly all")
}

#[test]
fn of_a_hundred_rows_that_were_written_past_the_guard_one_is_found_soon_and_then_all() {
    let memory = Memory::new();
    let options = Options::new().spot_clock(fast_clock);
    let (guard, mut rows, drifts) = with_rows(options.open_beside(memory.open().expect("free")).expect("memory"));
    assert!((10_000..14_000).all(|key| get(&guard, &rows, key).is_none()));
    let stats = guard.stats();
    assert!(stats.spot_checks > 500 && stats.clean_checks == stats.spot_checks && stats.denied_rows == 0, "{stats:?}");
    assert_eq!(stats.wrong_share_at_most(), 3.0 / stats.spot_checks as f64);
    rows.extend(1_000..1_100);
    // Without checks, none of them would be found however often they are asked for.
    let asked = (0..10_000).take_while(|at| get(&guard, &rows, 1_000 + at % 100).is_none()).count();
    assert!(asked < 500, "one in about 16 answers is checked here: {asked}");
    assert!(!guard.is_complete() && guard.tickets().needs_resync());
    assert!((1_000..1_100).all(|key| get(&guard, &rows, key) == Some(key)));
    let stats = guard.stats();
    assert_eq!((stats.denied_rows, stats.clean_checks, drifts.load(Ordering::SeqCst)), (1, 0, 1));
    // It is on disk, also if the process dies now.
    drop(guard.announce(["any"]).expect("memory"));
    let after = open(memory.copy().open().expect("nobody has it open"));
    assert!(!after.is_complete() && get(&after, &rows, 1_050) == Some(1_050));
    guard.close().expect("memory");
    let guard = open(memory.open().expect("nobody has it open"));
    assert!(!guard.is_complete());
    assert_eq!(resync(&guard, &rows), 100);
    assert!(guard.is_complete() && (0..1_100).all(|key| guard.may_contain(name(key))));
    assert!(!guard.may_contain(name(denied(&guard))));
}

#[test]
fn a_row_whose_key_is_on_its_way_raises_no_alarm() {
    let (guard, _, drifts) = guarded(MemoryStore::new());
    for step in 0..3 {
        let (key, left) = (denied(&guard), Cell::new(None));
        let found = guard.get_or_load(&name(key), |_| {
            let ticket = guard.announce([name(key)]).expect("memory");
            match step {
                0 => left.set(Some(ticket)),
                1 => ticket.done().expect("memory"),
                // It comes and goes while the loader is under way.
                _ => {
                    ticket.done().expect("memory");
                    guard.retire([name(key)]).expect("memory").done().expect("memory");
                }
            }
            Ok::<_, Infallible>(Some(key))
        });
        assert_eq!((found, guard.stats().spot_raced), (Ok(Some(key)), step + 1), "it was checked");
        if let Some(ticket) = left.take() {
            ticket.rolled_back().expect("memory");
        }
    }
    let stats = guard.stats();
    assert_eq!((stats.denied_rows, guard.is_complete(), drifts.load(Ordering::SeqCst)), (0, true, 0));
}

#[test]
fn a_loader_that_reads_in_an_old_snapshot_raises_no_alarm() {
    let (guard, _, drifts) = guarded(MemoryStore::new());
    guard.retire([name(7)]).expect("memory").done().expect("memory");
    assert!(!guard.may_contain(name(7)));
    // Its transaction began before the deletion.
    let found = guard.get_or_load(&name(7), |_| Ok::<_, Infallible>(Some(7)));
    assert_eq!((found, guard.stats().spot_raced, guard.stats().denied_rows), (Ok(Some(7)), 1, 0));
    assert!(guard.is_complete() && drifts.load(Ordering::SeqCst) == 0);
}

#[test]
fn a_row_that_is_seen_without_the_guard_raises_the_same_alarm() {
    let (guard, rows, drifts) = guarded(MemoryStore::new());
    assert!(rows.iter().all(|row| guard.seen(name(*row))));
    // Read before it was deleted, and shown after.
    guard.retire([name(7)]).expect("memory").done().expect("memory");
    assert!(!guard.may_contain(name(7)) && guard.seen(name(7)));
    let stats = guard.stats();
    assert_eq!((stats.seen, stats.spot_raced, stats.denied_rows), (1_001, 1, 0));
    assert!(guard.is_complete());
    assert!(!guard.seen(name(denied(&guard))));
    assert!(!guard.is_complete() && guard.seen(name(5_001)), "it denies nothing now");
    let stats = guard.stats();
    assert_eq!((stats.seen, stats.denied_rows, stats.spot_checks, drifts.load(Ordering::SeqCst)), (1_003, 1, 0, 1));
}

#[test]
fn a_resync_during_which_a_row_was_found_is_not_enough() {
    let memory = Memory::new();
    let (guard, mut rows, drifts) = guarded(memory.open().expect("nobody has it open"));
    let key = denied(&guard);
    let done = guard.resync(|| {
        // The row comes after the cursor.
        let cursor: Vec<_> = rows.iter().map(|row| Ok(name(*row))).collect();
        assert!(!guard.seen(name(key)) && drifts.load(Ordering::SeqCst) == 0, "no other resync can run");
        Ok::<_, Infallible>(cursor)
    });
    assert_eq!((done.expect("memory").keys, drifts.load(Ordering::SeqCst)), (1_000, 1));
    assert!(!guard.is_complete() && guard.may_contain(name(key)));
    assert!(!open(memory.copy().open().expect("nobody has it open")).is_complete(), "nor after a crash");
    rows.insert(key);
    assert_eq!((resync(&guard, &rows), drifts.load(Ordering::SeqCst)), (1, 1));
    assert!(guard.is_complete() && guard.may_contain(name(key)));
    // Nor does a resync that fails.
    let failed = guard.resync(|| {
        assert!(!guard.seen(name(denied(&guard))));
        Err::<[Result<&str, _>; 0], _>("no connection")
    });
    assert!(failed.is_err() && !guard.is_complete());
    assert_eq!(drifts.load(Ordering::SeqCst), 2);
}

#[test]
fn the_callback_is_not_called_while_a_panic_is_under_way() {
    let (guard, _, drifts) = guarded(MemoryStore::new());
    let resync = || {
        guard.resync(|| {
            assert!(!guard.seen(name(denied(&guard))));
            Ok::<_, Infallible>(std::iter::from_fn(|| -> Option<Result<&str, _>> { panic!("the cursor panics") }))
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(resync)).is_err());
    // If it panicked, the process would end.
    assert_eq!((drifts.load(Ordering::SeqCst), guard.is_complete()), (0, false));
}

#[test]
fn a_row_that_an_earlier_check_finds_during_the_resync_of_an_alarm_is_not_missed() {
    let memory = Memory::new();
    let (guard, mut rows, drifts) = guarded(memory.open().expect("nobody has it open"));
    let key = denied(&guard);
    let (is_asked, asked) = channel();
    let (finds, found) = channel();
    let done = std::thread::scope(|threads| {
        let checks = threads.spawn(|| {
            guard.get_or_load(&name(key), move |_| {
                is_asked.send(()).expect("it waits");
                found.recv().map(|()| Some(key))
            })
        });
        asked.recv().expect("the check has begun");
        let other = (key + 1..).find(|key| !guard.may_contain(name(*key))).expect("nearly all");
        assert!(!guard.seen(name(other)) && drifts.load(Ordering::SeqCst) == 1);
        guard.resync(|| {
            // The row comes after the cursor, and the check finds it before the end.
            let cursor: Vec<_> = rows.iter().map(|row| Ok(name(*row))).collect();
            finds.send(()).expect("it waits");
            assert_eq!(checks.join().expect("no panic"), Ok(Some(key)));
            Ok::<Vec<Result<_, Infallible>>, _>(cursor)
        })
    });
    assert_eq!((done.expect("memory").keys, drifts.load(Ordering::SeqCst)), (1_000, 2));
    assert!(!guard.is_complete() && guard.may_contain(name(key)));
    assert!(!open(memory.copy().open().expect("nobody has it open")).is_complete(), "nor after a crash");
    rows.insert(key);
    assert_eq!((resync(&guard, &rows), drifts.load(Ordering::SeqCst)), (1, 2));
    assert!(guard.is_complete());
}

#[test]
fn an_alarm_that_could_not_be_written_down_is_written_with_the_next_change() {
    let memory = Memory::new();
    let (guard, _, _) = guarded(Faulty::new(memory.open().expect("nobody has it open")));
    guard.store().fail_commit();
    assert!(!guard.seen(name(denied(&guard))));
    guard.wait().expect("memory");
    assert!(!guard.is_complete(), "not in memory alone");
    guard.store().heal();
    let ticket = guard.announce(["ann"]).expect("memory");
    assert!(!open(memory.copy().open().expect("nobody has it open")).is_complete());
    ticket.done().expect("memory");
}

#[test]
fn nothing_but_get_or_load_is_checked_and_nothing_at_all_if_it_is_off() {
    let (guard, _, _) = guarded(MemoryStore::new());
    let key = denied(&guard);
    let before = guard.stats().spot_checks;
    assert!((0..1_000).all(|_| !guard.may_contain(name(key))));
    // A loader's error says nothing.
    let failed = guard.get_or_load(&name(key), |_| Err::<Option<u64>, _>("no connection"));
    assert_eq!((failed, guard.stats().spot_checks, guard.is_complete()), (Err("no connection"), before, true));
    let off = Options::new().spot_check(None).open_beside(MemoryStore::new()).expect("an empty store");
    off.adopt(|| Ok::<_, Infallible>([] as [Result<&str, _>; 0])).expect("memory");
    assert!((0..1_000).all(|_| off.get_or_load(&name(key), |_| Ok::<_, Infallible>(Some(1))) == Ok(None)));
}

#[test]
fn tickets_that_a_dead_process_has_left_ask_for_a_resync() {
    let memory = Memory::new();
    let (guard, rows, _) = guarded(memory.open().expect("nobody has it open"));
    let tickets = guard.tickets();
    assert!(!tickets.needs_resync() && tickets.complete && tickets.pending == 0, "{tickets:?}");
    let ticket = guard.announce([name(2_000), name(2_001)]).expect("memory");
    assert_eq!((guard.tickets().pending, guard.tickets().needs_resync()), (2, false), "it is open");
    // The process dies.
    let after = open(memory.copy().open().expect("nobody has it open"));
    let tickets = after.tickets();
    assert_eq!((tickets.open, tickets.dropped, tickets.complete, tickets.cut_off), (0, 0, true, true));
    assert!(tickets.needs_resync());
    resync(&after, &rows);
    assert!(!after.tickets().cut_off && !after.tickets().needs_resync());
    // Dropped ones stay in memory.
    drop(ticket);
    assert_eq!((guard.tickets().pending, guard.tickets().dropped, guard.tickets().needs_resync()), (2, 1, true));
    resync(&guard, &rows);
    assert_eq!((guard.tickets().pending, guard.tickets().needs_resync()), (0, false));
}
