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
    pub(crate) false_positives: Counter,
    pub(crate) unfiltered: Counter,
    pub(crate) adapted: Counter,
    pub(crate) not_adapted: Counter,
    pub(crate) skipped: Counter,
    pub(crate) merged: Counter,
    pub(crate) declined: Counter,
    pub(crate) grown: Counter,
    pub(crate) rebuilt: Counter,
    pub(crate) rolled_forward: Counter,
    pub(crate) snapshots: Counter,
}

/// Counts since the guard was opened, and what it holds now.
///
/// With the feature `serde`, a map of its fields by their names. A field that is missing when it is read is 0, so figures that an
/// older version has written can be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Stats {
    /// Keys in the store.
    pub keys: u64,
    /// Look-ups that the filter answered: absent.
    pub turned_away: u64,
    /// Look-ups that found their key.
    pub found: u64,
    /// Look-ups for absent keys that the filter let through.
    pub false_positives: u64,
    /// Look-ups that went to the store because there was no filter yet, or because the key was being changed.
    pub unfiltered: u64,
    /// False positives that the filter has learned from.
    pub adapted: u64,
    /// Those that it could not fix, or that were stored or absent by the time.
    pub not_adapted: u64,
    /// Those that found the queue full.
    pub skipped: u64,
    /// Those that were in the queue already.
    pub merged: u64,
    /// Those that the policy did not want.
    pub declined: u64,
    /// How often the filter has grown, or was made anew beside the one that answered.
    pub grown: u64,
    /// How often it was rebuilt from the index.
    pub rebuilt: u64,
    /// Commits that a snapshot was brought forward over when the store was opened.
    pub rolled_forward: u64,
    /// Snapshots written.
    pub snapshots: u64,
    /// The bits that filter, queue and policy hold in memory.
    pub local_bits: u64,
    /// The filter's cells or slots; 0 while there is none.
    pub cells: u64,
}

impl Counters {
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            turned_away: self.turned_away.get(),
            found: self.found.get(),
            false_positives: self.false_positives.get(),
            unfiltered: self.unfiltered.get(),
            adapted: self.adapted.get(),
            not_adapted: self.not_adapted.get(),
            skipped: self.skipped.get(),
            merged: self.merged.get(),
            declined: self.declined.get(),
            grown: self.grown.get(),
            rebuilt: self.rebuilt.get(),
            rolled_forward: self.rolled_forward.get(),
            snapshots: self.snapshots.get(),
            ..Stats::default()
        }
    }
}
