//! The rank-and-select quotient table (004 section 5 and B.1): runs of remainders over blocks.
//!
//! All remainders with quotient q form a *run*, in consecutive slots at or after slot q; runs follow each other in the order
//! of their quotients. Two bits per slot say where they are: `occupied(q)`, there is a run for quotient q; `runend(s)`, slot
//! s is the last of its run. So the k-th occupied quotient's run ends at the k-th runend, and a block's *offset* saves
//! counting from the table's beginning:
//!
//! > The offset of block b is the number of slots, from slot 64·b on, that runs of earlier blocks' quotients take.
//!
//! The run of q is then found from its own block: with k occupied quotients up to q in the block, it ends at the k-th runend
//! at or after `64·b + offset`.
//!
//! An offset has eight bits and saturates: 255 means *255 or more*, and the true value is found by walking back to a block
//! whose offset is exact. The table does not wrap around: after the slots that quotients lead to there are some more, which
//! only earlier runs can reach. See [`spare_slots`].

use super::block::{BlockBytes, Blocks, Layout, SLOTS};
use super::numbers::{Block, Quotient, Slot};
use crate::packed::word::{Portable, Word64, Work, dispatch};
use std::ops::Range;

/// A saturated offset: this or more.
const SATURATED: u8 = u8::MAX;

/// The number of slots after those that quotients lead to.
///
/// Let m be the slots and n = αm the keys, and x the keys that lack room at the end. As a walk over quotients, keys minus
/// slots is a bridge that ends at n − m, so that x is passed with probability about exp(−2x(x + m − n)/n). With √(11·m) it
/// is under 10⁻⁹ at every load up to 99 %, and beyond some 73,000 slots 896 are enough for that (exp(−0.02·896) = 2·10⁻⁸ in
/// an endless table at 99 % load, e^−90 at 95 %). An unlucky table reports that it is full.
pub(crate) fn spare_slots(slots: u64) -> u64 {
    slots.saturating_mul(11).isqrt().clamp(1, 896)
}

/// A table of runs. It knows quotients and slots, not keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table<B = Vec<u8>> {
    pub(crate) blocks: Blocks<B>,
    /// The quotients: 0 to `slots` − 1.
    slots: u64,
}

/// What is wrong with a table's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("quotient {0} is occupied, but is past the last one")]
    Quotient(Quotient),
    #[error("a run ends at slot {0}, where no run can end")]
    StrayRunend(Slot),
    #[error("the run of quotient {0} has no end")]
    Endless(Quotient),
    #[error("the offset of block {0} does not match its runs")]
    Offset(Block),
}

/// Where a new remainder goes, and which slots must move for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) quotient: Quotient,
    /// The slot of the new remainder: the end of its run.
    pub(crate) slot: Slot,
    /// The first free slot from there: `slot..free` move up by one.
    pub(crate) free: Slot,
}

/// A slot to remove, and which slots can move down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) quotient: Quotient,
    pub(crate) slot: Slot,
    /// The last slot whose content moves down. It is free afterwards.
    pub(crate) freed: Slot,
}

/// A search for room, compiled for each implementation of bit counting.
struct FindRoom<'a, B> {
    table: &'a Table<B>,
    quotient: Quotient,
    limit: Slot,
}

impl<B: BlockBytes> Work for FindRoom<'_, B> {
    type Output = Option<Room>;

    #[inline(always)]
    fn run<W: Word64>(self) -> Option<Room> {
        let FindRoom { table, quotient, limit } = self;
        let block = quotient.block();
        let offset = table.offset::<W>(block);
        let runs = W::rank(table.blocks.occupieds(block), quotient.at() as u32 + 1);
        let slot = table.end_after::<W>(block, offset, runs);
        if slot <= quotient.slot() && quotient.slot() < limit {
            // Its own slot is free: half of all insertions into a table that is filled to 95 %.
            return Some(Room { quotient, slot: quotient.slot(), free: quotient.slot() });
        }
        let slot = slot.max(quotient.slot());
        let offset = if slot.block() == block { Some(offset) } else { None };
        Some(Room { quotient, slot, free: table.first_free::<W>(slot, offset, limit)? })
    }
}

