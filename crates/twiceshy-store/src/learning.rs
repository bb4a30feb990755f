//! Learning from false positives.

use crate::batch::Batch;
use crate::changing::Draft;
use crate::entry::Logged;
use crate::error::Error;
use crate::index::Failure;
use crate::inner::{Inner, Planned, Writer};
use crate::pending::Mark;
use crate::queue::Queued;
use crate::status;
use crate::store::{Durability, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use twiceshy::filter::Operation;
use twiceshy::plan::{Learned, Outcome};
use twiceshy::remote::Key;

/// How many false positives one caller learns from, so that no caller works for the others without end.
const LEARNED_BY_CALLER: usize = 16;

/// If the store answers faster than this, the thread that hit the false positive adapts the filter: waking the learner
/// takes longer.
pub(crate) const FAST_STORE: Duration = Duration::from_micros(20);

/// The most queries in one commit. More would not be faster, and look-ups wait while its plan is applied.
pub(crate) const MOST_IN_COMMIT: usize = 64;

/// How long the learner keeps the writer's lock, approximately. A commit may take longer; then planning may, too.
const TURN: Duration = Duration::from_millis(10);

/// How long closing a store is put off to learn.
const BEFORE_CLOSING: Duration = Duration::from_secs(1);

/// How long the learner waits after a failure. Each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How many queries are planned together, by how long the last ones took.
struct Pace {
    queries: usize,
}

/// Where queries come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// They wait in the queue.
    Queue,
    /// The caller has just asked for them.
    Caller,
}

impl Pace {
    fn new() -> Pace {
        Pace { queries: MOST_IN_COMMIT / 16 }
    }

    /// Planning these queries took a while, and then committing them. Planning should take as long as a turn, or as a commit
    /// if that is longer.
    fn adjust(&mut self, queries: usize, planning: Duration, committing: Duration) {
        let each = planning.as_secs_f64() / queries.max(1) as f64;
        let most = TURN.max(committing).as_secs_f64() / each.max(1e-9);
        // It at most doubles: one that was quick says little about the next.
        self.queries = (most as usize).min(2 * self.queries).clamp(1, MOST_IN_COMMIT);
    }
}

impl<S: Store> Inner<S> {
    /// Records a false positive. `mark` is of the moment before the store was asked, and `took` is the time that the store took
    /// to answer.
    pub(crate) fn mistake(&self, query: &[u8], mark: Mark, took: Duration) {
        if !self.pending.is_unchanged(mark) {
            // A change of the key has begun: the filter may have been right.
            return;
        }
        self.counters.false_positives.add(1);
        self.watch.false_positive(took);
        if !self.policy.wants(query) {
            self.counters.declined.add(1);
            return;
        }
        if self.learns_at_once {
            return self.learn_now(query, mark);
        }
        if took < FAST_STORE && !self.learning_writes && self.learn_here(query, mark) {
            return;
        }
        match self.queue.enter(query, || self.pending.is_unchanged(mark)) {
            Queued::Waits => self.queue.ring_for_query(),
            Queued::Merged => self.counters.merged.add(1),
            Queued::Skipped => {
                self.counters.skipped.add(1);
                self.watch.skipped(self.counters.skipped.get());
            }
            Queued::Changed => self.counters.not_adapted.add(1),
        }
    }

    /// Adapts the filter in the thread that hit the false positive, if the writer's lock is free, and then learns from
    /// queries that other threads have entered meanwhile. The query itself is not entered: nobody waits for long. `false` if
    /// it has yet to be learned from.
    fn learn_here(&self, query: &[u8], mark: Mark) -> bool {
        let Ok(mut writer) = self.writer.try_lock() else { return false };
        if writer.doubt.is_some() || self.queue.holds(query) {
            return false;
        }
        // Before the lock: whatever is entered from now on is learned here, or the learner is woken.
        let _present = self.queue.attend();
        if !self.pending.is_unchanged(mark) {
            // Changes begin under the lock, so none begins from here on.
            self.counters.not_adapted.add(1);
            return true;
        }
        let learned = self.learn_from(&mut writer, &[Key::from(query)], Source::Caller, &mut Pace::new());
        if learned.is_ok() && self.queue.len() != 0 {
            // If it fails, the next one tries again.
            let _ = self.learn(&mut writer, LEARNED_BY_CALLER, &mut Pace::new());
        }
        learned.is_ok()
    }

