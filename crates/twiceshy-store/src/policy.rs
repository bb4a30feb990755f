//! When a false positive is worth learning from.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// When the filter learns from a false positive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Adapt {
    /// Each time. An adaptation costs one read of the index per false positive. A replayed list of earlier false positives
    /// finds none that still work.
    #[default]
    Always,
    /// Never: a plain filter.
    Never,
    /// When it is expected to pay: at once while false positives repeat more often than an adaptation costs reads, and
    /// otherwise when this one repeats. It remembers a few thousand false positives, so a longer list escapes it.
    WhenItPays,
}

/// How many false positives are remembered.
const REMEMBERED: usize = 1 << 12;

/// The number of false positives over which the share of repeats is averaged.
const AVERAGED: u64 = 256;

/// The policy's state.
///
/// An adaptation reads the index once, and saves a store read each time that its query would have repeated (the term (1 −
/// q₁)q₂·c_P of 003 section 3, for this query alone). Future repeats are unknown, so the policy uses past ones: the share
/// of recent false positives that were seen before. A query seen twice is more likely to return than one seen once, so a
/// repeat is always learned from.
#[derive(Debug)]
pub(crate) struct Policy {
    adapt: Adapt,
    hasher: RandomState,
    /// Marks of false positives, each at the index given by its hash.
    seen: Box<[AtomicU32]>,
    /// The share of repeats, of 2^32.
    returning: AtomicU64,
}

impl Policy {
    pub(crate) fn new(adapt: Adapt) -> Policy {
        let places = if adapt == Adapt::WhenItPays { REMEMBERED } else { 0 };
        Policy {
            adapt,
            hasher: RandomState::new(),
            seen: (0..places).map(|_| AtomicU32::new(0)).collect(),
            // Nothing is known yet: assume that every second one repeats.
            returning: AtomicU64::new(1 << 31),
        }
    }

    /// `true` if the filter may ever learn.
    pub(crate) fn learns(&self) -> bool {
        self.adapt != Adapt::Never
    }

    /// `true` if the filter should learn from this false positive.
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
                // An adaptation costs one read, so it pays if at least half of them repeat.
                returns || now > 1 << 31
            }
        }
    }

    pub(crate) fn local_bits(&self) -> u64 {
        self.seen.len() as u64 * 32
    }
}
