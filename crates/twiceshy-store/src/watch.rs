//! What a guard says about itself: events (feature `tracing`) and metrics (feature `metrics`). Without these features every
//! function here is empty.
//!
//! **No key is ever in an event, a metric or a name:** keys may be secrets. So neither is the text of a check or a repair, which
//! names keys. The message of a store's own error is passed on.

#[cfg(feature = "metrics")]
use crate::beside::Tickets;
#[cfg(feature = "metrics")]
use crate::stats::Stats;
use crate::store::CommitError;
use std::error::Error as StdError;
use std::path::Path;
#[cfg(any(feature = "metrics", feature = "tracing"))]
use std::sync::Arc;
use std::time::Duration;
use twiceshy::Kind;

/// A guard that is watched.
pub(crate) struct Watch {
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    name: Arc<str>,
    /// The counts that were published; `None` if nobody has asked for it.
    #[cfg(feature = "metrics")]
    published: std::sync::Mutex<Option<Stats>>,
    /// The same of a guard beside a store.
    #[cfg(feature = "metrics")]
    tickets: std::sync::Mutex<Option<Tickets>>,
}

/// Why a filter's table was replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    Grown,
    ReKeyed,
}

/// An event of the guard in `$self`.
#[cfg(feature = "tracing")]
macro_rules! event {
    ($level:ident, $self:ident, $($rest:tt)*) => {
        tracing::$level!(target: "twiceshy_store", guard = &*$self.name, $($rest)*)
    };
}