    /// Adapts the filter before the caller gets its answer. Waits for the writer's lock: the caller holds no lock, and nothing
    /// that runs under that lock looks keys up.
    fn learn_now(&self, query: &[u8], mark: Mark) {
        let learned = self.lock().and_then(|mut writer| match self.pending.is_unchanged(mark) {
            true => self.learn_from(&mut writer, &[Key::from(query)], Source::Caller, &mut Pace::new()).map(drop),
            false => {
                self.counters.not_adapted.add(1);
                Ok(())
            }
        });
        if learned.is_err() {
            // The look-up was answered, so it does not fail. The query repeats if it matters.
            self.counters.not_adapted.add(1);
        }
    }

    /// The learner thread's loop until the guard is closed. It gives up the lock after each commit, so that writers get their
    /// turn.
    pub(crate) fn learn_until_closed(&self) {
        let closing = || self.closing.load(Ordering::Relaxed);
        // The filter may have to be taught at once.
        let (mut pace, mut pause, mut teaches) = (Pace::new(), Duration::ZERO, true);
        loop {
            if !teaches {
                self.sleep(pause, closing);
            }
            if closing() {
                return;
            }
            // The store may panic. The learner must survive; the next thread that takes the lock reloads from the store.
            let learned = catch_unwind(AssertUnwindSafe(|| {
                let mut writer = self.lock()?;
                self.learn(&mut writer, MOST_IN_COMMIT, &mut pace)?;
                self.teach(&mut writer, MOST_IN_COMMIT);
                Ok::<_, Error<S::Error>>(writer.lesson.is_some())
            }));
            teaches = matches!(learned, Ok(Ok(true)));
            pause = match learned {
                Ok(Ok(_)) => Duration::ZERO,
                // The store fails. The queries are answered meanwhile.
                Ok(Err(_)) => (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE),
                Err(_) => {
                    // Perhaps one of the queries is the cause. They repeat if they matter.
                    self.queue.clear();
                    (pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE)
                }
            };
            self.tell_status(false);
            self.turns.stand_back();
        }
    }

    /// Sleeps for `pause`, and then until there are queries or the guard is closed. Wakes to write the status, if there is a file
    /// for it.
    fn sleep(&self, pause: Duration, closing: impl Fn() -> bool) {
        let most = self.status.as_ref().map(|_| status::INTERVAL);
        self.queue.sleep(pause, most, &closing);
        while self.queue.len() == 0 && !closing() {
            self.tell_status(false);
            self.queue.sleep(Duration::ZERO, most, &closing);
        }
    }

