//! False positives that wait to be learned from are answered *absent*, and never when they are stored.
//!
//! A program of its own: some tests count what the learner does in a given time.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;
use twiceshy::hash::HashKey;
use twiceshy_store::faulty::Faulty;
use twiceshy_store::{
    Adapt, Change, Checked, CommitError, Durability, Error, Guard, Kind, MemoryStore, Options, Space, Stats, Store,
};

/// Where a thread can be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Point {
    BeforeRead,
    AfterRead,
    BeforeCommit,
    AfterCommit,
}

/// Stops the next thread that comes to a point.
#[derive(Default)]
struct Gate {
    armed: Mutex<(Option<Point>, bool)>,
    moved: Condvar,
}

impl Gate {
    fn arm(&self, point: Point) {
        *self.armed.lock().expect("no panic") = (Some(point), false);
    }

    fn pass(&self, point: Point) {
        let mut armed = self.armed.lock().expect("no panic");
        if *armed == (Some(point), false) {
            armed.1 = true;
            self.moved.notify_all();
            drop(self.moved.wait_while(armed, |(_, stopped)| *stopped).expect("no panic"));
        }
    }

    /// Waits until a thread is stopped.
    fn reached(&self) {
        let armed = self.armed.lock().expect("no panic");
        drop(self.moved.wait_while(armed, |(_, stopped)| !*stopped).expect("no panic"));
    }

    fn open(&self) {
        *self.armed.lock().expect("no panic") = (None, false);
        self.moved.notify_all();
    }
}

/// A store with gates, which refuses to let the filter learn while it is told to.
struct Gated {
    inner: Faulty<MemoryStore>,
    gate: Arc<Gate>,
    refuses_learning: AtomicBool,
    /// How many commits changed no value.
    learning_commits: AtomicU64,
    /// How long such a commit takes.
    pause: Mutex<Duration>,
    reads: AtomicU64,
}

type StoreError = <Faulty<MemoryStore> as Store>::Error;

impl Gated {
    fn new() -> Gated {
        Gated {
            inner: Faulty::new(MemoryStore::new()),
            gate: Arc::default(),
            refuses_learning: AtomicBool::new(false),
            learning_commits: AtomicU64::new(0),
            pause: Mutex::default(),
            reads: AtomicU64::new(0),
        }
    }

    fn read<T>(&self, space: Space, read: impl FnOnce() -> T) -> T {
        if space != Space::Values {
            return read();
        }
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.gate.pass(Point::BeforeRead);
        let answer = read();
        self.gate.pass(Point::AfterRead);
        answer
    }

    fn refuse_learning(&self, refuses: bool) {
        self.refuses_learning.store(refuses, Ordering::SeqCst);
    }

    fn learning_commits(&self) -> u64 {
        self.learning_commits.load(Ordering::SeqCst)
    }
}