impl Table {
    /// An empty table; `None` if it cannot be allocated.
    pub(crate) fn new(slots: u64, layout: Layout) -> Option<Table> {
        Some(Table { blocks: Blocks::new(blocks_for(slots)?, layout)?, slots })
    }

    /// A table from saved bytes, with every bit checked, and the number of slots in use.
    pub(crate) fn from_bytes(slots: u64, layout: Layout, saved: Vec<u8>) -> Option<Result<(Table, u64), Malformed>> {
        let table = Table { blocks: Blocks::from_bytes(blocks_for(slots)?, layout, saved)?, slots };
        Some(table.check().map(|used| (table, used)))
    }

    /// A draft on top of this table, with other bytes.
    pub(crate) fn over<'a, B>(&'a self, bytes: impl FnOnce(&'a Vec<u8>) -> B) -> Table<B> {
        Table { blocks: self.blocks.over(bytes), slots: self.slots }
    }
}

impl<B: BlockBytes> Table<B> {
    /// The slots that quotients lead to.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// The slot after all slots, including the spare ones.
    pub(crate) fn end(&self) -> Slot {
        self.blocks.end().first_slot()
    }

    #[inline(always)]
    pub(crate) fn is_occupied(&self, quotient: Quotient) -> bool {
        self.blocks.occupieds(quotient.block()) >> quotient.at() & 1 == 1
    }

    /// The true offset of a block.
    #[inline(always)]
    fn offset<W: Word64>(&self, block: Block) -> u64 {
        match self.blocks.offset(block) {
            SATURATED => self.walked_offset::<W>(block),
            offset => u64::from(offset),
        }
    }

    /// The offset of a block, found by walking from the last block before it whose offset is exact.
    #[cold]
    fn walked_offset<W: Word64>(&self, block: Block) -> u64 {
        let mut known = block;
        while known > Block(0) && self.blocks.offset(known) == SATURATED {
            known = known.before();
        }
        let mut offset = u64::from(self.blocks.offset(known));
        for at in Block::each(known..block) {
            offset = self.next_offset::<W>(at, offset);
        }
        offset
    }

    /// Where the first `runs` runs of a block's quotients end: the slot after the last of them.
    #[inline(always)]
    fn end_after<W: Word64>(&self, block: Block, offset: u64, runs: u32) -> Slot {
        let first = block.slot(offset);
        match runs.checked_sub(1) {
            None => first,
            Some(nth) => self.runend_from::<W>(first, nth).next(),
        }
    }

    /// The slot of runend number `nth` (from 0) at or after `first`; the table's end if there are fewer.
    #[inline(always)]
    fn runend_from<W: Word64>(&self, first: Slot, mut nth: u32) -> Slot {
        let mut block = first.block();
        if block >= self.blocks.end() {
            return self.end();
        }
        let mut runends = self.blocks.runends(block) & (u64::MAX << first.at());
        loop {
            let at = W::select(runends, nth);
            if at < 64 {
                return block.slot(at.into());
            }
            nth -= W::ones(runends);
            block = block.next();
            if block >= self.blocks.end() {
                return self.end();
            }
            runends = self.blocks.runends(block);
        }
    }

