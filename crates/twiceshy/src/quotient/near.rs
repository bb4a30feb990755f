//! The short way of a look-up: a run of few slots in its quotient's own block.
//!
//! At 95 % load five of six look-ups end here. The metadata of the block say where the run is, one load gets all its
//! remainders, and one comparison is enough for all of them. There is hardly a loop or a branch. A branch on what was just
//! loaded is mispredicted half of the time, and then the processor throws away the loads of the next look-ups, which it has
//! begun. Everything else goes the long way: [`Table::run`](super::table::Table::run).

use super::block::{Annex, Blocks, SLOTS};
use super::numbers::{Block, Quotient, Slot};
use crate::packed::lanes::Lanes;
use crate::packed::word::Word64;
use crate::touched::note_slice;
use std::ops::Range;

/// The run of a quotient, as its own block knows it, with the first remainders.
#[derive(Clone, Copy, Debug)]
pub struct Near {
    block: Block,
    first: u64,
    /// The slots of a short run; 0 if it is not short.
    len: u64,
    /// `true` if the quotient has a run.
    pub(crate) is_occupied: bool,
    /// `true` if the run is in this block, and all its remainders in `remainders`.
    pub(crate) is_short: bool,
    /// The code of the block; 0 if it has none.
    pub(crate) code: u64,
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
    /// Looks at the block of a quotient. `annex` must be the layout's.
    #[inline(always)]
    pub(crate) fn look<W: Word64>(blocks: &Blocks, annex: Annex, reach: Reach, quotient: Quotient) -> Near {
        let (block, bit) = (quotient.block(), quotient.at());
        let header = annex.header();
        let bytes = blocks.view(block);
        // A block of the narrowest remainders has 33 bytes.
        let start = bytes.first_chunk::<24>().unwrap_or(&[0; 24]);
        note_slice(&start[..header + 16]);
        let word = |at: usize| start[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let (occupieds, runends) = (word(header), word(header + 8));
        // Slots before this one hold runs of earlier blocks. 255 may mean more: far away in any case.
        let offset = u32::from(start[0]);
        let ends = runends & u64::MAX.checked_shl(offset).unwrap_or(0);
        // The number of occupied quotients before this one is the number of runs to skip.
        let last = W::select(ends, W::rank(occupieds, bit as u32));
        let earlier = ends & !u64::MAX.checked_shl(last).unwrap_or(0);
        let after_earlier = 64 - earlier.leading_zeros();
        let first = u64::from(after_earlier.max(offset)).max(bit).min(SLOTS - 1);
        let len = (u64::from(last) + 1).wrapping_sub(first);
        let is_short = (last < 64) & (len <= reach.most);
        let len = if is_short { len } else { 0 };
        let at = first as usize * reach.width as usize;
        let remainders = bytes.get(header + 16 + at / 8..).and_then(|bytes| bytes.first_chunk::<8>());
        note_slice(remainders.map_or(&[], |bytes| &bytes[..]));
        let remainders = remainders.map_or(0, |bytes| u64::from_le_bytes(*bytes)) >> (at % 8);
        let code = if annex == Annex::Code { word(0) >> 8 } else { 0 };
        Near { block, first, len, is_occupied: occupieds >> bit & 1 == 1, is_short, code, remainders }
    }

    /// `true` if a slot of a short run holds the first remainder of a key, given the first bits of the key's string.
    #[inline(always)]
    pub(crate) fn holds<W: Word64>(&self, reach: Reach, bits: u64) -> bool {
        let wanted = reach.lanes.spread(bits as u32 & (u32::MAX >> (32 - reach.width)));
        W::low(reach.lanes.equal(self.remainders, wanted), (self.len as u32).wrapping_mul(reach.width)) != 0
    }

    /// `true` if a slot of a short run has a mark, in blocks that store marks plainly. May be wrongly `true`: only eight marks
    /// are looked at, and a short run of narrow remainders may have more slots.
    #[inline(always)]
    pub(crate) fn is_marked<W: Word64>(&self, blocks: &Blocks) -> bool {
        let marks = blocks.marks_view(self.block).get(self.first as usize..).and_then(|marks| marks.first_chunk::<8>());
        note_slice(marks.map_or(&[], |marks| &marks[..]));
        (self.len > 8) | marks.is_none_or(|marks| W::low(u64::from_le_bytes(*marks), 8 * self.len as u32) != 0)
    }

    /// A remainder of a short run.
    #[inline(always)]
    pub(crate) fn remainder(&self, reach: Reach, at: u64) -> u32 {
        (self.remainders >> (at as u32 * reach.width)) as u32 & (u32::MAX >> (32 - reach.width))
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
