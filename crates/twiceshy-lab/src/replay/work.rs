//! A filter's counts of its own work.

use super::table_counts::{TableCount, TableCounts};
use twiceshy::cuckoo::{FullKeyCuckoo, Rule};
use twiceshy::quotient::{self, BroomFilter, RankSelectFilter};

/// A filter's statistics since it was made, in the report's terms. Counts that do not apply to a family stay 0; counts
/// of one family go into `table`.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) insertions: u64,
    pub(super) moved_by_insertions: u64,
    pub(super) longest_path: u64,
    pub(super) adapts: u64,
    pub(super) moved_by_adapts: u64,
    pub(super) adapts_with_parts: u64,
    pub(super) largest_part: u64,
    pub(super) unknown_owners: u64,
    pub(super) table: TableCounts,
}

/// A filter that keeps statistics. A new family only has to implement this.
pub(super) trait Counted {
    fn work(&self) -> Work;
}

impl<Q: Rule> Counted for FullKeyCuckoo<Q> {
    fn work(&self) -> Work {
        let stats = self.stats();
        Work {
            insertions: stats.insertions,
            // A path of one cell moves no key.
            moved_by_insertions: stats.path_cells - stats.insertions,
            longest_path: stats.longest_path,
            adapts: stats.adapts,
            moved_by_adapts: stats.moved_by_adapts,
            adapts_with_parts: stats.adapts_with_parts,
            largest_part: stats.largest_part,
            unknown_owners: stats.unknown_owners,
            table: TableCounts::default(),
        }
    }
}

impl<Q: quotient::Rule> Counted for RankSelectFilter<Q> {
    /// Shifting slots moves no key of R from one cell to another, so nothing counts as moved.
    fn work(&self) -> Work {
        let stats = self.stats();
        let own = [
            ("slots_shifted", "slots shifted by insertions", stats.shifted_slots),
            ("resets_by_adapts", "blocks reset by adaptations", stats.resets_by_adapts),
            ("resets_by_shifts", "blocks reset by shifts", stats.resets_by_shifts),
            ("reset_reads", "remote reads made for resets", stats.reset_reads),
            ("side_blocks", "blocks in the side tables of all trials", stats.side_blocks),
        ];
        let table = own.into_iter().map(|(name, words, count)| TableCount { name, words, count }).collect();
        Work { insertions: stats.insertions, adapts: stats.adapts, table, ..Work::default() }
    }
}

impl Counted for BroomFilter {
    fn work(&self) -> Work {
        let stats = self.stats();
        let own = [
            ("fingerprints_extended", "fingerprints extended", stats.extends),
            ("keys_reclaimed", "keys moved to the next hash function", stats.moved),
            ("phases", "hash functions that timed out", stats.phases),
            ("adaptivity_bits", "adaptivity bits at the end, all trials", stats.adaptivity_bits),
            ("second_level", "keys in the second level at the end, all trials", stats.second_level),
            ("ghosts", "ghosts at the end, all trials", stats.ghosts),
        ];
        let table = own.into_iter().map(|(name, words, count)| TableCount { name, words, count }).collect();
        Work { insertions: stats.insertions, adapts: stats.adapts, table, ..Work::default() }
    }
}
