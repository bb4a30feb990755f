//! The short way of a look-up: a run of few slots in its quotient's own block or in the next.
//!
//! At 95 % load 97 of 100 look-ups end here. The metadata of both blocks say where the run is, one load gets all its
//! remainders, and one comparison is enough for all of them. There is no loop and no branch on the way, whether the quotient
//! has a run or not, and whichever block it is in. A branch on what was just loaded would be mispredicted once in three look-ups,
//! and then the processor throws away the loads of the next look-ups, which it has begun. So conditions are numbers here, not
//! `bool`s: the compiler makes branches of those. Everything else goes the long way:
//! [`Table::run`](super::table::Table::run).

use super::block::{Annex, Blocks, SLOTS};
use super::numbers::{Block, Quotient, Slot};
use crate::packed::lanes::Lanes;
use crate::packed::word::Word64;
use crate::touched::note_slice;
use std::hint::select_unpredictable;
use std::ops::Range;

/// The run of a quotient, as two blocks know it, with the first remainders.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    /// The block that holds the run.
    block: Block,
    /// The place of its first slot in the block.
    first: u64,
    /// The slots of a short run.
    len: u64,
    /// All ones if the quotient has a run, 0 if it has none. Then the other fields mean nothing.
    occupied: u64,
    /// Not 0 if the run is long, lies in two blocks, or further away.
    far: u64,
    remainders: u64,
}

/// How the remainders of a short run are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    lanes: Lanes,
    most: u64,
    width: u32,
}

impl Reach {
    pub(crate) fn new(width: u32) -> Reach {
        let most = Lanes::anywhere(width);
        Reach { lanes: Lanes::new(width, most), most: most.into(), width }
    }
}

impl Near {
    /// Looks at the block of a quotient and the next. `annex` must be the layout's.
    #[inline(always)]
    pub(crate) fn look<W: Word64>(blocks: &Blocks, annex: Annex, reach: Reach, quotient: Quotient) -> Near {
        let (block, bit) = (quotient.block(), quotient.at());
        let (header, stride) = (annex.header(), blocks.stride());
        let start = block.index() * stride;
        let metadata = blocks.metadata(start);
        note_slice(&metadata[..header + 16]);
        let word = |at: usize| metadata[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (occupieds, runends) = (word(header), word(header + 8));
        let next_runends = blocks.word(start + stride + header + 8);
        // Slots before this one hold runs of earlier blocks. 255 may mean more: far away in any case.
        let offset = u64::from(metadata[0]);
        let runends = runends ^ W::low(runends, offset as u32);
        // The number of occupied quotients before this one is the number of runs to skip. At most 63.
        let skipped = W::rank(occupieds, bit as u32);
        let last = W::select(runends, skipped);
        // 1 if it is not in this block.
        let is_next = u64::from(last >> 6);
        let last_next = W::select(next_runends, skipped.wrapping_sub(W::ones(runends)) & 63);
        let first = W::greater(u64::from(W::length(W::low(runends, last))), W::greater(offset, bit));
        let first_next = u64::from(W::length(W::low(next_runends, last_next)));
        // The first run that ends in the next block may begin in this one: it does if this block has a slot left for it.
        let is_first_there = is_next & (first_next.wrapping_sub(1) >> 63);
        let begins_here = first.wrapping_sub(SLOTS) >> 63;
        let first = select_unpredictable(is_next == 0, first, first_next);
        let last = u64::from(select_unpredictable(is_next == 0, last, last_next));
        let len = (last + 1).wrapping_sub(first);
        let occupied = (occupieds >> bit & 1).wrapping_neg();
        let is_long = reach.most.wrapping_sub(len) >> 63;
        let far = (is_first_there & begins_here) | offset >> 6 | last >> 6 | is_long;
        let first = first & (SLOTS - 1);
        let start = start + (is_next.wrapping_neg() as usize & stride);
        let at = first as usize * reach.width as usize;
        let remainders = blocks.word(start + header + 16 + at / 8) >> (at % 8);
        Near { block: Block(block.0 + is_next), first, len, occupied, far: far & occupied, remainders }
    }

    /// `true` if the run must be looked for in the long way.
    #[inline(always)]
    pub(crate) fn is_far(&self) -> bool {
        self.far != 0
    }

    /// All ones if the quotient has a run, else 0.
    #[inline(always)]
    pub(crate) fn occupied(&self) -> u64 {
        self.occupied
    }

    /// The block that holds the run. It means nothing if there is no run.
    #[inline(always)]
    pub(crate) fn block(&self) -> Block {
        self.block
    }

    /// Not 0 if a slot holds this remainder, of the run or behind it: for [`Near::of_run`].
    #[inline(always)]
    pub(crate) fn equal(&self, reach: Reach, remainder: u32) -> u64 {
        reach.lanes.equal(self.remainders, reach.lanes.spread(remainder))
    }

    /// What [`Near::equal`] says of the slots of a short run.
    #[inline(always)]
    pub(crate) fn of_run<W: Word64>(&self, reach: Reach, equal: u64) -> u64 {
        W::low(equal, (self.len as u32).wrapping_mul(reach.width))
    }

    /// `true` if a slot of a short run holds this remainder.
    #[inline(always)]
    pub(crate) fn holds<W: Word64>(&self, reach: Reach, remainder: u32) -> bool {
        self.of_run::<W>(reach, self.equal(reach, remainder)) & self.occupied != 0
    }

    /// `true` if a slot of a short run has a mark, in blocks that store marks plainly. May be wrongly `true`: only eight marks
    /// are looked at, and a short run of narrow remainders may have more slots.
    #[inline(always)]
    pub(crate) fn is_marked<W: Word64>(&self, blocks: &Blocks) -> bool {
        let marks = blocks.word(blocks.mark_at(self.block, self.first));
        (W::low(marks, 8 * self.len as u32) | 8u64.wrapping_sub(self.len) >> 63) & self.occupied != 0
    }

    /// A remainder of a short run. It means nothing if the run has fewer slots.
    #[inline(always)]
    pub(crate) fn remainder(&self, reach: Reach, at: u64) -> u32 {
        self.remainders.wrapping_shr(at as u32 * reach.width) as u32 & (u32::MAX >> (32 - reach.width))
    }

    /// The place in the block of a slot of a short run.
    #[inline(always)]
    pub(crate) fn place(&self, at: u64) -> usize {
        (self.first + at) as usize
    }

    /// The number of slots of a short run.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The slots of a short run.
    #[inline(always)]
    pub(crate) fn run(&self) -> Range<Slot> {
        let first = self.block.slot(self.first);
        first..first + self.len
    }
}
