//! What a guard counts.

use crate::striped::StripedCounter;
use std::sync::atomic::{AtomicU64, Ordering};

/// A counter that many threads add to.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The counters of a guard.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) turned_away: StripedCounter,
    pub(crate) found: StripedCounter,
    pub(crate) known_absent: StripedCounter,
    pub(crate) false_positives: Counter,
    pub(crate) unfiltered: Counter,
    pub(crate) adapted: Counter,
    pub(crate) not_adapted: Counter,
    pub(crate) skipped: Counter,
    pub(crate) merged: Counter,
    pub(crate) declined: Counter,
    pub(crate) disagreements: Counter,
    pub(crate) grown: Counter,
    pub(crate) rebuilt: Counter,
    pub(crate) rolled_forward: Counter,
    pub(crate) snapshots: Counter,
    /// Set, not counted.
    pub(crate) remembered: AtomicU64,
    /// The number of keys after the last commit whose outcome is known. Set where the writer's state is.
    pub(crate) keys: AtomicU64,
}

/// Counts since the guard was opened, and what it holds now.
///
/// With the feature `serde`, it is serialized as a map of its fields by name. A missing field is read as 0, so records of
/// older versions can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Stats {
    /// Keys in the store, after the last commit whose outcome is known. 0 if the state record is damaged and not yet repaired.
    pub keys: u64,
    /// Look-ups that the filter answered with *absent*.
    pub turned_away: u64,
    /// Look-ups that found their key.
    pub found: u64,
    /// Look-ups for absent keys that the filter let through and the store was asked about.
    pub false_positives: u64,
    /// Look-ups that the filter let through, and that were answered *absent* without the store because the same false
    /// positive waits to be learned from.
    pub known_absent: u64,
    /// Look-ups that went to the store because there was no filter yet, or because the key was being changed.
    pub unfiltered: u64,
    /// False positives that were learned from: the filter turned them away afterwards.
    pub adapted: u64,
    /// False positives that it could not fix, or whose key was changed by then.
    pub not_adapted: u64,
    /// False positives skipped because too many were waiting to be learned from.
    pub skipped: u64,
    /// False positives that were waiting already.
    pub merged: u64,
    /// False positives that the policy ignored.
    pub declined: u64,
    /// False positives whose key is in the index, but has no value: the store is damaged. Run
    /// [`Guard::check`](crate::Guard::check).
    pub disagreements: u64,
    /// How often the filter grew, or was rebuilt beside the one that answers.
    pub grown: u64,
    /// How often it was rebuilt from the index.
    pub rebuilt: u64,
    /// Commits replayed onto the snapshot when the store was opened.
    pub rolled_forward: u64,
    /// Snapshots written.
    pub snapshots: u64,
    /// Of the look-ups that were turned away, those that asked the store all the same, to check the filter: see
    /// [`Options::spot_check`](crate::Options::spot_check). A guard that owns its store makes none.
    pub spot_checks: u64,
    /// Rows whose key was on its way into the set or out of it when a check, or [`Beside::seen`](crate::Beside::seen), met them.
    pub spot_raced: u64,
    /// Rows that the filter denied. This must be 0: somebody writes rows past the guard.
    pub denied_rows: u64,
    /// Rows that were shown to [`Beside::seen`](crate::Beside::seen).
    pub seen: u64,
    /// Checks since a row was last denied that found no row.
    pub clean_checks: u64,
    /// The memory of filter, queue and policy in bits, a larger filter in the making included.
    pub local_bits: u64,
    /// The filter's cells or slots; 0 while there is no filter.
    pub cells: u64,
    /// Remembered mistakes, each counted once for every key that it was mistaken for.
    pub remembered: u64,
    /// False positives that wait to be learned from.
    pub queued: u64,
}

/// All fields of the stats in `$stats` with their names.
macro_rules! named {
    ($stats:ident, counted: $($counted:ident)*, held: $($held:ident)*) => {{
        // Without `..`, so that no field is forgotten.
        let Stats { $($counted,)* $($held),* } = $stats;
        (vec![$((stringify!($counted), $counted)),*], vec![$((stringify!($held), $held)),*])
    }};
}

/// Figures with their names.
pub(crate) type Named<'a> = Vec<(&'static str, &'a mut u64)>;

impl Stats {
    /// All fields with their names: first those that only grow, then those that say what there is now.
    pub(crate) fn named(&mut self) -> (Named<'_>, Named<'_>) {
        named!(
            self,
            counted: turned_away found false_positives known_absent unfiltered adapted not_adapted skipped merged declined
                disagreements grown rebuilt rolled_forward snapshots spot_checks spot_raced denied_rows seen,
            held: clean_checks keys local_bits cells remembered queued
        )
    }

    /// The share of wrong answers among the *absent* ones is at most this, with a probability of 95 %: 3/m after m clean checks, 1 before
    /// the third.
    pub fn wrong_share_at_most(&self) -> f64 {
        twiceshy::spot_check::wrong_share_at_most(self.clean_checks)
    }
}

impl Counters {
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            turned_away: self.turned_away.get(),
            found: self.found.get(),
            known_absent: self.known_absent.get(),
            false_positives: self.false_positives.get(),
            unfiltered: self.unfiltered.get(),
            adapted: self.adapted.get(),
            not_adapted: self.not_adapted.get(),
            skipped: self.skipped.get(),
            merged: self.merged.get(),
            declined: self.declined.get(),
            disagreements: self.disagreements.get(),
            grown: self.grown.get(),
            rebuilt: self.rebuilt.get(),
            rolled_forward: self.rolled_forward.get(),
            snapshots: self.snapshots.get(),
            remembered: self.remembered.load(Ordering::Relaxed),
            keys: self.keys.load(Ordering::Relaxed),
            ..Stats::default()
        }
    }
}
