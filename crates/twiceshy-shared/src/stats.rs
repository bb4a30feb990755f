//! Counts of what a guard did.

use crate::names::{Head, MemberId, Shard};
use crate::replica::Said;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use twiceshy::striped::{Stripe, own};

/// What a guard has done since it was opened.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Look-ups that the filter answered with *absent*.
    pub turned_away: u64,
    /// Look-ups that the filter let pass.
    pub passed: u64,
    /// Look-ups that were made while the copy was too old or not loaded: the store was asked.
    pub unfiltered: u64,
    /// Values that were read from the engine.
    pub loads: u64,
    /// Look-ups of keys without a value that the filter let pass.
    pub false_positives: u64,
    /// Mistakes that this process has taught all members.
    pub learned: u64,
    /// Records of others that were applied.
    pub applied: u64,
    /// Changes that had to be planned again because another member was faster.
    pub replanned: u64,
    /// Times that this process had to join a shard anew.
    pub rejoined: u64,
    /// Copies that differed from those of other members. This should be 0.
    pub diverged: u64,
    /// Larger tables that this process has made.
    pub grown: u64,
    /// Of the look-ups that were turned away, those that asked the store all the same, to check the filter: see
    /// [`Opening::spot_check`](crate::Opening::spot_check). A set whose values are in the engine has none.
    pub spot_checks: u64,
    /// Rows whose key was on its way into the set or out of it when a check, or [`Shared::seen`](crate::Shared::seen), met them.
    pub spot_raced: u64,
    /// Rows that the filter denied. This must be 0: somebody writes rows past all guards.
    pub denied_rows: u64,
    /// Rows that were shown to [`Shared::seen`](crate::Shared::seen).
    pub seen: u64,
    /// Checks since a row was last denied that found no row.
    pub clean_checks: u64,
    /// The copies.
    pub copies: Vec<CopyStats>,
}

impl Stats {
    /// The share of wrong answers among the *absent* ones is at most this, with a probability of 95 %: 3/m after m clean checks, 1 before
    /// the third.
    pub fn wrong_share_at_most(&self) -> f64 {
        twiceshy::spot_check::wrong_share_at_most(self.clean_checks)
    }
}

/// The state of the copy of one shard.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CopyStats {
    /// The shard.
    pub shard: Shard,
    /// The member that this process is.
    pub member: MemberId,
    /// The last record that was applied.
    pub at: Head,
    /// The keys in the filter.
    pub keys: u64,
    /// The memory of the filter in bits.
    pub local_bits: u64,
    /// The time since the renewal was sent that the copy is fresh from; `None` if it may not be believed.
    pub age: Option<Duration>,
    /// Queries that are known to be absent although the filter cannot say so.
    pub exceptions: usize,
}

/// A counter that every look-up adds to. Each thread adds to a stripe of its own, if there are not more threads than stripes: two that share one may lose
/// some counts, and neither waits for the other.
#[derive(Debug, Default)]
struct Striped([Stripe; STRIPES]);

const STRIPES: usize = 16;

impl Striped {
    #[inline]
    fn add(&self, more: u64) {
        let own = own(&self.0);
        own.store(own.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.iter().map(|stripe| stripe.0.load(Ordering::Relaxed)).sum()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    turned_away: Striped,
    passed: Striped,
    unfiltered: Striped,
    pub(crate) loads: AtomicU64,
    pub(crate) false_positives: AtomicU64,
    pub(crate) learned: AtomicU64,
    pub(crate) applied: AtomicU64,
    pub(crate) replanned: AtomicU64,
    pub(crate) rejoined: AtomicU64,
    pub(crate) diverged: AtomicU64,
    pub(crate) grown: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

impl Counters {
    #[inline]
    pub(crate) fn count(&self, said: Said) {
        match said {
            Said::Absent => self.turned_away.add(1),
            Said::Passed => self.passed.add(1),
            Said::Unknown => self.unfiltered.add(1),
        }
    }

    pub(crate) fn count_batch(&self, passed: u64, turned_away: u64) {
        self.passed.add(passed);
        self.turned_away.add(turned_away);
    }

    pub(crate) fn count_unfiltered(&self, count: u64) {
        self.unfiltered.add(count);
    }

    pub(crate) fn read(&self) -> Stats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Stats {
            turned_away: self.turned_away.get(),
            passed: self.passed.get(),
            unfiltered: self.unfiltered.get(),
            loads: get(&self.loads),
            false_positives: get(&self.false_positives),
            learned: get(&self.learned),
            applied: get(&self.applied),
            replanned: get(&self.replanned),
            rejoined: get(&self.rejoined),
            diverged: get(&self.diverged),
            grown: get(&self.grown),
            ..Stats::default()
        }
    }
}
