//! False positives that wait to be learned from, and are answered meanwhile.

use crossbeam_utils::sync::ShardedLock;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use twiceshy::remote::Key;

/// Distinct queries that are not in the store, in the order in which they came. Bounded in number and bytes, so that an
/// attacker cannot make it grow. A look-up of one of them is answered *absent* without the store.
///
/// **No query in the list is stored.** A query is entered only by a look-up that found it absent, and the look-up
///
/// 1. reads the [mark](crate::pending::Pending::mark) of its key, and stops if a change of the key is under way,
/// 2. reads the store, which does not have the key,
/// 3. compares the mark under the list's lock, and enters the key if it is the same.
///
/// A change of the key, whatever becomes of it,
///
/// * (a) says in `Pending` that the key is pending, and then makes its mark another,
/// * (b) takes the key out of the list, under the list's lock,
/// * (c) commits, and applies its plan,
/// * (d) says that the key is no longer pending. If the commit's answer was lost, it does so only when the outcome is known.
///
/// Take any change, and any look-up that enters the key. If (a) comes before 1, then either (d) does as well, and the store
/// that is read in 2 has the change; or the key is pending in 1, and the look-up stops. If (a) comes between 1 and 3, the
/// marks differ in 3. If (a) comes after 3, then so does (b), which takes the key out before (c) can store it. So while a key
/// is in the list, the store was read after every change of it that has got to (c).
///
/// A thread that has stored a key therefore never finds it in the list: (b) has happened, and later look-ups read the key.
#[derive(Debug)]
pub(crate) struct Queue {
    list: ShardedLock<List>,
    /// The length of the list, nearly always 0. It may lag behind for a look-up, which then asks the store.
    len: AtomicUsize,
    most: usize,
    /// The learner sleeps on this bell.
    bell: Mutex<()>,
    rung: Condvar,
    /// `true` if the learner sleeps, or is about to look at the list once more and then sleep.
    asleep: AtomicBool,
    /// `true` if a caller learns, and will look at the list before it gives up the writer's lock.
    attended: AtomicBool,
}

/// A caller that learns: see [`Queue::attend`].
pub(crate) struct Attending<'a>(&'a Queue);

#[derive(Debug, Default)]
struct List {
    order: BTreeMap<u64, Key>,
    numbers: HashMap<Key, u64>,
    /// The number of the next query.
    next: u64,
    bytes: usize,
}

/// The limit on the bytes of all queries together.
const MOST_BYTES: usize = 4 << 20;

/// The memory of a query besides its bytes: twice a pointer with length and a number, the counts of the shared bytes, and the
/// unused space of a tree's node.
const BESIDE: usize = 2 * (size_of::<Key>() + size_of::<u64>()) + 16 + 12;

/// What happened to a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    Waits,
    /// It was waiting already.
    Merged,
    /// There is no room.
    Skipped,
    /// It may be stored by now.
    Changed,
}

impl Queue {
    pub(crate) fn new(most: usize) -> Queue {
        Queue {
            list: ShardedLock::default(),
            len: AtomicUsize::new(0),
            most,
            bell: Mutex::new(()),
            rung: Condvar::new(),
            asleep: AtomicBool::new(false),
            attended: AtomicBool::new(false),
        }
    }

    fn read(&self) -> impl std::ops::Deref<Target = List> + '_ {
        self.list.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the list, and then says how long it is.
    fn change<T>(&self, change: impl FnOnce(&mut List) -> T) -> T {
        let mut list = self.list.write().unwrap_or_else(PoisonError::into_inner);
        let done = change(&mut list);
        self.len.store(list.order.len(), Ordering::SeqCst);
        done
    }

    /// `true` if the query waits: then it is not stored.
    #[inline]
    pub(crate) fn holds(&self, query: &[u8]) -> bool {
        self.len() != 0 && self.read().numbers.contains_key(query)
    }

    /// Enters a query if `is_absent` says, under the list's lock, that no change of its key has begun since it was looked up.
    pub(crate) fn enter(&self, query: &[u8], is_absent: impl FnOnce() -> bool) -> Queued {
        if self.len() >= self.most {
            return Queued::Skipped;
        }
        self.change(|list| match list.numbers.contains_key(query) {
            _ if !is_absent() => Queued::Changed,
            true => Queued::Merged,
            false if list.order.len() >= self.most || list.bytes + query.len() > MOST_BYTES => Queued::Skipped,
            false => {
                list.enter(Key::from(query));
                Queued::Waits
            }
        })
    }

    /// Takes queries out: they are learned, or a change of them begins.
    pub(crate) fn take_out(&self, queries: &[Key]) {
        // Even if it looks empty: a look-up may be about to enter one of them.
        self.change(|list| queries.iter().for_each(|query| list.take_out(query)));
    }

    /// The first queries.
    pub(crate) fn first(&self, most: usize) -> Vec<Key> {
        self.read().order.values().take(most).cloned().collect()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len.load(Ordering::SeqCst)
    }

    pub(crate) fn clear(&self) {
        self.change(|list| *list = List { next: list.next, ..List::default() });
    }

