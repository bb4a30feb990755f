//! What a guard says about itself: events (feature `tracing`), metrics (feature `metrics`), and a call of the user's. No key is ever in any of
//! them.

#[cfg(feature = "metrics")]
use crate::guard::Shared;
#[cfg(feature = "metrics")]
use crate::stats::Stats;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Starts a resync.
type OnDrift = Arc<dyn Fn() + Send + Sync>;

/// A guard that is watched.
#[derive(Default)]
pub(crate) struct Watch {
    #[cfg(any(feature = "metrics", feature = "tracing"))]
    name: Arc<str>,
    on_drift: Mutex<Option<OnDrift>>,
    /// The counts that were published.
    #[cfg(feature = "metrics")]
    published: Mutex<Stats>,
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "nobody is told"))]
impl Watch {
    /// Watches the guard with this name.
    pub(crate) fn new(name: Option<String>) -> Watch {
        Watch {
            #[cfg(any(feature = "metrics", feature = "tracing"))]
            name: name.map_or_else(|| "shared".into(), Arc::from),
            ..Watch::default()
        }
    }

    pub(crate) fn on_drift(&self, call: OnDrift) {
        *self.on_drift.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
    }

    pub(crate) fn has_drifted(&self) {
        let call = self.on_drift.lock().unwrap_or_else(PoisonError::into_inner).clone();
        call.into_iter().for_each(|call| call());
    }

    /// The filter has denied a row.
    pub(crate) fn denied(&self, spot_checks: u64) {
        #[cfg(feature = "tracing")]
        tracing::error!(
            target: "twiceshy_shared",
            guard = &*self.name,
            spot_checks,
            "the filter denied a row that the store has: somebody writes rows past all guards. Until a resync has ended, every look-up of \
             every process goes to the store: find out who writes without a ticket, and call `resync`"
        );
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

/// The label with the guard's name.
#[cfg(feature = "metrics")]
const LABEL: &str = "guard";

#[cfg(feature = "metrics")]
impl Shared {
    /// Publishes what this guard counts to the recorder of the crate `metrics`. Call it whenever the metrics are collected, or every few
    /// seconds. It reads nothing but memory.
    ///
    /// A count `x` of [`Stats`] becomes the counter `twiceshy_x_total`. Gauges: `twiceshy_keys` and `twiceshy_local_bits` of all copies;
    /// `twiceshy_complete`, 0 or 1: see [`Shared::is_complete`]; `twiceshy_wrong_share_at_most`; and `twiceshy_lease_age_seconds`, the
    /// time since the oldest copy was known to be fresh: infinite if one may not be believed. All have the label `guard`: see
    /// [`Opening::name`](crate::Opening::name). Open tickets are not among them: the engine has those of all processes, and a guard does not
    /// count its own.
    pub fn publish(&self) {
        let watch = &self.inner().watch;
        let mut published = watch.published.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.stats();
        let before = std::mem::replace(&mut *published, now.clone());
        let label = || metrics::SharedString::from_shared(Arc::clone(&watch.name));
        for (name, now, before) in [
            ("turned_away", now.turned_away, before.turned_away),
            ("passed", now.passed, before.passed),
            ("unfiltered", now.unfiltered, before.unfiltered),
            ("loads", now.loads, before.loads),
            ("false_positives", now.false_positives, before.false_positives),
            ("learned", now.learned, before.learned),
            ("applied", now.applied, before.applied),
            ("replanned", now.replanned, before.replanned),
            ("rejoined", now.rejoined, before.rejoined),
            ("diverged", now.diverged, before.diverged),
            ("grown", now.grown, before.grown),
            ("spot_checks", now.spot_checks, before.spot_checks),
            ("spot_raced", now.spot_raced, before.spot_raced),
            ("denied_rows", now.denied_rows, before.denied_rows),
            ("seen", now.seen, before.seen),
        ] {
            metrics::counter!(format!("twiceshy_{name}_total"), LABEL => label()).increment(now.saturating_sub(before));
        }
        let age = |age: Option<std::time::Duration>| age.map_or(f64::INFINITY, |age| age.as_secs_f64());
        for (name, value) in [
            ("keys", now.copies.iter().map(|copy| copy.keys).sum::<u64>() as f64),
            ("local_bits", now.copies.iter().map(|copy| copy.local_bits).sum::<u64>() as f64),
            ("complete", f64::from(self.is_complete())),
            ("wrong_share_at_most", now.wrong_share_at_most()),
            ("lease_age_seconds", now.copies.iter().map(|copy| age(copy.age)).fold(0.0, f64::max)),
        ] {
            metrics::gauge!(format!("twiceshy_{name}"), LABEL => label()).set(value);
        }
    }
}
