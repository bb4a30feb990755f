//! A small table beside the blocks for marks that do not fit into their block's 56 bits.
//!
//! Not in the paper, where a block that overflows loses what it has learned. A block whose marks are here has a number from
//! [`ESCAPE`] on instead of its code: the index of its entry. No search, no hashing.

use super::numbers::Block;
use crate::codes::{ESCAPE, Marks};

/// The maximum number of entries: the count of numbers from [`ESCAPE`] on.
pub(crate) const MOST: u32 = 1 << 25;

/// The marks of one block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) block: Block,
    pub(crate) marks: Marks,
}

/// The entries, and their maximum number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side {
    entries: Vec<Entry>,
    most: u32,
}

impl Side {
    pub(crate) fn new(most: u32) -> Side {
        Side { entries: Vec::new(), most: most.min(MOST) }
    }

    pub(crate) fn most(&self) -> u32 {
        self.most
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// `true` if there is room for `more` entries.
    pub(crate) fn has_room(&self, more: usize) -> bool {
        self.entries.len() + more <= self.most as usize
    }

    /// The marks that a block's number points at.
    #[inline]
    pub(crate) fn get(&self, code: u64) -> Option<&Entry> {
        self.entries.get(code.checked_sub(ESCAPE)? as usize)
    }

    /// Changes the marks that a block's number points at.
    pub(crate) fn get_mut(&mut self, code: u64) -> Option<&mut Entry> {
        self.entries.get_mut(code.checked_sub(ESCAPE)? as usize)
    }

    /// Adds an entry and returns its number.
    pub(crate) fn add(&mut self, entry: Entry) -> u64 {
        if self.entries.len() == self.entries.capacity() {
            // Grow by an eighth instead of doubling, since the memory is counted.
            self.entries.reserve_exact(self.entries.len() / 8 + 4);
        }
        self.entries.push(entry);
        ESCAPE + self.entries.len() as u64 - 1
    }

    /// Removes an entry. The last entry takes its number; its block is returned, so that the caller can update it.
    pub(crate) fn remove(&mut self, code: u64) -> Option<Block> {
        let index = code.checked_sub(ESCAPE)? as usize;
        if index >= self.entries.len() {
            return None;
        }
        self.entries.swap_remove(index);
        self.entries.get(index).map(|moved| moved.block)
    }

    /// Puts back the entry that [`Side::remove`] removed last, under its old number. The entry that has this number now
    /// becomes the last one again: its block and new number are returned.
    pub(crate) fn put_back(&mut self, code: u64, entry: Entry) -> Option<(Block, u64)> {
        let index = code.checked_sub(ESCAPE)? as usize;
        let last = self.add(entry);
        let (own, other) = ((last - ESCAPE) as usize, index);
        if other >= own {
            return None;
        }
        self.entries.swap(own, other);
        self.entries.get(own).map(|moved| (moved.block, last))
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        (self.entries.capacity() * size_of::<Entry>()) as u64 * 8
    }
}
