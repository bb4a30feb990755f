//! Learning from false positives.

use crate::batch::Batch;
use crate::entry::Deed;
use crate::error::Error;
use crate::inner::{Inner, Planned, Trouble, Writer};
use crate::queue::Queued;
use crate::store::{Durability, Store};
use std::sync::PoisonError;
use twiceshy::filter::Adapted;

/// How many false positives one caller learns from.
const AT_ONCE: usize = 16;

impl<S: Store> Inner<S> {
    /// A look-up has found that the filter was wrong. Whoever can have the lock at once learns from it and from others
    /// that wait; otherwise its holder will, or who errs next.
    pub(crate) fn mistake(&self, query: &[u8]) {
        self.counters.false_positives.add(1);
        if !self.policy.wants(query) {
            self.counters.declined.add(1);
            return;
        }
        match self.queue.lock().unwrap_or_else(PoisonError::into_inner).push(query) {
            Queued::Waits => {}
            Queued::Merged => return self.counters.merged.add(1),
            Queued::Skipped => return self.counters.skipped.add(1),
        }
        if let Ok(mut writer) = self.writer.try_lock()
            && writer.doubt.is_none()
        {
            self.learn(&mut writer);
        }
    }

    /// Learns from some of what waits: others go on asking, and nobody shall work for them for ever. An error is nobody's: the
    /// query is forgotten, and comes back if it matters.
    pub(crate) fn learn(&self, writer: &mut Writer) {
        // What a broom filter learns is a commit.
        if self.forget_stale_snapshot(writer).is_err() {
            return;
        }
        for _ in 0..AT_ONCE {
            let Some(query) = self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop() else { return };
            match self.adapt(writer, &query) {
                Ok(Some(Adapted::Fixed)) => self.counters.adapted.add(1),
                _ => self.counters.not_adapted.add(1),
            }
            if writer.doubt.is_some() {
                return;
            }
        }
    }

    /// Begins from the start under the lock: the filter looks the query up again, and one that is absent or stored by now is
    /// dropped.
    fn adapt(&self, writer: &mut Writer, query: &[u8]) -> Result<Option<Adapted>, Error<S::Error>> {
        match self.plan(&writer.state, &Batch::default(), |filter, view| filter.adapt(query, view)) {
            Ok(Planned::Done(adapted)) => Ok(adapted),
            Ok(Planned::Waits(plan)) => {
                let (mut after, mut batch) = (writer.state.clone(), Batch::default());
                after.advance(&plan, Deed::Other, writer.tag(), &mut batch);
                // Whoever crashes now finds the filter as it was: no disk need hear of it.
                self.commit(writer, after, batch, Vec::new(), Durability::Seen)?;
                Ok(Some(Adapted::Fixed))
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
