//! Learning from false positives.

use crate::changing::Draft;
use crate::entry::Logged;
use crate::error::Error;
use crate::index::Failure;
use crate::inner::{Inner, Writer};
use crate::queue::{Queue, Queued};
use crate::store::{Durability, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use twiceshy::filter::{Adapted, Operation};
use twiceshy::plan::Outcome;

/// How many false positives one caller learns from, so that no caller works for the others without end.
const LEARNED_AT_ONCE: usize = 16;

/// If the store answers faster than this, the thread that hit the false positive adapts the filter: waking the learner
/// takes longer.
const FAST_STORE: Duration = Duration::from_micros(20);

impl<S: Store> Inner<S> {
    /// Records a false positive. `took` is the time that the store took to answer.
    pub(crate) fn mistake(&self, query: &[u8], took: Duration) {
        self.counters.false_positives.add(1);
        if !self.policy.wants(query) {
            self.counters.declined.add(1);
            return;
        }
        match self.queue().push(query) {
            Queued::Waits => {}
            Queued::Merged => return self.counters.merged.add(1),
            Queued::Skipped => return self.counters.skipped.add(1),
        }
        if (self.learns_at_once || took < FAST_STORE && !self.learning_writes)
            && let Ok(mut writer) = self.writer.try_lock()
            && writer.doubt.is_none()
        {
            self.learn(&mut writer, LEARNED_AT_ONCE);
        } else if !self.learns_at_once {
            self.queue_not_empty.notify_one();
        }
        // Without a learner thread, the lock's holder learns, or the next thread that hits a false positive.
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The learner thread's loop until the guard is closed. It takes one query at a time, so that writers get their turn.
    pub(crate) fn learn_until_closed(&self) {
        loop {
            let idle = |queue: &mut Queue| queue.is_empty() && !self.closing.load(Ordering::Relaxed);
            drop(self.queue_not_empty.wait_while(self.queue(), idle).unwrap_or_else(PoisonError::into_inner));
            if self.closing.load(Ordering::Relaxed) {
                return;
            }
            // The store may panic. The learner must survive; the next thread that takes the lock reloads from the store.
            let learned = catch_unwind(AssertUnwindSafe(|| match self.lock() {
                Ok(mut writer) => self.learn(&mut writer, 1),
                // The store does not answer. The queries repeat if they matter.
                Err(_) => self.queue().clear(),
            }));
            if learned.is_err() {
                self.queue().clear();
            }
        }
    }

    /// Tells the learner to end.
    pub(crate) fn close(&self) {
        // Under the queue's lock, so that the learner either waits already or has yet to check.
        let queue = self.queue();
        self.closing.store(true, Ordering::Relaxed);
        drop(queue);
        self.queue_not_empty.notify_all();
    }

    /// Learns after a change, if there is no learner thread.
    pub(crate) fn learn_at_once(&self, writer: &mut Writer) {
        if self.learns_at_once {
            self.learn(writer, LEARNED_AT_ONCE);
        }
    }

    /// Learns from all queries queued now, not from those that arrive meanwhile.
    pub(crate) fn learn_all(&self, writer: &mut Writer) {
        let waiting = self.queue().len();
        self.learn(writer, waiting);
    }

    /// Learns from up to `most` queued queries. A query whose adaptation fails is dropped; it repeats if it matters.
    fn learn(&self, writer: &mut Writer, most: usize) {
        for _ in 0..most {
            let Some(query) = self.queue().pop() else { return };
            match self.adapt(writer, &query) {
                Ok(true) => self.counters.adapted.add(1),
                _ => self.counters.not_adapted.add(1),
            }
            if writer.doubt.is_some() {
                return;
            }
        }
    }

    /// Adapts the filter to one query. Looks it up again under the lock, and drops it if it is absent or stored by now.
    /// `true` if the filter turns the query away from now on.
    fn adapt(&self, writer: &mut Writer, query: &[u8]) -> Result<bool, Error<S::Error>> {
        if !self.may_contain(query) {
            return Ok(false);
        }
        let mut draft = Draft::new(&writer.state);
        let planned = match self.plan(writer, &draft.batch, Operation::Adapt(query)) {
            Ok(planned) => planned,
            Err(Failure::Store(error)) => return Err(Error::Store(error)),
            Err(Failure::Full) => return Ok(false),
            Err(Failure::NoFilter | Failure::Damaged) => {
                self.lose_filter(writer);
                return Ok(false);
            }
        };
        let fixed = planned.plan.outcome() == Outcome::Adapted(Adapted::Fixed);
        if planned.plan.writes().is_empty() {
            self.apply(writer, planned);
            return Ok(fixed);
        }
        self.forget_stale_snapshot(writer);
        let tag = writer.tag();
        draft.add(planned, Logged::Other, tag);
        // What was learned need not be synced, since after a crash the filter takes new functions. But the fact that it has
        // learned must survive, so the first time is synced.
        let durability = if writer.learning_synced { Durability::Seen } else { Durability::Synced };
        draft.state.learned = true;
        self.commit(writer, draft, &[], durability)?;
        writer.learning_synced = true;
        self.keep_log_short(writer);
        Ok(fixed)
    }
}