impl Store for Gated {
    type Error = StoreError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(space, || self.inner.get(space, key))
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, StoreError> {
        self.read(space, || self.inner.contains(space, key))
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), StoreError> {
        self.inner.scan(space, from, found)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<StoreError>> {
        if !changes.iter().any(|change| change.space == Space::Values) {
            self.learning_commits.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(*self.pause.lock().expect("no panic"));
            if self.refuses_learning.load(Ordering::SeqCst) {
                return Err(CommitError::Failed(StoreError::Told));
            }
            return self.inner.commit(changes, durability);
        }
        self.gate.pass(Point::BeforeCommit);
        let committed = self.inner.commit(changes, durability);
        self.gate.pass(Point::AfterCommit);
        committed
    }
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

const KEYS: u64 = 600;

fn options(kind: Kind) -> Options {
    Options::new().filter(kind).false_positive_rate(0.2).hash_key(HashKey::fixed(4))
}

fn filled<S: Store>(guard: Guard<S>) -> Guard<S> {
    guard.insert_all((0..KEYS).map(|number| (key(number), b""))).expect("memory");
    guard
}

fn stats<S: Store>(guard: &Guard<S>) -> Stats {
    guard.stats()
}

fn has<S: Store>(guard: &Guard<S>, query: &[u8]) -> bool {
    guard.contains(query).expect("memory")
}

/// Absent keys that a filter of this kind lets through: another one with the same keys tells.
fn mistakes(kind: Kind, count: usize) -> Vec<[u8; 8]> {
    let twin = filled(options(kind).adapt(Adapt::Never).open(MemoryStore::new()).expect("an empty store"));
    let wrong = |query: &[u8; 8]| {
        let before = stats(&twin).false_positives;
        !has(&twin, query) && stats(&twin).false_positives > before
    };
    (1_000_000..).map(key).filter(wrong).take(count).collect()
}

/// A broom filter whose mistakes are not learned, so that they wait.
fn unlearned() -> Guard<Gated> {
    let guard = filled(options(Kind::Broom).open(Gated::new()).expect("an empty store"));
    guard.store().refuse_learning(true);
    guard
}

/// Asks until the query is in the list, and makes sure that it is answered from there.
fn listed(guard: &Guard<Gated>, query: &[u8]) {
    assert!(!has(guard, query));
    let (known, reads) = (stats(guard).known_absent, guard.store().reads.load(Ordering::SeqCst));
    assert!(!has(guard, query));
    assert_eq!(stats(guard).known_absent, known + 1, "it waits");
    assert_eq!(guard.store().reads.load(Ordering::SeqCst), reads, "the store was not asked");
}

/// The key is found now, and is not answered from the list.
fn found(guard: &Guard<Gated>, query: &[u8], when: &str) {
    let known = stats(guard).known_absent;
    assert!(has(guard, query), "{when}: a stored key was not found");
    assert_eq!(stats(guard).known_absent, known, "{when}");
}

#[test]
fn a_query_that_waits_is_answered_without_the_store_until_it_is_stored() {
    for query in mistakes(Kind::Broom, 20) {
        let guard = unlearned();
        listed(&guard, &query);
        assert!(guard.insert(&query, b"").expect("memory"));
        found(&guard, &query, "after entering");
        assert!(guard.remove(&query).expect("memory"));
        assert!(!has(&guard, &query), "it was removed");
        assert!(guard.insert(&query, b"").expect("memory"));
        found(&guard, &query, "after another insertion");
    }
}

/// What happens to the key while the look-up is stopped.
type Change1 = fn(&Guard<Gated>, &[u8]);

#[test]
fn a_query_is_not_entered_if_its_key_was_changed_since_the_look_up_began() {
    let insert: Change1 = |guard, key| assert!(guard.insert(key, b"").expect("memory"));
    let batch: Change1 = |guard, key| {
        let more = (5_000..5_100).map(self::key).chain([key.try_into().expect("eight bytes")]);
        guard.insert_all(more.map(|key| (key, b""))).expect("memory");
    };
    let thrice: Change1 = |guard, key| {
        assert!(guard.insert(key, b"").expect("memory"));
        assert!(guard.remove(key).expect("memory"));
        assert!(guard.insert(key, b"").expect("memory"));
    };
    let unknown: Change1 = |guard, key| {
        guard.store().inner.lose_answer(true);
        assert!(matches!(guard.insert(key, b""), Err(Error::Unknown(_))));
    };
    for (name, change) in [("insert", insert), ("batch", batch), ("thrice", thrice), ("lost answer", unknown)] {
        let queries = mistakes(Kind::Broom, 3);
        for point in [Point::BeforeRead, Point::AfterRead] {
            for query in &queries {
                let guard = unlearned();
                let gate = Arc::clone(&guard.store().gate);
                std::thread::scope(|threads| {
                    gate.arm(point);
                    let reader = threads.spawn(|| has(&guard, query));
                    gate.reached();
                    change(&guard, query);
                    gate.open();
                    assert_eq!(reader.join().expect("no panic"), point == Point::BeforeRead);
                });
                found(&guard, query, &format!("{name}, {point:?}"));
            }
        }
    }
}

#[test]
fn a_query_is_not_entered_while_its_key_is_being_changed() {
    for query in mistakes(Kind::Broom, 5) {
        for point in [Point::BeforeCommit, Point::AfterCommit] {
            for waits in [false, true] {
                let guard = unlearned();
                if waits {
                    listed(&guard, &query);
                }
                let (gate, known) = (Arc::clone(&guard.store().gate), stats(&guard).known_absent);
                std::thread::scope(|threads| {
                    gate.arm(point);
                    let writer = threads.spawn(|| guard.insert(&query, b"").expect("memory"));
                    gate.reached();
                    // The store decides.
                    assert_eq!(has(&guard, &query), point == Point::AfterCommit);
                    assert_eq!(has(&guard, &query), point == Point::AfterCommit);
                    gate.open();
                    assert!(writer.join().expect("no panic"));
                });
                found(&guard, &query, &format!("{point:?}, waits {waits}"));
                assert_eq!(stats(&guard).known_absent, known, "{point:?}, waits {waits}");
            }
        }
    }
}

#[test]
fn a_look_up_that_reads_before_a_commit_does_not_enter_after_it() {
    for query in mistakes(Kind::Broom, 5) {
        let guard = unlearned();
        let gate = Arc::clone(&guard.store().gate);
        std::thread::scope(|threads| {
            gate.arm(Point::BeforeCommit);
            let writer = threads.spawn(|| guard.insert(&query, b"").expect("memory"));
            gate.reached();
            // The change has begun; this look-up reads the store before the commit, and would enter after it.
            let reader = threads.spawn(|| has(&guard, &query));
            assert!(!reader.join().expect("no panic"));
            gate.open();
            assert!(writer.join().expect("no panic"));
        });
        found(&guard, &query, "after the commit");
    }
}

#[test]
fn a_commit_that_fails_or_whose_answer_is_lost_leaves_the_answer_to_the_store() {
    for query in mistakes(Kind::Broom, 10) {
        let guard = unlearned();
        listed(&guard, &query);
        guard.store().inner.fail_commit();
        assert!(guard.insert(&query, b"").is_err());
        assert!(!has(&guard, &query), "it was not stored");
        listed(&guard, &query);
        guard.store().inner.lose_answer(false);
        assert!(matches!(guard.insert(&query, b""), Err(Error::Unknown(_))));
        // The learner must not settle it before the look-up: in doubt, the store is asked.
        assert!(!has(&guard, &query), "it was not stored");
        assert!(guard.wait().is_ok());
        guard.store().inner.lose_answer(true);
        assert!(matches!(guard.insert(&query, b""), Err(Error::Unknown(_))));
        found(&guard, &query, "in doubt");
        guard.wait().expect("it answers again");
        found(&guard, &query, "no longer in doubt");
        assert_eq!(stats(&guard).rebuilt, 0);
    }
}

#[test]
fn batches_of_queries_that_wait_are_found_and_gone_again() {
    let guard = unlearned();
    let queries = mistakes(Kind::Broom, 150);
    for _ in 0..3 {
        // Some of them are no longer let through after they were stored once.
        queries.iter().for_each(|query| assert!(!has(&guard, query)));
        guard.insert_all(queries.iter().map(|query| (query, b""))).expect("memory");
        queries.iter().for_each(|query| found(&guard, query, "stored as a batch"));
        assert_eq!(guard.remove_all(&queries).expect("memory"), 150);
    }
    guard.store().refuse_learning(false);
    guard.wait().expect("memory");
    assert_eq!(guard.check().expect("memory"), Checked::Sound);
}

#[test]
fn learning_that_fails_is_tried_again_but_not_at_once_and_costs_the_filter_nothing() {
    let guard = unlearned();
    let queries = mistakes(Kind::Broom, 100);
    queries.iter().for_each(|query| assert!(!has(&guard, query)));
    let before = guard.store().learning_commits();
    std::thread::sleep(Duration::from_millis(400));
    let tried = guard.store().learning_commits() - before;
    assert!((1..10).contains(&tried), "{tried} attempts in 0.4 s");
    queries.iter().for_each(|query| listed(&guard, query));
    assert_eq!((stats(&guard).adapted, stats(&guard).false_positives), (0, 100));
    for happens in [false, true] {
        guard.store().refuse_learning(false);
        guard.store().inner.lose_answer(happens);
        guard.wait().expect("learning fails, and waiting does not");
        guard.store().inner.heal();
        guard.store().refuse_learning(true);
    }
    guard.store().refuse_learning(false);
    while stats(&guard).adapted + stats(&guard).not_adapted < 100 {
        guard.wait().expect("memory");
    }
    assert_eq!((stats(&guard).rebuilt, stats(&guard).skipped), (0, 0));
    let turned_away = stats(&guard).turned_away;
    queries.iter().for_each(|query| assert!(!has(&guard, query)));
    assert!(stats(&guard).turned_away - turned_away > 90, "they are learned");
    assert_eq!(guard.check().expect("memory"), Checked::Sound);
}

#[test]
fn one_commit_learns_from_many_queries_and_a_writer_gets_its_turn_between_two_of_them() {
    let guard = unlearned();
    *guard.store().pause.lock().expect("no panic") = Duration::from_millis(10);
    let queries = mistakes(Kind::Broom, 3_000);
    queries.iter().for_each(|query| assert!(!has(&guard, query)));
    let before = guard.store().learning_commits();
    guard.store().refuse_learning(false);
    // The learner may pause after failures for up to two seconds.
    while stats(&guard).adapted == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let mut worst = 0;
    for number in 0..10 {
        let commits = guard.store().learning_commits();
        guard.insert(&key(9_000 + number), b"").expect("memory");
        worst = worst.max(guard.store().learning_commits() - commits);
    }
    assert!(stats(&guard).adapted < 2_500, "the learner was still at work");
    assert!(worst <= 4, "a writer waited for {worst} commits of the learner");
    guard.wait().expect("memory");
    let (learned, commits) = (stats(&guard).adapted, guard.store().learning_commits() - before);
    assert!(learned > 2_900 && commits * 10 < learned, "{learned} learned in {commits} commits");
}

#[test]
fn a_list_that_is_full_skips_and_its_memory_is_counted() {
    let guard = filled(options(Kind::Broom).queue(50).open(Gated::new()).expect("an empty store"));
    guard.store().refuse_learning(true);
    let queries = mistakes(Kind::Broom, 80);
    let before = stats(&guard).local_bits;
    queries.iter().for_each(|query| assert!(!has(&guard, query)));
    let after = stats(&guard);
    assert_eq!((after.false_positives, after.skipped), (80, 30));
    assert!(after.local_bits - before > 50 * 64, "{} and {before}", after.local_bits);
    queries[..50].iter().for_each(|query| listed(&guard, query));
    queries[50..].iter().for_each(|query| assert!(!has(&guard, query)));
    assert_eq!(stats(&guard).skipped, 60);
}

#[test]
fn without_a_learner_every_caller_adapts_the_filter_before_it_gets_its_answer() {
    for kind in [Kind::Broom, Kind::Telescoping] {
        // Without room in the list: it is not needed.
        let options = options(kind).background(false).queue(0);
        let guard = filled(options.open(MemoryStore::new()).expect("an empty store"));
        std::thread::scope(|threads| {
            for thread in 0..4 {
                let guard = &guard;
                threads.spawn(move || {
                    for number in 0..4_000 {
                        let query = key((thread + 2) * 1_000_000 + number);
                        assert!(!has(guard, &query));
                        if number % 50 == 0 {
                            guard.insert(&query, b"").expect("memory");
                        }
                    }
                });
            }
        });
        let stats = stats(&guard);
        assert!(stats.false_positives > 500, "{kind}: {stats:?}");
        assert_eq!((stats.skipped, stats.merged, stats.known_absent), (0, 0, 0), "{kind}");
        assert_eq!(stats.adapted + stats.not_adapted, stats.false_positives, "{kind}");
        assert!(stats.adapted * 10 > stats.false_positives * 9, "{kind}: {stats:?}");
        assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind}");
    }
}

#[test]
fn a_key_that_the_index_has_and_the_values_lack_is_counted_as_a_disagreement() {
    for kind in [Kind::Broom, Kind::Telescoping, Kind::Cyclic] {
        for background in [true, false] {
            let guard = filled(options(kind).background(background).open(MemoryStore::new()).expect("an empty store"));
            (1_000..3_000).for_each(|number| assert!(!has(&guard, &key(number))));
            guard.wait().expect("memory");
            assert_eq!(stats(&guard).disagreements, 0, "{kind}");
            let lost = Change { space: Space::Values, key: key(7).to_vec(), value: None };
            guard.store().commit(&[lost], Durability::Synced).expect("memory");
            assert!(!has(&guard, &key(7)));
            guard.wait().expect("memory");
            assert_eq!(stats(&guard).disagreements, 1, "{kind}, background {background}");
            assert!(matches!(guard.check(), Ok(Checked::StoreDamaged(_))), "{kind}");
        }
    }
}

/// Writers say which key they are about to store, and readers ask for it at that moment, so that it is about to be entered
/// when it is stored.
fn race<S: Store>(guard: &Guard<S>, steps: u64, name: &str) {
    let [current, asked]: [[AtomicU64; 2]; 2] = [0, 1].map(|_| [0, 1].map(|_| AtomicU64::new(0)));
    let ended = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                for at in (0..2).cycle() {
                    if ended.load(Ordering::Relaxed) {
                        return;
                    }
                    let number = current[at].load(Ordering::Relaxed);
                    asked[at].store(number, Ordering::Relaxed);
                    (0..3).for_each(|_| drop(guard.get(&key(number)).expect("memory")));
                    std::thread::yield_now();
                }
            });
        }
        let writer = |at: usize| {
            for step in 1..=steps {
                let number = (at as u64 + 1) * 10_000_000 + step;
                let mine = key(number);
                current[at].store(number, Ordering::Relaxed);
                while asked[at].load(Ordering::Relaxed) != number {
                    std::thread::yield_now();
                }
                (0..number.wrapping_mul(0x9E37_79B9) >> 7 & 63).for_each(|_| std::hint::spin_loop());
                assert!(guard.insert(&mine, b"").expect("memory"), "{name}: it was not stored");
                assert!(has(guard, &mine), "{name}: a writer does not see its own key");
                assert!(has(guard, &mine), "{name}: a writer does not see its own key");
                assert!(guard.remove(&mine).expect("memory"), "{name}: it was stored");
                assert!(!has(guard, &mine), "{name}: a writer sees a key that it has removed");
            }
        };
        let writers = [0, 1].map(|at| threads.spawn(move || writer(at)));
        let results = writers.map(std::thread::ScopedJoinHandle::join);
        ended.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok), "{name}");
    });
    let stats = stats(guard);
    println!("{name}: {stats:?}");
    assert!(stats.false_positives > steps / 20, "{name}: {stats:?}");
}

#[test]
fn every_writer_sees_its_own_changes_whatever_others_ask_meanwhile() {
    for kind in [Kind::Broom, Kind::Telescoping, Kind::Cyclic] {
        let options = options(kind).false_positive_rate(0.5);
        let guard = filled(options.open(MemoryStore::new()).expect("an empty store"));
        race(&guard, 4_000, &format!("{kind}, learning"));
        assert_eq!(guard.check().expect("memory"), Checked::Sound, "{kind}");
    }
    let guard = filled(options(Kind::Broom).false_positive_rate(0.5).open(Gated::new()).expect("an empty store"));
    guard.store().refuse_learning(true);
    race(&guard, 6_000, "not learning");
    assert!(stats(&guard).known_absent > 100);
}
