//! The random numbers that filters use to break ties: small, seeded, saved with the filter.

use crate::hash::{HashKey, mix, reduce};

/// SplitMix64: a counter behind a mixing bijection. Not for secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    /// Starts at a state that only the holder of the hash key can compute.
    pub(crate) fn for_key(hash: &HashKey) -> SplitMix64 {
        SplitMix64(hash.words(b"twiceshy random choices").word(0))
    }

    pub(crate) fn from_state(state: u64) -> SplitMix64 {
        SplitMix64(state)
    }

    pub(crate) fn state(&self) -> u64 {
        self.0
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `bound`, which must not be 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        reduce(self.next(), bound)
    }
}
