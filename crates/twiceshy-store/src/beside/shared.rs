//! What a guard beside a store and its tickets share.

use super::desk::{Action, Desk, Reply, Suspect, Task};
use super::flights::Flights;
use super::live::Live;
use super::record::BesideRecord;
use crate::asking::Asked;
use crate::error::Error;
use crate::inner::Inner;
use crate::learning::FAST_STORE;
use crate::pending::{Holder, Mark};
use crate::stats::Counter;
use crate::store::Store;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use twiceshy::filter::Backed;
use twiceshy::remote::Key;

/// Starts a resync.
pub(crate) type OnDrift = Arc<dyn Fn() + Send + Sync>;

/// The parts of a guard beside a store.
///
/// **Locks.** Only the desk's thread changes the set, and it holds none of these locks while it commits. Look-ups take the
/// filter's lock and that of the flights, for a moment each.
pub(crate) struct Shared<S: Store> {
    pub(crate) inner: Arc<Inner<S>>,
    pub(crate) desk: Desk<S>,
    live: Mutex<Live>,
    pub(crate) flights: Flights,
    /// `true` if the filter may turn keys away: the set has every row's key.
    pub(crate) complete: AtomicBool,
    /// How often a row was denied that the filter should have let pass. Changed under the lock of the tickets.
    pub(crate) alarms: AtomicU64,
    /// Called after such an alarm.
    pub(crate) on_drift: Mutex<Option<OnDrift>>,
    pub(crate) record: Mutex<BesideRecord>,
    /// `true` if the record on disk may be another: a commit of it failed.
    pub(crate) record_in_doubt: AtomicBool,
    /// `true` if tickets of an earlier process were not closed: their rows may appear at any time, and it is not known which. Then no
    /// load is shared.
    pub(crate) cut_off: AtomicBool,
    /// While keys are loaded in bulk: a filter that knows their index entries.
    pub(crate) bulk: Mutex<Option<Box<dyn Backed>>>,
    /// Keys that the running resync has read.
    pub(crate) read: AtomicU64,
    /// Look-ups that found no row of a key in the set.
    pub(crate) drifted: Counter,
    /// Look-ups that shared the load of another.
    pub(crate) shared: Counter,
}

impl<S: Store> Shared<S> {
    pub(crate) fn new(inner: Arc<Inner<S>>, record: BesideRecord) -> Shared<S> {
        Shared {
            inner,
            desk: Desk::default(),
            live: Mutex::default(),
            flights: Flights::default(),
            complete: AtomicBool::new(record.complete),
            alarms: AtomicU64::new(0),
            on_drift: Mutex::default(),
            record: Mutex::new(record),
            record_in_doubt: AtomicBool::new(false),
            cut_off: AtomicBool::new(!record.tidy),
            bulk: Mutex::default(),
            read: AtomicU64::new(0),
            drifted: Counter::default(),
            shared: Counter::default(),
        }
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These keys have one ticket less.
    pub(crate) fn leave(&self, keys: &[Key]) {
        self.inner.pending.leave_for(keys, Holder::Ticket);
    }

    /// Hands a ticket in at the desk.
    pub(crate) fn hand_in(&self, action: Action, keys: Vec<Key>) -> oneshot::Receiver<Reply<S>> {
        let (reply, received) = oneshot::channel();
        self.desk.hand_in(Task::Ticket { action, keys, reply });
        received
    }

    /// Has the desk's thread do something, and waits for it.
    pub(crate) fn at_desk<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Shared<S>) -> Result<T, Error<S::Error>> + Send + 'static,
    ) -> Result<T, Error<S::Error>> {
        let (reply, received) = oneshot::channel();
        let shared = Arc::clone(self);
        self.desk.hand_in(Task::Work(Box::new(move || drop(reply.send(work(&shared))))));
        received.recv().unwrap_or(Err(Error::Closed))
    }

    /// A look-up did not find a row of a key that the filter let pass. `waits` is `true` if the caller may wait for the guard's
    /// own file.
    pub(crate) fn not_found(&self, key: Key, mark: Mark, took: Duration, waits: bool) {
        let suspect = Suspect { key, mark, took };
        if !self.inner.policy.learns() {
            return self.inner.mistake(&suspect.key, mark, took);
        }
        // Handing it over takes longer than a load from a near store.
        if waits && (self.inner.learns_at_once || took < FAST_STORE) {
            // The guard's file may panic, and the caller has its answer already.
            drop(catch_unwind(AssertUnwindSafe(|| self.examine(suspect))));
        } else if !self.desk.suspect(suspect) {
            self.inner.counters.skipped.add(1);
        }
    }

    /// Asks the filter, without the store and without waiting.
    #[inline]
    pub(crate) fn ask(&self, key: &[u8]) -> Asked {
        if !self.complete.load(Ordering::SeqCst) {
            return Asked::Unfiltered;
        }
        self.inner.ask(key)
    }
}
