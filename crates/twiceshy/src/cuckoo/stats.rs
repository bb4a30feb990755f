//! What a full-key cuckoo filter counts about itself.

use super::edit::Counted;

/// Counts since the filter was created or loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Stats {
    /// Keys inserted.
    pub insertions: u64,
    /// Cells on the paths of those insertions: one if the key found a free cell.
    pub path_cells: u64,
    /// The longest of those paths.
    pub longest_path: u64,
    /// Keys removed.
    pub removals: u64,
    /// Adaptations to false positives.
    pub adapts: u64,
    /// Keys that adaptations moved to another cell.
    pub moved_by_adapts: u64,
    /// Adaptations that had to distinguish more than one key to find a cell's owner.
    pub adapts_with_parts: u64,
    /// The most keys that an adaptation had to distinguish for one cell.
    pub largest_part: u64,
    /// Owners that could not be determined, because the connected part was too large: with fingerprints of about
    /// 4 bits or fewer.
    pub unknown_owners: u64,
    /// Adaptations that gave up at their bound of steps, and had no room for an exception. A rebuild is wanted then.
    pub over_bound: u64,
    /// Tables that were replaced by growing, re-keying or rebuilding.
    pub rebuilds: u64,
    /// Cells that now hold a fingerprint of no key.
    pub orphans: u64,
    /// Queries that are now in the list of exceptions.
    pub exceptions: u64,
}

impl Stats {
    pub(crate) fn count(&mut self, counted: Counted) {
        match counted {
            Counted::Nothing => {}
            Counted::Insertion { path } => {
                self.insertions += 1;
                self.path_cells = self.path_cells.saturating_add(path);
                self.longest_path = self.longest_path.max(path);
            }
            Counted::Removal => self.removals += 1,
            Counted::Adaptation { sizes, moved } => {
                self.adapts += 1;
                self.moved_by_adapts = self.moved_by_adapts.saturating_add(moved);
                self.adapts_with_parts += u64::from(sizes.largest > 1);
                self.largest_part = self.largest_part.max(sizes.largest as u64);
                self.unknown_owners = self.unknown_owners.saturating_add(sizes.unknown);
            }
            Counted::OverBound | Counted::Refused => {
                self.adapts += 1;
                self.over_bound += 1;
            }
        }
    }
}
