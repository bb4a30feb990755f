//! A filter's counts of its own work.

use super::table_counts::{TableCount, TableCounts};
use twiceshy::quotient::BroomStats;
use twiceshy::{cuckoo, quotient};

/// A filter's statistics since it was made, in the report's terms. Counts that do not apply to a family stay 0; counts
/// of one family go into `table`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
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

/// From the statistics of each family: all that a new family has to add.
impl Work {
    pub(super) fn of_cuckoo(stats: &cuckoo::Stats) -> Work {
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

    /// Shifting slots moves no key of R from one cell to another, so nothing counts as moved.
    pub(super) fn of_quotient(stats: &quotient::Stats) -> Work {
        let own = [
            ("slots_shifted", "slots shifted by insertions", stats.shifted_slots),
            ("resets_by_adapts", "blocks reset by adaptations", stats.resets_by_adapts),
            ("resets_by_shifts", "blocks reset by shifts", stats.resets_by_shifts),
            ("reset_reads", "remote reads made for resets", stats.reset_reads),
            ("side_blocks", "blocks in the side tables of all trials", stats.side_blocks),
        ];
        Work::in_slots(stats.insertions, stats.adapts, &own)
    }

    pub(super) fn of_broom(stats: &BroomStats) -> Work {
        let own = [
            ("fingerprints_extended", "fingerprints extended", stats.extends),
            ("keys_reclaimed", "keys moved to the next hash function", stats.moved),
            ("phases", "hash functions that timed out", stats.phases),
            ("adaptivity_bits", "adaptivity bits at the end, all trials", stats.adaptivity_bits),
            ("second_level", "keys in the second level at the end, all trials", stats.second_level),
            ("ghosts", "ghosts at the end, all trials", stats.ghosts),
        ];
        Work::in_slots(stats.insertions, stats.adapts, &own)
    }

    fn in_slots(insertions: u64, adapts: u64, own: &[(&'static str, &'static str, u64)]) -> Work {
        let table = own.iter().map(|&(name, words, count)| TableCount { name, words, count }).collect();
        Work { insertions, adapts, table, ..Work::default() }
    }
}
