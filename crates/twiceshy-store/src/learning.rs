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

/// How many false positives one caller learns from: other threads go on asking, and no caller works for them without end.
const LEARNED_AT_ONCE: usize = 16;

/// If the store answers faster than this, the thread that hit the false positive adapts the filter: waking the learner
/// takes longer.
const NEAR: Duration = Duration::from_micros(20);

impl<S: Store> Inner<S> {
    /// Notes a false positive. `took` is the time that the store took to answer.
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
        if (self.learns_at_once || took < NEAR && !self.learning_writes)
            && let Ok(mut writer) = self.writer.try_lock()
            && writer.doubt.is_none()
        {
            self.learn(&mut writer, LEARNED_AT_ONCE);
        } else if !self.learns_at_once {
            self.queue_not_empty.notify_one();
        }
        // Without a learner, the thread that holds the lock learns, or the next one that hits a false positive.
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The learner's work until the guard is closed. One query at a time, so that writers have their turn.
    pub(crate) fn learn_until_closed(&self) {
        loop {
            let idle = |queue: &mut Queue| queue.is_empty() && !self.closing.load(Ordering::Relaxed);
            drop(self.queue_not_empty.wait_while(self.queue(), idle).unwrap_or_else(PoisonError::into_inner));
            if self.closing.load(Ordering::Relaxed) {
                return;
            }
            // The store may panic. The next thread that takes the lock begins again from it, and there must be a learner.
            let learned = catch_unwind(AssertUnwindSafe(|| match self.lock() {
                Ok(mut writer) => self.learn(&mut writer, 1),
                // The store does not answer. Waiting queries come back if they matter.
                Err(_) => self.queue().clear(),
            }));
            if learned.is_err() {
                self.queue().clear();
            }
        }
    }

    /// Lets the learner end.
    pub(crate) fn close(&self) {
        // Under the queue's lock: the learner is waiting by then, or has yet to look.
        let queue = self.queue();
        self.closing.store(true, Ordering::Relaxed);
        drop(queue);
        self.queue_not_empty.notify_all();
    }

    /// Learns after a change, if there is no learner.
    pub(crate) fn learn_at_once(&self, writer: &mut Writer) {
        if self.learns_at_once {
            self.learn(writer, LEARNED_AT_ONCE);
        }
    }

    /// Learns from all queries that wait now, not from those that come meanwhile.
    pub(crate) fn learn_all(&self, writer: &mut Writer) {
        let waiting = self.queue().len();
        self.learn(writer, waiting);
    }

    /// Learns from up to `most` waiting queries. A query whose adaptation fails is dropped; it comes back if it matters.
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

    /// Adapts the filter to one query. The filter looks it up again under the lock: one that is absent or stored by now is
    /// dropped. `true` if the query is turned away from now on.
    fn adapt(&self, writer: &mut Writer, query: &[u8]) -> Result<bool, Error<S::Error>> {
        if !self.may_contain(query) {
            return Ok(false);
        }
        let mut draft = Draft::new(&writer.state);
        let planned = match self.plan(writer, &draft.batch, Operation::Adapt(query)) {
            Ok(planned) => planned,
            Err(Failure::Store(error)) => return Err(Error::Store(error)),
            Err(Failure::Full) => return Ok(false),
            Err(Failure::NoFilter) => {
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
        // What was learned need not be synced: after a crash the filter takes new functions. But that it has learned
        // something must be known then, so the first time is synced.
        let durability = if writer.state.learned { Durability::Seen } else { Durability::Synced };
        draft.state.learned = true;
        self.commit(writer, draft, &[], durability)?;
        self.keep_log_short(writer);
        Ok(fixed)
    }
}
