//! Rows that the filter denies: found by a check of an absent answer, or met without the guard.

use super::Beside;
use super::Tickets;
use super::desk::Task;
use super::shared::{OnDrift, Shared};
use crate::error::Error;
use crate::store::{Durability, Store};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use twiceshy::spot_check::Verdict;

impl<S: Store> Beside<S> {
    /// Has this called when a row was found that the filter denied: somebody writes rows past the guard. From then on all look-ups are
    /// loaded, also after the next open, until a [`resync`](Beside::resync) has ended. So start one, in another thread: this is
    /// called by the look-up that has found the row. If a resync is running, it is called at the end of that one, which may have missed
    /// the row. It is not called if that resync panics.
    ///
    /// The alarm outlives a crash of the process once it is in the guard's own file, which another thread writes at once, after the commit
    /// that is under way.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("guard");
    /// use std::sync::mpsc::channel;
    /// use twiceshy_store::Guard;
    ///
    /// let guard = Guard::beside(&path)?;
    /// let (wake, wakes) = channel();
    /// guard.on_drift(move || drop(wake.send(())));
    /// // A thread of yours: `while wakes.recv().is_ok() { guard.resync(…)?; }`
    /// # drop(wakes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn on_drift(&self, call: impl Fn() + Send + Sync + 'static) {
        let call: OnDrift = Arc::new(call);
        *self.shared.on_drift.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
    }

    /// Shows the guard the key of a row that you have met without it, in a list or a join: some 30 ns, and no disk. `false` if the guard
    /// would have denied the row: then it has raised the alarm, as a [check](crate::Options::spot_check) would have.
    ///
    /// Call it within ten seconds of reading the row. One that was deleted under a ticket before looks like one that is denied. While more
    /// than 65,536 keys leave the set within ten seconds (a bulk delete, or a resync of a set with many keys too many), no row raises an
    /// alarm, until ten seconds after.
    pub fn seen(&self, key: impl AsRef<[u8]>) -> bool {
        let key = self.normalized(key.as_ref());
        let (shared, spot) = (&self.shared, &self.shared.inner.spot);
        let verdict = match shared.ask(&key).is_absent() {
            false => Verdict::Fine,
            true if spot.has_left(&key, spot.lately()) => Verdict::Moving,
            true => Verdict::Denied,
        };
        spot.saw(verdict);
        if verdict == Verdict::Denied {
            shared.alarm();
        }
        verdict != Verdict::Denied
    }
}

impl<S: Store> Shared<S> {
    /// The check of an absent answer has ended, whose loader saw what was committed at this moment, or later.
    pub(crate) fn checked(self: &Arc<Self>, key: &[u8], since: Duration, found: bool) {
        let verdict = if found { self.judge(key, since) } else { Verdict::Fine };
        self.inner.spot.checked(verdict);
        if verdict == Verdict::Denied {
            self.alarm();
        }
    }

    /// A row was found that the filter had denied. Its key comes into the set before the row is written. So if it is not there now, it was
    /// there and has left, or never was.
    fn judge(&self, key: &[u8], since: Duration) -> Verdict {
        let asked = self.ask(key);
        match asked.is_absent() {
            true if self.inner.spot.has_left(key, since) => Verdict::Moving,
            true => Verdict::Denied,
            // Another one has raised the alarm meanwhile.
            false if !self.complete.load(Ordering::SeqCst) => Verdict::Denied,
            false => Verdict::Moving,
        }
    }

    /// The filter has denied a row. From now on all look-ups are loaded.
    pub(crate) fn alarm(self: &Arc<Self>) {
        let live = self.live();
        let (first, waits) = (self.complete.swap(false, Ordering::SeqCst), live.is_resyncing());
        // A resync that an alarm has started may miss the row of the next one.
        if !first && !waits {
            return;
        }
        self.alarms.fetch_add(1, Ordering::SeqCst);
        drop(live);
        let checks = self.inner.spot.counts().checks;
        if self.inner.spot.alarm() {
            self.inner.watch.denied(checks);
        }
        let shared = Arc::clone(self);
        // Look-ups wait for no disk. If it fails, the next change writes it.
        self.desk.hand_in_first(Task::Work(Box::new(move || drop(shared.note_alarm()))));
        if !waits {
            self.has_drifted();
        }
    }

    /// Writes down that the guard is incomplete.
    fn note_alarm(&self) -> Result<(), Error<S::Error>> {
        let record = {
            let mut record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
            record.complete = false;
            self.record_in_doubt.store(true, Ordering::SeqCst);
            *record
        };
        self.change(&[], record, Durability::Synced)
    }

    /// Tells the user.
    pub(crate) fn has_drifted(&self) {
        let call = self.on_drift.lock().unwrap_or_else(PoisonError::into_inner).clone();
        call.into_iter().for_each(|call| call());
    }

    pub(crate) fn tickets(&self) -> Tickets {
        let (open, dropped) = self.live().counts();
        Tickets {
            complete: self.complete.load(Ordering::SeqCst),
            open,
            dropped,
            cut_off: self.cut_off.load(Ordering::SeqCst),
            pending: self.inner.pending.len(),
            drifted: self.drifted.get(),
            shared: self.shared.get(),
        }
    }
}
