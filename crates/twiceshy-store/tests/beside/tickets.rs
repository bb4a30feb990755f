//! Tickets in any order, of several threads, over a store that fails, and on a disk that forgets what was not synced.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use twiceshy_store::faulty::Faulty;
use twiceshy_store::{
    Announcement, Beside, Guard, KEYS_FILE, Kind, MemoryStore, Options, RedbStore, Retirement, SNAPSHOT_FILE, Store,
};

/// A small generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

/// Few keys, so that tickets meet.
const KEYS: u64 = 12;

enum Ticket<S: Store> {
    Announces(Announcement<S>),
    Retires(Retirement<S>),
}

struct Open<S: Store> {
    ticket: Ticket<S>,
    keys: BTreeSet<u64>,
    acted: bool,
    /// Keys of a retirement that were announced meanwhile.
    announced: BTreeSet<u64>,
}

/// A guard, the rows, and the keys that may be in the set without a row.
struct Scene<S: Store> {
    guard: Beside<S>,
    rows: BTreeSet<u64>,
    open: Vec<Open<S>>,
    loose: BTreeSet<u64>,
    dice: Dice,
}

fn name(key: u64) -> Vec<u8> {
    key.to_be_bytes().repeat(1 + key as usize % 3)
}

impl<S: Store> Scene<S> {
    fn new(guard: Beside<S>, seed: u64) -> Scene<S> {
        let mut dice = Dice(seed);
        let rows = (0..KEYS).filter(|_| dice.below(3) == 0).collect();
        Scene { guard, rows, open: Vec::new(), loose: BTreeSet::new(), dice }
    }

    fn some_keys(&mut self) -> BTreeSet<u64> {
        (0..=self.dice.below(3)).map(|_| self.dice.below(KEYS)).collect()
    }

    fn step(&mut self, resyncs: bool) {
        let at = if self.open.is_empty() { None } else { Some(self.dice.below(self.open.len() as u64) as usize) };
        match (self.dice.below(20), at) {
            (0..5, _) => self.announce(),
            (5..8, _) => self.retire(),
            (8..12, Some(at)) => self.act(at),
            (12..17, Some(at)) => self.close(at),
            (17, Some(at)) => self.drop_one(at),
            (18, _) if resyncs => drop(self.resync()),
            _ => self.look_up(),
        }
        self.check();
    }

    fn announce(&mut self) {
        let keys = self.some_keys();
        match self.guard.announce(keys.iter().map(|key| name(*key))) {
            Ok(ticket) => {
                for other in self.open.iter_mut().filter(|other| matches!(other.ticket, Ticket::Retires(_))) {
                    other.announced.extend(keys.intersection(&other.keys));
                }
                self.take(Ticket::Announces(ticket), keys, BTreeSet::new());
            }
            // Nothing was announced. If the answer was lost, its keys may be in the set.
            Err(_) => self.loose.extend(keys),
        }
    }

    fn retire(&mut self) {
        let keys = self.some_keys();
        let ticket = self.guard.retire(keys.iter().map(|key| name(*key))).expect("it writes nothing");
        let announcements = self.open.iter().filter(|other| matches!(other.ticket, Ticket::Announces(_)));
        let announced = announcements.flat_map(|other| other.keys.intersection(&keys).copied()).collect();
        self.take(Ticket::Retires(ticket), keys, announced);
    }

    fn take(&mut self, ticket: Ticket<S>, keys: BTreeSet<u64>, announced: BTreeSet<u64>) {
        self.open.push(Open { ticket, keys, acted: false, announced });
    }

    fn act(&mut self, at: usize) {
        let open = &mut self.open[at];
        open.acted = true;
        match open.ticket {
            Ticket::Announces(_) => self.rows.extend(&open.keys),
            Ticket::Retires(_) => self.rows.retain(|row| !open.keys.contains(row)),
        }
    }

    fn close(&mut self, at: usize) {
        let Open { ticket, keys, acted, announced } = self.open.swap_remove(at);
        let closed = match (ticket, acted) {
            (Ticket::Announces(ticket), true) => ticket.done(),
            (Ticket::Announces(ticket), false) => ticket.rolled_back(),
            (Ticket::Retires(ticket), true) => {
                self.loose.extend(announced);
                ticket.done()
            }
            (Ticket::Retires(ticket), false) => ticket.rolled_back(),
        };
        if closed.is_err() {
            self.loose.extend(keys);
        }
    }

