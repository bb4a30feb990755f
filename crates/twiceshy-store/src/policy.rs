//! When a false positive is worth learning from.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// When the filter learns from a false positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adapt {
    /// Each time. An adaptation costs a read of the index, once for each mistake; whoever comes with a long list of keys that were
    /// wrong before finds none that still is.
    #[default]
    Always,
    /// Never: a plain filter.
    Never,
    /// When it is expected to pay: at once while false positives come back more often than an adaptation costs reads, and
    /// otherwise when this one comes back. It remembers some thousands of mistakes: a list that is longer escapes it.
    WhenItPays,
}

/// How many false positives are remembered.
const REMEMBERED: usize = 1 << 12;

/// Over how many false positives the share of those that come back is averaged.
const AVERAGED: u64 = 256;

/// The policy's state.
///
/// An adaptation reads the index once, and saves a read of the store each time that its query would have come again (the term
/// (1 − q₁)q₂·c_P of 003 section 3, for this query alone). What will come again is not known, but what did is: of the
/// false positives of late, the share that were there before. As a query that came twice is likelier to come a third time than
/// one that came once to come a second, one that comes back is always learned from.
#[derive(Debug)]
pub(crate) struct Policy {
    adapt: Adapt,
    hasher: RandomState,
    /// Marks of false positives, each in the place that its hash leads to.
    seen: Box<[AtomicU32]>,
    /// The share that came back, of 2^32.
    returning: AtomicU64,
}

impl Policy {
    pub(crate) fn new(adapt: Adapt) -> Policy {
        let places = if adapt == Adapt::WhenItPays { REMEMBERED } else { 0 };
        Policy {
            adapt,
            hasher: RandomState::new(),
            seen: (0..places).map(|_| AtomicU32::new(0)).collect(),
            // Nothing is known yet: as if every second one came back.
            returning: AtomicU64::new(1 << 31),
        }
    }

    /// Whether to learn from this false positive.
    pub(crate) fn wants(&self, query: &[u8]) -> bool {
        match self.adapt {
            Adapt::Always => true,
            Adapt::Never => false,
            Adapt::WhenItPays => {
                let hash = self.hasher.hash_one(query);
                let mark = (hash >> 32) as u32 | 1;
                let returns = self.seen[hash as usize % REMEMBERED].swap(mark, Ordering::Relaxed) == mark;
                let share = self.returning.load(Ordering::Relaxed);
                let now = share - share / AVERAGED + if returns { (1 << 32) / AVERAGED } else { 0 };
                self.returning.store(now, Ordering::Relaxed);
                // One read for one that is saved: even if half of them come back.
                returns || now > 1 << 31
            }
        }
    }

    pub(crate) fn local_bits(&self) -> u64 {
        self.seen.len() as u64 * 32
    }
}
