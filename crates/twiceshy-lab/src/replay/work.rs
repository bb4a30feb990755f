//! What a filter counted about its own work.

use super::table_counts::TableCounts;
use twiceshy::cuckoo::{FullKeyCuckoo, Rule};

/// A filter's statistics in the report's words, since the filter was made. What makes no sense for a family stays 0, and
/// what only one family has goes into `table`.
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

/// A filter that keeps statistics. Each family has its own kind of them; this is all that a new family must translate.
pub(super) trait Counted {
    fn work(&self) -> Work;
}

impl<Q: Rule> Counted for FullKeyCuckoo<Q> {
    fn work(&self) -> Work {
        let stats = self.stats();
        Work {
            insertions: stats.insertions,
            // A path of one cell moves nobody.
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