    fn drop_one(&mut self, at: usize) {
        let open = self.open.swap_remove(at);
        self.loose.extend(&open.keys);
    }

    /// How many keys left the set.
    fn resync(&mut self) -> Result<u64, String> {
        let was_complete = self.guard.is_complete();
        let refused: BTreeSet<u64> = (0..self.dice.below(3)).map(|_| self.dice.below(KEYS)).collect();
        let failed = std::cell::Cell::new(false);
        let cursor = || {
            // Insertions that the database refuses while the cursor is open.
            for key in &refused {
                let closed = self.guard.announce([name(*key)]).and_then(Announcement::rolled_back);
                failed.set(failed.get() || closed.is_err());
            }
            Ok::<_, Infallible>(self.rows.iter().map(|row| Ok(name(*row))))
        };
        let done = self.guard.resync(cursor).map_err(|error| error.to_string());
        if failed.get() {
            self.loose.extend(&refused);
        }
        let done = done?;
        let open: BTreeSet<u64> = self.open.iter().flat_map(|open| open.keys.iter().copied()).collect();
        let drifted = self.loose.iter().filter(|key| !self.rows.contains(key)).count() as u64;
        assert!(!was_complete || done.added == 0 && done.removed <= drifted, "{done:?}, {drifted} may have drifted");
        // A resync leaves keys with a ticket since its mark alone.
        self.loose.retain(|key| open.contains(key) || refused.contains(key));
        for other in self.open.iter_mut().filter(|other| matches!(other.ticket, Ticket::Retires(_))) {
            other.announced.extend(refused.intersection(&other.keys));
        }
        Ok(done.removed)
    }

    fn look_up(&mut self) {
        for key in 0..40 {
            let loaded =
                self.guard.get_or_load(&name(key), |_| Ok::<_, Infallible>(self.rows.contains(&key).then_some(key)));
            assert_eq!(loaded, Ok(self.rows.contains(&key).then_some(key)), "key {key}");
        }
    }

    /// No row's key is turned away.
    fn check(&self) {
        let lost: Vec<&u64> = self.rows.iter().filter(|row| !self.guard.may_contain(name(**row))).collect();
        assert!(lost.is_empty(), "{lost:?} were turned away");
        assert_eq!(self.guard.stats().denied_rows, 0, "nobody writes past the guard");
    }

    /// When all tickets are closed, the set is the rows, but for what drifted.
    fn end(mut self) {
        while !self.open.is_empty() {
            self.close(0);
            self.check();
        }
        self.resync().expect("the store works");
        let cursor = || Ok::<_, Infallible>(self.rows.iter().map(|row| Ok(name(*row))));
        assert_eq!(self.guard.resync(cursor).expect("the store works").keys, self.rows.len() as u64);
        self.check();
    }
}

#[test]
fn tickets_in_any_order_never_turn_a_row_away_and_leave_no_key_behind_without_a_reason() {
    for seed in 0..400 {
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let options = Options::new().filter(kind).false_positive_rate(0.1).background(seed % 4 == 0);
        let mut scene = Scene::new(options.open_beside(MemoryStore::new()).expect("an empty store"), seed);
        scene.resync().expect("memory");
        for _ in 0..120 {
            scene.step(true);
        }
        scene.end();
    }
}

#[test]
fn a_local_file_that_fails_or_loses_answers_never_makes_the_guard_turn_a_row_away() {
    for seed in 0..300 {
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let options = Options::new().filter(kind).false_positive_rate(0.1).background(false);
        let mut scene = Scene::new(options.open_beside(Faulty::new(MemoryStore::new())).expect("an empty store"), seed);
        scene.resync().expect("memory");
        for _ in 0..100 {
            match scene.dice.below(8) {
                0 => scene.guard.store().fail_after(scene.dice.below(12) as u32),
                1 => scene.guard.store().lose_answer(scene.dice.below(2) == 0),
                2 => scene.guard.store().fail_commit(),
                _ => {}
            }
            scene.step(true);
            scene.guard.store().heal();
            scene.check();
        }
        scene.end();
    }
}

/// A second for every hundred times that it is asked.
pub(crate) fn fast_clock() -> Duration {
    static TICKS: AtomicU64 = AtomicU64::new(0);
    Duration::from_millis(10 * TICKS.fetch_add(1, Ordering::Relaxed))
}

