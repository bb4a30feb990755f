//! Learning from false positives.

use crate::batch::Batch;
use crate::entry::Deed;
use crate::error::Error;
use crate::inner::{Inner, Planned, Trouble, Writer};
use crate::queue::{Queue, Queued};
use crate::store::{Durability, Store};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;
use twiceshy::filter::Adapted;

/// How many false positives one caller learns from: others go on asking, and nobody shall work for them for ever.
const AT_ONCE: usize = 16;

/// A store that answers so soon is asked for the index by whoever erred: waking the learner takes longer.
const NEAR: Duration = Duration::from_micros(20);

impl<S: Store> Inner<S> {
    /// A look-up has found that the filter was wrong. `took` is what the store took to say so.
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
            self.learn(&mut writer, AT_ONCE);
        } else if !self.learns_at_once {
            self.something_waits.notify_one();
        }
        // Where there is no learner, who holds the lock learns, or who errs next.
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the learner does until the guard is closed. One at a time, so that writers have their turn.
    pub(crate) fn learn_until_closed(&self) {
        loop {
            let idle = |queue: &mut Queue| queue.is_empty() && !self.closing.load(Ordering::Relaxed);
            drop(self.something_waits.wait_while(self.queue(), idle).unwrap_or_else(PoisonError::into_inner));
            if self.closing.load(Ordering::Relaxed) {
                return;
            }
            // Somebody's store may panic: whoever takes the lock next begins again from it, and there must be a learner.
            let learned = catch_unwind(AssertUnwindSafe(|| match self.lock() {
                Ok(mut writer) => self.learn(&mut writer, 1),
                // The store does not answer. What waits comes back if it matters.
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
        self.something_waits.notify_all();
    }

    /// What follows a change, where there is no learner.
    pub(crate) fn learn_at_once(&self, writer: &mut Writer) {
        if self.learns_at_once {
            self.learn(writer, AT_ONCE);
        }
    }

    /// Learns from all that waits now, not from what comes meanwhile.
    pub(crate) fn learn_all(&self, writer: &mut Writer) {
        let waiting = self.queue().len();
        self.learn(writer, waiting);
    }

    /// Learns from some of what waits. An error is nobody's: the query is forgotten, and comes back if it matters.
    fn learn(&self, writer: &mut Writer, most: usize) {
        for _ in 0..most {
            let Some(query) = self.queue().pop() else { return };
            match self.adapt(writer, &query) {
                Ok(Some(Adapted::Fixed)) => self.counters.adapted.add(1),
                _ => self.counters.not_adapted.add(1),
            }
            if writer.doubt.is_some() {
                return;
            }
        }
    }

    /// Whether the filter lets a key through; it does where there is none.
    pub(crate) fn may_hold(&self, key: &[u8]) -> bool {
        let filter = self.filter.read().unwrap_or_else(PoisonError::into_inner);
        filter.as_ref().is_none_or(|filter| filter.answers(key))
    }

    /// Begins from the start under the lock: the filter looks the query up again, and one that is absent or stored by now is
    /// dropped.
    fn adapt(&self, writer: &mut Writer, query: &[u8]) -> Result<Option<Adapted>, Error<S::Error>> {
        if !self.may_hold(query) {
            return Ok(None);
        }
        match self.plan(&writer.state, &Batch::default(), |filter, view| filter.adapt(query, view)) {
            Ok(Planned::Done(adapted)) => Ok(adapted),
            Ok(Planned::Waits(plan)) => {
                self.forget_stale_snapshot(writer);
                let (mut after, mut batch) = (writer.state.clone(), Batch::default());
                after.advance(&plan, Deed::Other, writer.tag(), &mut batch);
                // No disk need hear of what was learned: after a crash the filter takes new functions. But that it has learned
                // something must be known then, so the first time is synced.
                let durability = if writer.state.learned { Durability::Seen } else { Durability::Synced };
                after.learned = true;
                self.commit(writer, after, batch, Vec::new(), durability)?;
                self.keep_log_short(writer);
                Ok((!self.may_hold(query)).then_some(Adapted::Fixed))
            }
            Err(Trouble::Lost) => {
                self.lose_filter();
                Ok(None)
            }
            Err(Trouble::Full) => Ok(None),
            Err(Trouble::Store(error)) => Err(Error::Store(error)),
        }
    }
}