    /// Says that the holder of the writer's lock will look at the list before it gives up the lock. Dropped under that lock.
    pub(crate) fn attend(&self) -> Attending<'_> {
        self.attended.store(true, Ordering::SeqCst);
        Attending(self)
    }

    /// Wakes the learner because a query was entered, unless somebody sees it anyway: a caller that learns, or the learner
    /// itself before it sleeps. Waking a thread is a system call.
    ///
    /// The query was counted in `len` before, and all of these are sequentially consistent. If a flag that was read here is
    /// cleared later, or set later, then the thread that does so reads `len` afterwards, and sees the query.
    pub(crate) fn ring_for_query(&self) {
        if self.asleep.load(Ordering::SeqCst) && !self.attended.load(Ordering::SeqCst) {
            self.ring();
        }
    }

    /// Wakes the learner.
    pub(crate) fn ring(&self) {
        // Under the lock, so that the learner either sleeps already or has yet to check.
        drop(self.bell.lock().unwrap_or_else(PoisonError::into_inner));
        self.rung.notify_all();
    }

    /// Sleeps for `pause`, and then until there are queries, or for `most` if that is given. Returns at once when it is time to
    /// `end`.
    pub(crate) fn sleep(&self, pause: Duration, most: Option<Duration>, end: impl Fn() -> bool) {
        let mut bell = self.bell.lock().unwrap_or_else(PoisonError::into_inner);
        if !pause.is_zero() {
            let paused = self.rung.wait_timeout_while(bell, pause, |()| !end());
            bell = paused.unwrap_or_else(PoisonError::into_inner).0;
        }
        // Before the list is looked at: see `ring_for_query`.
        self.asleep.store(true, Ordering::SeqCst);
        let waits = |(): &mut ()| self.len() == 0 && !end();
        match most {
            Some(most) => drop(self.rung.wait_timeout_while(bell, most, waits)),
            None => drop(self.rung.wait_while(bell, waits)),
        }
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Waits until the learner has found the list empty and sleeps.
    #[cfg(test)]
    pub(crate) fn wait_until_asleep(&self) {
        while !self.asleep.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        // It holds this lock until it sleeps.
        drop(self.bell.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Its memory, approximately.
    pub(crate) fn local_bits(&self) -> u64 {
        let list = self.read();
        (list.bytes + list.numbers.capacity().max(list.order.len()) * BESIDE) as u64 * 8
    }
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.0.attended.store(false, Ordering::SeqCst);
        if self.0.len() != 0 {
            // More was entered than a caller learns from, or just now.
            self.0.ring_for_query();
        }
    }
}

impl List {
    fn enter(&mut self, query: Key) {
        self.bytes += query.len();
        self.order.insert(self.next, query.clone());
        self.numbers.insert(query, self.next);
        self.next += 1;
    }

    fn take_out(&mut self, query: &Key) {
        if let Some(number) = self.numbers.remove(query) {
            self.order.remove(&number);
            self.bytes -= query.len();
        }
        if self.numbers.is_empty() {
            // The memory of a flood that is over.
            self.numbers.shrink_to(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(bytes: &[u8]) -> Key {
        Key::from(bytes)
    }

    #[test]
    fn a_queue_merges_repeats_and_skips_what_does_not_fit() {
        let queue = Queue::new(2);
        let push = |query: &[u8]| queue.enter(query, || true);
        assert_eq!(push(b"a"), Queued::Waits);
        assert_eq!(push(b"a"), Queued::Merged);
        assert_eq!(push(&vec![0; MOST_BYTES]), Queued::Skipped);
        assert_eq!(push(b"b"), Queued::Waits);
        assert_eq!(push(b"c"), Queued::Skipped);
        assert!(queue.holds(b"a") && queue.holds(b"b") && !queue.holds(b"c"));
        assert_eq!(queue.first(1), [key(b"a")]);
        queue.take_out(&[key(b"a"), key(b"unknown")]);
        assert!(!queue.holds(b"a") && queue.len() == 1);
        assert_eq!(push(b"a"), Queued::Waits);
        assert_eq!(queue.first(5), [key(b"b"), key(b"a")], "the oldest first");
        assert!(queue.local_bits() > 0);
        queue.take_out(&[key(b"b"), key(b"a")]);
        assert_eq!((queue.len(), queue.read().bytes, queue.local_bits()), (0, 0, 0));
    }

    #[test]
    fn a_query_whose_key_has_changed_is_not_entered_and_one_that_waits_is_not_entered_twice() {
        let queue = Queue::new(2);
        assert_eq!(queue.enter(b"a", || false), Queued::Changed);
        assert!(!queue.holds(b"a"));
        assert_eq!(queue.enter(b"a", || true), Queued::Waits);
        queue.clear();
        assert!(!queue.holds(b"a") && queue.first(1).is_empty());
        assert_eq!(Queue::new(0).enter(b"a", || true), Queued::Skipped);
    }

    /// Ends the learner, even if a test fails.
    struct Ends<'a>(&'a Queue, &'a AtomicBool);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.1.store(true, Ordering::SeqCst);
            self.0.ring();
        }
    }

    #[test]
    fn the_learner_is_woken_for_a_query_unless_somebody_else_will_see_it() {
        let queue = Queue::new(9);
        let ended = AtomicBool::new(false);
        let soon = |what: &dyn Fn() -> bool| {
            let began = std::time::Instant::now();
            while !what() && began.elapsed() < Duration::from_secs(20) {
                std::thread::yield_now();
            }
            what()
        };
        let closing = || ended.load(Ordering::SeqCst);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !closing() {
                    queue.sleep(Duration::ZERO, None, closing);
                    queue.take_out(&queue.first(9));
                }
            });
            let _ends = Ends(&queue, &ended);
            for number in 0..2_000u32 {
                queue.enter(&number.to_be_bytes(), || true);
                queue.ring_for_query();
                assert!(soon(&|| queue.len() == 0), "query {number} was not seen");
            }
            queue.wait_until_asleep();
            let attending = queue.attend();
            queue.enter(b"query", || true);
            queue.ring_for_query();
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(queue.len(), 1, "the learner was woken, but a caller will see it");
            drop(attending);
            assert!(soon(&|| queue.len() == 0), "the caller has left it, and nobody was woken");
        });
    }
}
