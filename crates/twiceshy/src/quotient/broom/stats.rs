//! What a broom filter counts about itself.

/// Counts since the filter was created or loaded, and its current contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Stats {
    /// Keys inserted.
    pub insertions: u64,
    /// Keys removed.
    pub removals: u64,
    /// Adaptations to false positives.
    pub adapts: u64,
    /// Fingerprints that were extended, by adaptations, insertions and re-insertions.
    pub extends: u64,
    /// Keys that the frontier has passed.
    pub moved: u64,
    /// Phases that have ended.
    pub phases: u64,
    /// Tables that were replaced by growing, and re-keyings that ended.
    pub rebuilds: u64,
    /// The current number of adaptivity bits.
    pub adaptivity_bits: u64,
    /// The current largest number of adaptivity bits in a block.
    pub largest_group: u64,
    /// The current number of blocks whose adaptivity bits do not fit into their words.
    pub spilled_groups: u64,
    /// The current number of keys in the second level or the back yard.
    pub second_level: u64,
    /// The current memory of the second level or the back yard, in bits.
    pub second_level_bits: u64,
    /// The current number of ghosts: remembered fingerprints that no longer exist.
    pub ghosts: u64,
    /// The current memory of the ghosts, in bits.
    pub ghost_bits: u64,
    /// The current number of keys that still have to move to the new function.
    pub debt: u64,
}

/// The counts, without the current contents.
pub(super) type Counts = [u64; 7];

impl Stats {
    pub(super) fn counts(&self) -> Counts {
        [self.insertions, self.removals, self.adapts, self.extends, self.moved, self.phases, self.rebuilds]
    }

    fn of_counts(counts: Counts) -> Stats {
        let [insertions, removals, adapts, extends, moved, phases, rebuilds] = counts;
        Stats { insertions, removals, adapts, extends, moved, phases, rebuilds, ..Stats::default() }
    }

    /// Adds counts.
    pub(super) fn plus(&self, more: Counts) -> Stats {
        self.with(more, u64::wrapping_add)
    }

    /// Subtracts counts.
    pub(super) fn minus(&self, less: Counts) -> Stats {
        self.with(less, u64::wrapping_sub)
    }

    fn with(&self, others: Counts, of: fn(u64, u64) -> u64) -> Stats {
        let mut counts = self.counts();
        counts.iter_mut().zip(others).for_each(|(count, other)| *count = of(*count, other));
        Stats::of_counts(counts)
    }
}
