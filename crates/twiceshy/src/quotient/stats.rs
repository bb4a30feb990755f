//! What a filter of the quotient family counts about itself.

use super::edit::Counted;
use super::plan::Cost;

/// Counts since the filter was created or loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Stats {
    /// Keys inserted.
    pub insertions: u64,
    /// Slots that insertions moved.
    pub shifted_slots: u64,
    /// The most slots that one insertion moved.
    pub longest_shift: u64,
    /// Keys removed.
    pub removals: u64,
    /// Adaptations to false positives.
    pub adapts: u64,
    /// Blocks that adaptations reset, because their code overflowed or no mark was left.
    pub resets_by_adapts: u64,
    /// Blocks that insertions and removals reset, because a mark that was shifted in did not fit.
    pub resets_by_shifts: u64,
    /// Reads of the remote that resets needed, beyond those of the operations themselves.
    pub reset_reads: u64,
    /// Adaptations that left the query present, because no mark that fits distinguishes it from some key. A new hash key is
    /// wanted then.
    pub out_of_marks: u64,
    /// Blocks whose marks are now in the side table.
    pub side_blocks: u64,
    /// Tables that were replaced by growing, re-keying or rebuilding.
    pub rebuilds: u64,
}

impl Stats {
    pub(crate) fn count(&mut self, counted: Counted) {
        match counted {
            Counted::Insertion(cost) => self.insertion(cost),
            Counted::Removal(cost) => {
                self.removals += 1;
                self.shift(cost);
            }
            Counted::Adaptation(cost) => self.adaptation(cost),
            Counted::OutOfMarks(cost) => {
                self.adaptation(cost);
                self.out_of_marks += 1;
            }
        }
    }

    fn insertion(&mut self, cost: Cost) {
        self.insertions += 1;
        self.shifted_slots = self.shifted_slots.saturating_add(cost.shifted);
        self.longest_shift = self.longest_shift.max(cost.shifted);
        self.shift(cost);
    }

    fn shift(&mut self, cost: Cost) {
        self.resets_by_shifts = self.resets_by_shifts.saturating_add(cost.resets);
        self.reset_reads = self.reset_reads.saturating_add(cost.reset_reads);
    }

    fn adaptation(&mut self, cost: Cost) {
        self.adapts += 1;
        self.resets_by_adapts = self.resets_by_adapts.saturating_add(cost.resets);
        self.reset_reads = self.reset_reads.saturating_add(cost.reset_reads);
    }
}
