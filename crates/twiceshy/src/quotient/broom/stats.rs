//! What a broom filter counts about itself.

/// Counts since the filter was made or loaded, and what it holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    /// Adaptivity bits now.
    pub adaptivity_bits: u64,
    /// The adaptivity bits of the block that has most, now.
    pub largest_group: u64,
    /// Blocks whose adaptivity bits do not fit into their words, now.
    pub spilled_groups: u64,
    /// Keys in the second level or the back yard, now.
    pub second_level: u64,
    /// The bits that the second level or the back yard takes, now.
    pub second_level_bits: u64,
    /// Fingerprints that are remembered although they are no more, now.
    pub ghosts: u64,
    /// The bits that they take, now.
    pub ghost_bits: u64,
    /// Keys that are owed to the new function, now.
    pub debt: u64,
}

/// What is counted, as opposed to what there is now.
pub(super) type Counts = [u64; 7];

impl Stats {
    pub(super) fn counts(&self) -> Counts {
        [self.insertions, self.removals, self.adapts, self.extends, self.moved, self.phases, self.rebuilds]
    }

    fn of_counts(counts: Counts) -> Stats {
        let [insertions, removals, adapts, extends, moved, phases, rebuilds] = counts;
        Stats { insertions, removals, adapts, extends, moved, phases, rebuilds, ..Stats::default() }
    }

    /// These counts and more.
    pub(super) fn plus(&self, more: Counts) -> Stats {
        self.with(more, u64::wrapping_add)
    }

    /// These counts without those.
    pub(super) fn minus(&self, less: Counts) -> Stats {
        self.with(less, u64::wrapping_sub)
    }

    fn with(&self, others: Counts, of: fn(u64, u64) -> u64) -> Stats {
        let mut counts = self.counts();
        counts.iter_mut().zip(others).for_each(|(count, other)| *count = of(*count, other));
        Stats::of_counts(counts)
    }
}