    /// The slots of a quotient's run; `None` if it has none.
    #[inline(always)]
    pub(crate) fn run<W: Word64>(&self, quotient: Quotient) -> Option<Range<Slot>> {
        let (block, bit) = (quotient.block(), quotient.at());
        let occupieds = self.blocks.occupieds(block);
        if occupieds >> bit & 1 == 0 {
            return None;
        }
        // The number of occupied quotients before this one in the block is the number of runends to skip.
        let mut nth = W::rank(occupieds, bit as u32);
        let mut free = block.slot(self.offset::<W>(block));
        let mut block = free.block();
        let mut first = free.at();
        while block < self.blocks.end() {
            let runends = self.blocks.runends(block) & (u64::MAX << first);
            let last = W::select(runends, nth);
            let earlier = if last < 64 { runends & ((1 << last) - 1) } else { runends };
            if earlier != 0 {
                free = Slot(block.slot(SLOTS).0 - u64::from(earlier.leading_zeros()));
            }
            if last < 64 {
                return Some(free.max(quotient.slot())..block.slot(last.into()).next());
            }
            nth -= W::ones(runends);
            block = block.next();
            first = 0;
        }
        // Impossible in a table that was checked. Return the rest of the table: rather too much than too little.
        Some(free.max(quotient.slot())..self.end())
    }

    /// The offset of the next block, from a known offset.
    #[inline(always)]
    fn next_offset<W: Word64>(&self, block: Block, offset: u64) -> u64 {
        let end = self.end_after::<W>(block, offset, self.blocks.occupieds(block).count_ones());
        let next = block.next().first_slot();
        end.max(next) - next
    }

    /// The first free slot at or after this one and before `limit`. `offset` is that of its block, if it is known.
    #[inline(always)]
    fn first_free<W: Word64>(&self, slot: Slot, offset: Option<u64>, limit: Slot) -> Option<Slot> {
        let (mut block, mut at) = (slot.block(), slot.at());
        if slot >= limit {
            return None;
        }
        let mut offset = offset.unwrap_or_else(|| self.offset::<W>(block));
        loop {
            if let Some(free) = self.free_in::<W>(block, offset, at) {
                return Some(block.slot(free)).filter(|free| *free < limit);
            }
            // The rest of this block is taken.
            let next = block.next();
            if next.first_slot() >= limit {
                return None;
            }
            // A saturated offset would need a walk, but this one's is known.
            offset = match self.blocks.offset(next) {
                SATURATED => self.next_offset::<W>(block, offset),
                offset => u64::from(offset),
            };
            (block, at) = (next, 0);
        }
    }

    /// The place of the first free slot of a block at or after place `at`, given the block's true offset.
    #[inline(always)]
    fn free_in<W: Word64>(&self, block: Block, offset: u64, mut at: u64) -> Option<u64> {
        let occupieds = self.blocks.occupieds(block);
        let runends = self.blocks.runends(block) & u64::MAX.checked_shl(offset as u32).unwrap_or(0);
        loop {
            // Slots up to the end of the runs of all quotients up to here are taken.
            let end = match W::rank(occupieds, at as u32 + 1) {
                0 => offset,
                runs => u64::from(W::select(runends, runs - 1)) + 1,
            };
            if end <= at {
                return Some(at);
            }
            if end >= SLOTS {
                return None;
            }
            at = end;
        }
    }

    /// The room for one more in the run of a quotient; `None` if the table is full up to its end.
    pub(crate) fn room(&self, quotient: Quotient) -> Option<Room> {
        self.room_before(quotient, self.end())
    }

    /// The same, if the free slot is before `limit`, which is at most the table's end.
    pub(crate) fn room_before(&self, quotient: Quotient, limit: Slot) -> Option<Room> {
        dispatch(FindRoom { table: self, quotient, limit })
    }

    /// Inserts a remainder where [`Table::room`] found room.
    pub(crate) fn insert(&mut self, room: Room, remainder: u32) {
        if room.free == room.quotient.slot() {
            // Then the quotient has no run yet, and nothing moves.
            self.blocks.begin_run(room.quotient, remainder);
            return;
        }
        self.blocks.shift_up(room.slot, room.free, (remainder, true));
        if self.is_occupied(room.quotient) {
            self.blocks.set_runend(room.slot.before(), false);
        } else {
            self.blocks.set_occupied(room.quotient, true);
        }
        self.count_one_more(room.quotient, room.free);
    }

