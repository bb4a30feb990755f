//! The numbers of quotients, slots and blocks. Each is a type of its own, so that none is taken for another.
//!
//! A number plus a count is a number, and the difference of two numbers is a count. Counts, and places within a block, are
//! plain `u64`.

use super::block::SLOTS;
use std::fmt;
use std::ops::{Add, Range, Sub};

macro_rules! number {
    ($(#[$doc:meta])* $access:vis $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $access struct $name(pub(crate) u64);

        impl $name {
            #[inline(always)]
            pub(crate) fn next(self) -> $name {
                $name(self.0 + 1)
            }
        }

        impl Add<u64> for $name {
            type Output = $name;

            #[inline(always)]
            fn add(self, count: u64) -> $name {
                $name(self.0 + count)
            }
        }

        impl Sub for $name {
            type Output = u64;

            #[inline(always)]
            fn sub(self, earlier: $name) -> u64 {
                self.0 - earlier.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// The number of a quotient: the first part of a key's fingerprint.
    pub(crate) Quotient
}

number! {
    /// The number of a slot in its table.
    pub Slot
}

number! {
    /// The number of a block of 64 slots.
    pub(crate) Block
}

impl Quotient {
    /// The first slot that its run may take.
    #[inline(always)]
    pub(crate) fn slot(self) -> Slot {
        Slot(self.0)
    }

    /// The block that has its occupied bit.
    #[inline(always)]
    pub(crate) fn block(self) -> Block {
        self.slot().block()
    }

    /// The place of that bit in the block.
    #[inline(always)]
    pub(crate) fn at(self) -> u64 {
        self.slot().at()
    }
}

impl Slot {
    /// The slots of a range, which is not an iterator itself, since `Step` is not stable.
    #[inline(always)]
    pub(crate) fn each(slots: Range<Slot>) -> impl DoubleEndedIterator<Item = Slot> {
        (slots.start.0..slots.end.0).map(Slot)
    }

    #[inline(always)]
    pub(crate) fn before(self) -> Slot {
        Slot(self.0 - 1)
    }

    #[inline(always)]
    pub(crate) fn block(self) -> Block {
        Block(self.0 / SLOTS)
    }

    /// Its place in its block.
    #[inline(always)]
    pub(crate) fn at(self) -> u64 {
        self.0 % SLOTS
    }
}

impl Block {
    /// The blocks of a range.
    #[inline(always)]
    pub(crate) fn each(blocks: Range<Block>) -> impl DoubleEndedIterator<Item = Block> {
        (blocks.start.0..blocks.end.0).map(Block)
    }

    #[inline(always)]
    pub(crate) fn before(self) -> Block {
        Block(self.0 - 1)
    }

    /// The slot at a place; from 64 on, one of a later block.
    #[inline(always)]
    pub(crate) fn slot(self, at: u64) -> Slot {
        Slot(self.0 * SLOTS + at)
    }

    #[inline(always)]
    pub(crate) fn first_slot(self) -> Slot {
        self.slot(0)
    }

    #[inline(always)]
    pub(crate) fn last_slot(self) -> Slot {
        self.slot(SLOTS - 1)
    }

    pub(crate) fn slots(self) -> Range<Slot> {
        self.first_slot()..self.next().first_slot()
    }

    /// The quotient whose occupied bit is at a place.
    #[inline(always)]
    pub(crate) fn quotient(self, at: u64) -> Quotient {
        Quotient(self.0 * SLOTS + at)
    }

    /// Its index in a row with an item for each block.
    #[inline(always)]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    /// The places that some slots take in this block. At least one of them must lie in it.
    #[inline(always)]
    pub(crate) fn places(self, slots: &Range<Slot>) -> Range<u64> {
        let first = self.first_slot();
        slots.start.max(first) - first..slots.end.min(first + SLOTS) - first
    }
}

/// The blocks from that of one slot to that of another, inclusive.
#[inline(always)]
pub(crate) fn blocks_between(first: Slot, last: Slot) -> impl DoubleEndedIterator<Item = Block> {
    (first.block().0..=last.block().0).map(Block)
}

/// The part of each block in a range of slots, in ascending order. The range must not be empty.
pub(crate) fn by_block(slots: Range<Slot>) -> impl DoubleEndedIterator<Item = (Block, Range<Slot>)> {
    blocks_between(slots.start, slots.end.before()).map(move |block| {
        let Range { start, end } = block.slots();
        (block, slots.start.max(start)..slots.end.min(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_slots_is_cut_at_the_ends_of_blocks_and_nowhere_else() {
        for (start, end) in [(0, 1), (0, 64), (63, 65), (64, 128), (5, 200), (130, 131)] {
            let slots = Slot(start)..Slot(end);
            let parts: Vec<_> = by_block(slots.clone()).collect();
            assert!(parts.iter().flat_map(|(_, part)| Slot::each(part.clone())).eq(Slot::each(slots.clone())));
            assert!(parts.iter().all(|(block, part)| Slot::each(part.clone()).all(|slot| slot.block() == *block)));
            assert!(parts.iter().map(|(block, _)| *block).eq(blocks_between(slots.start, slots.end.before())));
            for (block, part) in parts {
                assert_eq!(block.slot(block.places(&slots).start)..block.slot(block.places(&slots).end), part);
            }
        }
    }
}