#[cfg(not(feature = "tracing"))]
macro_rules! event {
    ($($nothing:tt)*) => {{}};
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody is told"))]
impl Watch {
    /// Watches the guard with this name.
    pub(crate) fn new(name: Option<String>) -> Watch {
        Watch {
            #[cfg(any(feature = "metrics", feature = "tracing"))]
            name: name.map_or_else(|| "guard".into(), Arc::from),
            #[cfg(feature = "metrics")]
            published: Default::default(),
            #[cfg(feature = "metrics")]
            tickets: Default::default(),
        }
    }

    /// If there is no filter yet, it will be rebuilt.
    pub(crate) fn opened(&self, kind: Kind, rate: f64, keys: u64, rolled: u64, has_filter: bool, read_only: bool) {
        event!(info, self, filter = kind.name(), rate, keys, rolled_forward = rolled, has_filter, read_only, "opened");
    }

    pub(crate) fn rebuilt(&self, keys: u64, took: Duration) {
        event!(info, self, keys, seconds = took.as_secs_f64(), "rebuilt");
    }

    /// The error is the store's, or says that the index is damaged.
    pub(crate) fn not_rebuilt(&self, error: &dyn StdError) {
        event!(warn, self, error = %error, "the filter could not be rebuilt");
    }

    pub(crate) fn replaced(&self, why: Replaced, cells: u64) {
        match why {
            Replaced::Grown => event!(info, self, cells, "grown"),
            Replaced::ReKeyed => event!(info, self, cells, "re-keyed"),
        }
    }

    pub(crate) fn saved(&self, bytes: usize) {
        event!(info, self, bytes, "saved");
    }

    pub(crate) fn not_saved(&self, path: &Path, error: &std::io::Error) {
        event!(warn, self, path = %path.display(), error = %error, "the snapshot could not be saved");
    }

    /// `error` if it could not be closed properly.
    pub(crate) fn closed(&self, error: Option<&dyn StdError>) {
        match error {
            None => event!(info, self, "closed"),
            Some(error) => event!(warn, self, error = %error, "closed with an error"),
        }
    }

    /// What is damaged, without the names of keys.
    pub(crate) fn damaged(&self, what: &'static str) {
        event!(warn, self, what, "damaged");
    }

    pub(crate) fn repaired(&self, keys: u64, repaired: usize, lost: usize) {
        event!(info, self, keys, repaired, lost, "repaired");
    }

    pub(crate) fn not_committed<E: StdError>(&self, error: &CommitError<E>) {
        match error {
            CommitError::Failed(error) => event!(warn, self, error = %error, "a commit failed"),
            CommitError::Unknown(error) => event!(warn, self, error = %error, "the answer to a commit was lost"),
        }
    }

    /// Tells when the number of skipped mistakes is a power of two: in a flood there are millions.
    pub(crate) fn skipped(&self, all: u64) {
        if all.is_power_of_two() {
            event!(warn, self, skipped = all, "mistakes were skipped: too many wait to be learned from");
        }
    }

    /// A guard beside a store has denied a row.
    pub(crate) fn denied(&self, spot_checks: u64) {
        event!(
            error,
            self,
            spot_checks,
            "the filter denied a row that the store has: somebody writes rows past the guard. Until a resync has ended, every look-up goes \
             to the store: find out who writes without a ticket, and call `resync`"
        );
    }

    pub(crate) fn learned(&self, queries: u64, fixed: u64) {
        event!(debug, self, queries, fixed, "learned");
    }

    /// The store took this long to say that the filter was wrong.
    pub(crate) fn false_positive(&self, took: Duration) {
        event!(debug, self, seconds = took.as_secs_f64(), "false positive");
        #[cfg(feature = "metrics")]
        metrics::histogram!(HISTOGRAM, LABEL => self.label()).record(took);
    }
}

/// The time that the store took for a false positive.
#[cfg(feature = "metrics")]
const HISTOGRAM: &str = "twiceshy_false_positive_seconds";

/// The label with the guard's name.
#[cfg(feature = "metrics")]
const LABEL: &str = "guard";

#[cfg(feature = "metrics")]
impl Watch {
    fn label(&self) -> metrics::SharedString {
        metrics::SharedString::from_shared(Arc::clone(&self.name))
    }

    /// Adds to the counters what has happened since the last time, and sets the gauges. Adding, and not setting, is right for a
    /// guard that is opened again, and for two of the same name.
    pub(crate) fn publish(&self, stats: impl FnOnce() -> Stats) {
        let mut published = self.published.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut now = stats();
        let mut before = published.replace(now).unwrap_or_default();
        let (counted, held) = now.named();
        for ((name, now), (_, before)) in counted.into_iter().zip(before.named().0) {
            let name = format!("twiceshy_{name}_total");
            metrics::counter!(name, LABEL => self.label()).increment(now.saturating_sub(*before));
        }
        for (name, now) in held {
            metrics::gauge!(format!("twiceshy_{name}"), LABEL => self.label()).set(*now as f64);
        }
        metrics::describe_histogram!(HISTOGRAM, metrics::Unit::Seconds, "How long the store took for a false positive");
    }

    /// [`Watch::publish`] for what only a guard beside a store has.
    pub(crate) fn publish_tickets(&self, now: Tickets, wrong_share_at_most: f64) {
        let mut published = self.tickets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = published.replace(now).unwrap_or_default();
        for (name, now, before) in [("drifted", now.drifted, before.drifted), ("shared", now.shared, before.shared)] {
            let name = format!("twiceshy_{name}_total");
            metrics::counter!(name, LABEL => self.label()).increment(now.saturating_sub(before));
        }
        for (name, now) in [
            ("complete", f64::from(now.complete)),
            ("cut_off", f64::from(now.cut_off)),
            ("open", now.open as f64),
            ("dropped", now.dropped as f64),
            ("pending", now.pending as f64),
            ("wrong_share_at_most", wrong_share_at_most),
        ] {
            metrics::gauge!(format!("twiceshy_{name}"), LABEL => self.label()).set(now);
        }
    }

    /// [`Watch::publish_last`] for what only a guard beside a store has.
    pub(crate) fn publish_last_tickets(&self, now: Tickets) {
        let published = *self.tickets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if published.is_some() {
            // It counts as complete still: a guard that is closed is no cause for an alarm.
            let Tickets { complete, drifted, shared, .. } = now;
            self.publish_tickets(Tickets { complete, drifted, shared, ..Tickets::default() }, 0.0);
        }
    }

    /// The guard is closed: publishes its last counts, if somebody has published before. It holds nothing any more.
    pub(crate) fn publish_last(&self, stats: impl FnOnce() -> Stats) {
        let published = *self.published.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if published.is_some() {
            self.publish(|| {
                let mut last = stats();
                last.named().1.into_iter().for_each(|(_, held)| *held = 0);
                last
            });
        }
    }
}