    /// Tells the learner to end.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.queue.ring();
    }

    /// Makes sure that there is a filter, and learns from the queries that wait now, not from those that arrive meanwhile.
    pub(crate) fn learn_all(&self) -> Result<(), Error<S::Error>> {
        self.learn_until(|| false)
    }

    /// The same, but not for long.
    pub(crate) fn learn_before_closing(&self) -> Result<(), Error<S::Error>> {
        let began = Instant::now();
        self.learn_until(|| began.elapsed() > BEFORE_CLOSING)
    }

    fn learn_until(&self, ends: impl Fn() -> bool) -> Result<(), Error<S::Error>> {
        let (mut left, mut pace) = (self.queue.len(), Pace::new());
        loop {
            let mut writer = self.lock()?;
            match self.learn(&mut writer, left, &mut pace) {
                Ok(some) if some > 0 && some < left && !ends() => left -= some,
                // All, or the store fails: the queries repeat if they matter.
                _ => return Ok(()),
            }
            drop(writer);
            self.turns.stand_back();
        }
    }

    /// Learns from the first queries that wait, up to `most` of them, for a turn. Returns how many they were.
    fn learn(&self, writer: &mut Writer, most: usize, pace: &mut Pace) -> Result<usize, Error<S::Error>> {
        let (began, mut done) = (Instant::now(), 0);
        while done < most && (done == 0 || began.elapsed() < TURN) {
            // If learning does not write, a plan takes the first query alone.
            let together = if self.learning_writes { pace.queries } else { 1 };
            let queries = self.queue.first(together.min(most - done));
            if queries.is_empty() {
                break;
            }
            done += self.learn_from(writer, &queries, Source::Queue, pace)?;
        }
        Ok(done)
    }

    /// Learns from some of these queries, the first ones, with one commit if one is needed. No change of their keys has begun
    /// since they were absent. Returns how many they were; these no longer wait, whether or not the filter could be adapted.
    ///
    /// After an error they still wait, and nothing was applied: nobody has seen the plan, so a broom filter keeps its
    /// functions. If the commit has happened all the same, its plan is applied when that is known.
    fn learn_from(
        &self,
        writer: &mut Writer,
        queries: &[Key],
        source: Source,
        pace: &mut Pace,
    ) -> Result<usize, Error<S::Error>> {
        let began = Instant::now();
        let planned = match self.plan(writer, &Batch::default(), Operation::Learn(queries)) {
            Ok(planned) => planned,
            Err(Failure::Store(error)) => return Err(Error::Store(error)),
            Err(failure) => {
                if matches!(failure, Failure::NoFilter | Failure::Damaged) {
                    self.watch.damaged("the filter or its index");
                    self.lose_filter(writer);
                }
                self.take_out(queries, source);
                self.counters.not_adapted.add(queries.len() as u64);
                return Ok(queries.len());
            }
        };
        let planning = began.elapsed();
        let learned = match planned.plan.outcome() {
            Outcome::Learned(learned) => learned,
            _ => Learned::default(),
        };
        let taken = (learned.queries as usize).clamp(1, queries.len());
        let mistakes = planned.plan.mistakes().to_vec();
        if planned.plan.writes().is_empty() {
            self.apply(writer, planned);
        } else {
            self.commit_learned(writer, planned)?;
            pace.adjust(taken, planning, began.elapsed() - planning);
        }
        self.remember(writer, &mistakes);
        self.take_out(&queries[..taken], source);
        self.counters.adapted.add(learned.fixed);
        self.counters.not_adapted.add(taken as u64 - learned.fixed);
        // No change is under way or in doubt, so the index must not have a key that the values lack.
        self.counters.disagreements.add(learned.stored);
        self.watch.learned(taken as u64, learned.fixed);
        if learned.stored > 0 {
            self.watch.damaged("a key is in the index, but has no value");
        }
        Ok(taken)
    }

    fn take_out(&self, queries: &[Key], source: Source) {
        if source == Source::Queue {
            self.queue.take_out(queries);
        }
    }

    pub(crate) fn commit_learned(&self, writer: &mut Writer, planned: Planned) -> Result<(), Error<S::Error>> {
        self.forget_stale_snapshot(writer);
        let mut draft = Draft::new(&writer.state);
        let tag = writer.tag();
        draft.add(planned, Logged::Other, tag);
        // What was learned need not be synced, since after a crash the filter takes new functions. But the fact that it has
        // learned must survive, so the first time is synced.
        let durability = if writer.learning_synced { Durability::Seen } else { Durability::Synced };
        draft.state.learned = true;
        self.commit(writer, draft, &[], durability)?;
        writer.learning_synced = true;
        self.keep_log_short(writer);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;
    use crate::options::Options;

    #[test]
    fn a_caller_learns_from_nothing_that_has_changed_or_waits_and_from_nothing_while_another_has_the_lock() {
        let guard = Options::new().open(MemoryStore::new()).expect("an empty store");
        guard.insert(b"stored", b"").expect("memory");
        let inner = guard.inner();
        inner.queue.wait_until_asleep();
        let counts = || {
            let stats = guard.stats();
            (stats.adapted + stats.not_adapted, stats.disagreements)
        };
        let mark = inner.pending.mark(b"query").expect("no change of it is under way");
        let writer = inner.lock().expect("memory");
        assert!(!inner.learn_here(b"query", mark), "another has the lock");
        drop(writer);
        assert_eq!(inner.queue.enter(b"query", || true), Queued::Waits);
        assert!(!inner.learn_here(b"query", mark), "it is learned from when its turn comes");
        inner.queue.take_out(&[Key::from(&b"query"[..])]);
        let before = counts();
        assert!(inner.learn_here(b"query", mark), "nothing has changed");
        assert_eq!(counts(), (before.0 + 1, 0), "it is learned from, or need not be");
        guard.insert(b"query", b"").expect("memory");
        assert!(inner.learn_here(b"query", mark), "there is nothing to learn");
        assert_eq!(counts(), (before.0 + 2, 0), "a stored key is no mistake");
        assert!(guard.contains(b"query").expect("memory"));
    }

    #[test]
    fn a_caller_learns_from_what_others_enter_meanwhile() {
        let guard = Options::new().open(MemoryStore::new()).expect("an empty store");
        let inner = guard.inner();
        inner.queue.wait_until_asleep();
        let mark = inner.pending.mark(b"query").expect("no change of it is under way");
        // So the learner sleeps on.
        let attending = inner.queue.attend();
        for number in 0..LEARNED_BY_CALLER as u64 {
            inner.queue.enter(&number.to_be_bytes(), || true);
            inner.queue.ring_for_query();
        }
        assert!(inner.learn_here(b"query", mark));
        assert_eq!(inner.queue.len(), 0);
        drop(attending);
    }
}