    /// Increments the offset of every block between the quotient and the slot that was free.
    fn count_one_more(&mut self, quotient: Quotient, free: Slot) {
        for block in Block::each(quotient.block().next()..free.block().next()) {
            self.blocks.set_offset(block, self.blocks.offset(block).saturating_add(1));
        }
    }

    /// The effect of removing a slot of a quotient's run.
    pub(crate) fn gap(&self, quotient: Quotient, run: &Range<Slot>, slot: Slot) -> Gap {
        let mut end = run.end;
        let mut block = quotient.next().block();
        let mut left = self.occupieds_from(quotient.next());
        // A run must not begin before its quotient's own slot: it moves down unless it begins there.
        'runs: loop {
            while left == 0 {
                block = block.next();
                if block.first_slot() >= end {
                    break 'runs;
                }
                left = self.occupieds_from(block.quotient(0));
            }
            if block.slot(left.trailing_zeros().into()) >= end {
                break;
            }
            left &= left - 1;
            end = self.next_runend(end).next();
        }
        Gap { quotient, slot, freed: end.before() }
    }

    /// The occupieds of a quotient's block, from the quotient on; 0 after the last block.
    fn occupieds_from(&self, quotient: Quotient) -> u64 {
        let block = quotient.block();
        if block < self.blocks.end() { self.blocks.occupieds(block) & (u64::MAX << quotient.at()) } else { 0 }
    }

    /// The first runend at or after a slot; the table's end if there is none.
    fn next_runend(&self, mut slot: Slot) -> Slot {
        while slot < self.end() {
            let block = slot.block();
            let runends = self.blocks.runends(block) & (u64::MAX << slot.at());
            if runends != 0 {
                return block.slot(runends.trailing_zeros().into());
            }
            slot = block.next().first_slot();
        }
        self.end()
    }

    /// Removes what [`Table::gap`] has found. `true` if the slot was the last of its run.
    pub(crate) fn remove(&mut self, gap: Gap) -> bool {
        let is_last = self.blocks.runends(gap.slot.block()) >> gap.slot.at() & 1 == 1;
        let is_first = self.run::<Portable>(gap.quotient).is_none_or(|run| run.start == gap.slot);
        if is_last && is_first {
            self.blocks.set_occupied(gap.quotient, false);
        } else if is_last {
            self.blocks.set_runend(gap.slot.before(), true);
        }
        self.blocks.shift_down(gap.slot, gap.freed);
        let first = gap.quotient.block();
        let mut offset = self.offset::<Portable>(first);
        for block in Block::each(first..gap.freed.block()) {
            offset = self.next_offset::<Portable>(block, offset);
            self.blocks.set_offset(block.next(), offset.min(SATURATED.into()) as u8);
        }
        is_last
    }

    /// Puts back what [`Table::remove`] removed last.
    pub(crate) fn put_back(&mut self, gap: Gap, remainder: u32, last: bool) {
        self.blocks.shift_up(gap.slot, gap.freed, (remainder, last));
        if last && self.is_occupied(gap.quotient) {
            self.blocks.set_runend(gap.slot.before(), false);
        }
        self.blocks.set_occupied(gap.quotient, true);
        self.count_one_more(gap.quotient, gap.freed);
    }

    /// The occupied quotients from this one on.
    fn occupied_from(&self, first: Quotient) -> impl Iterator<Item = Quotient> + '_ {
        let mut block = first.block();
        let mut left = self.occupieds_from(first);
        std::iter::from_fn(move || {
            while left == 0 {
                block = block.next();
                if block >= self.blocks.end() {
                    return None;
                }
                left = self.blocks.occupieds(block);
            }
            let bit = u64::from(left.trailing_zeros());
            left &= left - 1;
            Some(block.quotient(bit))
        })
    }

    /// All runs with their quotients, from a block's first quotient on.
    fn runs_from(&self, block: Block) -> impl Iterator<Item = (Quotient, Range<Slot>)> + '_ {
        let mut end = self.end_after::<Portable>(block, self.offset::<Portable>(block), 0);
        self.occupied_from(block.quotient(0)).map(move |quotient| {
            let start = end.max(quotient.slot());
            end = self.next_runend(start).next();
            (quotient, start..end)
        })
    }

    /// The runs that have a slot in these blocks.
    pub(crate) fn runs_over(&self, blocks: Range<Block>) -> impl Iterator<Item = (Quotient, Range<Slot>)> + '_ {
        let slots = blocks.start.first_slot()..blocks.end.first_slot();
        // Start at a block whose earlier quotients' runs all end before it, known without a walk.
        let mut from = blocks.start;
        let reaches = |offset: u8, from: Block| offset == SATURATED || from.slot(offset.into()) > slots.start;
        while from > Block(0) && reaches(self.blocks.offset(from), from) {
            from = from.before();
        }
        self.runs_from(from)
            .skip_while(move |(_, run)| run.end <= slots.start)
            .take_while(move |(_, run)| run.start < slots.end)
    }

    /// The slots of one block that are in use.
    pub(crate) fn used_in(&self, block: Block) -> u64 {
        let upwards = |at: u64| u64::MAX.checked_shl(at as u32).unwrap_or(0);
        let runends = self.blocks.runends(block);
        // Runs of earlier blocks may reach into this one. After them, each run begins at its quotient or where the one before it ends.
        let mut end = self.offset::<Portable>(block);
        let mut used = !upwards(end);
        let mut quotients = self.blocks.occupieds(block);
        while quotients != 0 && end < SLOTS {
            let begin = end.max(quotients.trailing_zeros().into());
            quotients &= quotients - 1;
            let ends = runends & upwards(begin);
            end = if ends == 0 { SLOTS } else { u64::from(ends.trailing_zeros()) + 1 };
            used |= upwards(begin) & !upwards(end);
        }
        used
    }

    /// The slots in use, a word for each block.
    pub(crate) fn used(&self) -> Vec<u64> {
        let mut used = vec![0; self.blocks.len() as usize];
        for (_, run) in self.runs_from(Block(0)) {
            Slot::each(run).for_each(|slot| used[slot.block().index()] |= 1 << slot.at());
        }
        debug_assert!(self.blocks.numbers().zip(&used).all(|(block, used)| self.used_in(block) == *used));
        used
    }

    /// Checks every bit of metadata, and counts the slots in use.
    pub(crate) fn check(&self) -> Result<u64, Malformed> {
        if let Some(quotient) = self.occupied_from(Quotient(self.slots)).next() {
            return Err(Malformed::Quotient(quotient));
        }
        let mut used = 0;
        let mut end = Slot(0);
        let mut runends = self.runend_slots();
        let mut quotients = self.occupied_from(Quotient(0)).peekable();
        for block in self.blocks.numbers() {
            let offset = end.max(block.first_slot()) - block.first_slot();
            if u64::from(self.blocks.offset(block)) != offset.min(SATURATED.into()) {
                return Err(Malformed::Offset(block));
            }
            while let Some(quotient) = quotients.next_if(|quotient| quotient.block() == block) {
                let start = end.max(quotient.slot());
                let last = runends.next().ok_or(Malformed::Endless(quotient))?;
                if last < start {
                    return Err(Malformed::StrayRunend(last));
                }
                end = last.next();
                used += end - start;
            }
        }
        match runends.next() {
            Some(slot) => Err(Malformed::StrayRunend(slot)),
            None => Ok(used),
        }
    }

    fn runend_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.blocks.numbers().flat_map(|block| {
            let mut left = self.blocks.runends(block);
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
                left &= left - 1;
                Some(block.slot(bit))
            })
        })
    }
}

fn blocks_for(slots: u64) -> Option<u64> {
    Some(slots.checked_add(spare_slots(slots))?.div_ceil(SLOTS))
}
