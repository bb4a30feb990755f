//! What a full-key cuckoo filter counts about itself.

use super::owners::PartSizes;

/// Counts since the filter was made or loaded. An operation whose answer was lost is not among them, even if it turns out to
/// have happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Keys inserted.
    pub insertions: u64,
    /// Cells on the paths of those insertions: one for a key that found a free cell.
    pub path_cells: u64,
    /// The longest of those paths.
    pub longest_path: u64,
    /// Keys removed.
    pub removals: u64,
    /// Adaptations to false positives.
    pub adapts: u64,
    /// Keys that adaptations moved to another cell.
    pub moved_by_adapts: u64,
    /// Adaptations that had to tell more than one key apart to know a cell's owner.
    pub adapts_with_parts: u64,
    /// The most keys that an adaptation had to tell apart for one cell.
    pub largest_part: u64,
    /// Owners that could not be told, because too many keys and cells hang together.
    pub unknown_owners: u64,
    /// Adaptations that gave up because they passed their bound of steps; a rebuild is wanted then.
    pub over_bound: u64,
    /// Tables that were replaced by growing, re-keying or rebuilding.
    pub rebuilds: u64,
    /// Cells that hold the fingerprint of no key now.
    pub orphans: u64,
}

impl Stats {
    pub(crate) fn insertion(&mut self, path: usize) {
        self.insertions += 1;
        self.path_cells += path as u64;
        self.longest_path = self.longest_path.max(path as u64);
    }

    pub(crate) fn adaptation(&mut self, sizes: PartSizes, moved: usize) {
        self.adapts += 1;
        self.moved_by_adapts += moved as u64;
        self.adapts_with_parts += u64::from(sizes.largest > 1);
        self.largest_part = self.largest_part.max(sizes.largest as u64);
        self.unknown_owners += sizes.unknown;
    }
}