#[test]
fn threads_that_take_tickets_for_the_same_keys_never_miss_what_was_written() {
    // On this clock half of the absent answers are checked, which no ticket may make a false alarm.
    let options = Options::new().false_positive_rate(0.1).spot_check(Some(2)).spot_clock(fast_clock);
    let guard = options.open_beside(MemoryStore::new()).expect("an empty store");
    guard.adopt(|| Ok::<_, Infallible>([] as [Result<&[u8], _>; 0])).expect("memory");
    // Each row has a version, so that a stale load is seen.
    let rows: Mutex<BTreeMap<u64, u64>> = Mutex::default();
    let versions = AtomicU64::new(1);
    let get = |key: u64| rows.lock().expect("no panic").get(&key).copied();
    let work = |seed: u64| {
        let mut dice = Dice(seed);
        for _ in 0..1_500 {
            let key = dice.below(KEYS);
            match dice.below(6) {
                0 => {
                    let ticket = guard.announce([name(key)]).expect("memory");
                    if dice.below(3) == 0 {
                        ticket.rolled_back().expect("memory");
                        continue;
                    }
                    rows.lock().expect("no panic").insert(key, versions.fetch_add(1, Ordering::SeqCst));
                    ticket.done().expect("memory");
                }
                1 => {
                    let ticket = guard.retire([name(key)]).expect("memory");
                    rows.lock().expect("no panic").remove(&key);
                    ticket.done().expect("memory");
                }
                _ => {
                    let before = get(key);
                    let found = guard.get_or_load(&name(key), |_| Ok::<_, Infallible>(get(key)));
                    let after = get(key);
                    // Versions are never used again, so the row has not changed meanwhile if they are equal.
                    assert!(before != after || found == Ok(before), "{key}: {before:?}, {found:?}, {after:?}");
                }
            }
        }
    };
    std::thread::scope(|threads| {
        for seed in 0..4 {
            let work = &work;
            threads.spawn(move || work(seed));
        }
    });
    let stats = guard.stats();
    assert!(stats.spot_checks > 500 && stats.denied_rows == 0 && guard.is_complete(), "{stats:?}");
    let rows = rows.into_inner().expect("no panic");
    let done = guard.resync(|| Ok::<_, Infallible>(rows.keys().map(|key| Ok(name(*key))))).expect("memory");
    assert_eq!((done.added, done.keys), (0, rows.len() as u64), "{done:?}");
    assert_eq!(guard.tickets().open, 0);
}

#[test]
fn what_a_ticket_promised_is_still_there_after_a_loss_of_power() {
    for seed in 0..24 {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("guard"), folder.path().join("copy"));
        std::fs::create_dir(&path).expect("a folder");
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        let options = || Options::new().filter(kind).false_positive_rate(0.1);
        let file = RedbStore::open_volatile(path.join(KEYS_FILE)).expect("a file");
        let guard = options().snapshot(path.join(SNAPSHOT_FILE)).open_beside(file).expect("an empty store");
        let mut scene = Scene::new(guard, seed);
        for step in 0..60 {
            if step == 3 || step % 25 == 24 {
                scene.resync().expect("the file works");
            }
            scene.step(false);
            if step % 4 != 0 {
                continue;
            }
            // The files are what a loss of power would leave.
            drop(std::fs::remove_dir_all(&copy));
            std::fs::create_dir(&copy).expect("a folder");
            for file in std::fs::read_dir(&path).expect("the folder").map(|file| file.expect("a file")) {
                std::fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
            }
            let after = Guard::beside(&copy).expect("the copy opens");
            after.wait().expect("the copy works");
            let lost: Vec<&u64> = scene.rows.iter().filter(|row| !after.may_contain(name(**row))).collect();
            assert!(lost.is_empty(), "seed {seed}, step {step}: {lost:?} were turned away");
            let open = scene.open.iter().flat_map(|open| open.keys.iter());
            let loose: BTreeSet<&u64> =
                scene.loose.iter().chain(open).filter(|key| !scene.rows.contains(key)).collect();
            let was_complete = after.is_complete();
            let cursor = || Ok::<_, Infallible>(scene.rows.iter().map(|row| Ok(name(*row))));
            let done = after.resync(cursor).expect("the copy works");
            let drifted = loose.len() as u64;
            assert!(!was_complete || done.added == 0 && done.removed <= drifted, "{done:?}, {drifted}: step {step}");
        }
    }
}
