//! A plan's changes to a filter of the quotient family, and how to take them back.

use super::block::SLOTS;
use super::local::{Change, Kept, Replaced, Shift, UNMARKED};
use super::numbers::{Block, Quotient, Slot, blocks_between};
use super::plan::Cost;
use super::rank_select::RankSelectFilter;
use super::rule::Rule;
use super::stats::Stats;
use super::table::{Gap, Room};
use super::validate::check_block;
use crate::persist::{LoadError, Reader, Writer};
use crate::sizing;

/// The changes to the table and to the statistics.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    pub(crate) change: Change,
    pub(crate) counted: Counted,
}

/// What the statistics will count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Insertion(Cost),
    Removal(Cost),
    Adaptation(Cost),
    /// An adaptation that left the query present: a rebuild is wanted.
    OutOfMarks(Cost),
}

/// What an edit has replaced.
#[derive(Debug)]
pub(crate) struct Undo {
    replaced: Replaced,
    wants_rebuild: bool,
    stats: Stats,
}

impl<R: Rule> RankSelectFilter<R> {
    #[inline]
    pub(super) fn make(&mut self, edit: Edit) -> Undo {
        let (wants_rebuild, stats) = (self.wants_rebuild, self.stats);
        let replaced = self.local.apply(edit.change);
        self.wants_rebuild |= matches!(edit.counted, Counted::OutOfMarks(_));
        self.stats.count(edit.counted);
        Undo { replaced, wants_rebuild, stats }
    }

    pub(super) fn unmake(&mut self, undo: Undo) {
        self.local.restore(undo.replaced);
        (self.wants_rebuild, self.stats) = (undo.wants_rebuild, undo.stats);
    }

    /// Makes an edit that was read from bytes. `None` if it does not fit this table; then nothing changes.
    pub(super) fn make_checked(&mut self, edit: Edit) -> Option<Undo> {
        if !self.accepts(&edit) {
            return None;
        }
        let mut blocks: Vec<Block> = edit.change.marks.iter().map(|(block, _)| *block).collect();
        match edit.change.shift {
            Shift::Nothing => {}
            Shift::Insert(Room { slot, free: end, .. }, _) | Shift::Remove(Gap { slot, freed: end, .. }) => {
                blocks.extend(blocks_between(slot, end));
            }
        }
        let rewritten: Vec<Slot> = edit.change.remainders.iter().map(|(slot, _)| *slot).collect();
        let undo = self.make(edit);
        let local = &self.local;
        let marks_fit = |block: &Block| check_block(local, *block, local.table().used_in(*block)).is_ok();
        let whole = |block: &Block| !local.is_marked(*block) || marks_fit(block);
        let in_use = |slot: &Slot| local.table().used_in(slot.block()) >> slot.at() & 1 == 1;
        if blocks.iter().all(whole) && rewritten.iter().all(in_use) {
            return Some(undo);
        }
        self.unmake(undo);
        None
    }

    /// `true` if the edit fits this table: its slots are where the table has them, and its marks fit.
    fn accepts(&self, edit: &Edit) -> bool {
        let local = &self.local;
        let (slots, blocks) = (local.table().end(), local.table().blocks.end());
        let fits = |remainder: &u32| u64::from(*remainder) < 1 << local.width();
        let shifts = match edit.change.shift {
            Shift::Nothing => true,
            Shift::Insert(room, remainder) => {
                room.quotient.0 < local.slots()
                    && local.keys < sizing::quotient_most(local.slots())
                    && local.table().room(room.quotient) == Some(room)
                    && fits(&remainder)
            }
            Shift::Remove(gap) => gap.quotient.0 < local.slots() && self.is_gap(gap),
        };
        let whole = |(block, kept): &(Block, Kept)| *block < blocks && local.can_keep(kept);
        let beside = |(block, kept): &&(Block, Kept)| matches!(kept, Kept::Plain(_)) && local.is_coded(*block);
        let remainders = &edit.change.remainders;
        shifts
            && edit.change.marks.iter().all(whole)
            && local.marked.side.has_room(edit.change.marks.iter().filter(beside).count())
            && remainders.iter().all(|(slot, remainder)| *slot < slots && fits(remainder))
    }

    fn is_gap(&self, gap: Gap) -> bool {
        let run = self.local.run(gap.quotient).filter(|run| run.contains(&gap.slot));
        run.is_some_and(|run| self.local.table().gap(gap.quotient, &run, gap.slot) == gap)
    }
}

impl Edit {
    /// The number of blocks that lose what they have learned.
    pub(crate) fn resets(&self) -> u64 {
        let (Counted::Insertion(cost) | Counted::Removal(cost) | Counted::Adaptation(cost) | Counted::OutOfMarks(cost)) =
            self.counted;
        cost.resets
    }

    pub(crate) fn write(&self, out: &mut Writer<'_>) {
        match self.change.shift {
            Shift::Nothing => out.u8(0),
            Shift::Insert(room, remainder) => {
                out.u8(1);
                [room.quotient.0, room.slot.0, room.free.0].into_iter().for_each(|number| out.u64(number));
                out.u32(remainder);
            }
            Shift::Remove(gap) => {
                out.u8(2);
                [gap.quotient.0, gap.slot.0, gap.freed.0].into_iter().for_each(|number| out.u64(number));
            }
        }
        out.u64(self.change.marks.len() as u64);
        for (block, kept) in &self.change.marks {
            out.u64(block.0);
            match kept {
                Kept::Code(code) => {
                    out.u8(0);
                    out.u64(*code);
                }
                Kept::Plain(marks) => {
                    out.u8(1);
                    marks.iter().for_each(|mark| out.u16(*mark));
                }
            }
        }
        out.u64(self.change.remainders.len() as u64);
        for (slot, remainder) in &self.change.remainders {
            out.u64(slot.0);
            out.u32(*remainder);
        }
        let (code, cost) = match self.counted {
            Counted::Insertion(cost) => (0, cost),
            Counted::Removal(cost) => (1, cost),
            Counted::Adaptation(cost) => (2, cost),
            Counted::OutOfMarks(cost) => (3, cost),
        };
        out.u8(code);
        [cost.shifted, cost.resets, cost.reset_reads].into_iter().for_each(|number| out.u64(number));
    }

    pub(crate) fn read(from: &mut Reader) -> Result<Edit, LoadError> {
        let shift = match from.u8()? {
            0 => Shift::Nothing,
            1 => {
                let (quotient, slot) = (Quotient(from.u64()?), Slot(from.u64()?));
                let room = Room { quotient, slot, free: Slot(from.u64()?) };
                Shift::Insert(room, from.u32()?)
            }
            2 => {
                let (quotient, slot) = (Quotient(from.u64()?), Slot(from.u64()?));
                Shift::Remove(Gap { quotient, slot, freed: Slot(from.u64()?) })
            }
            other => return Err(LoadError::invalid(format!("its shift is of kind {other}"))),
        };
        let mut change = Change { shift, ..Change::default() };
        for _ in 0..from.u64()? {
            let block = Block(from.u64()?);
            let kept = match from.u8()? {
                0 => Kept::Code(from.u64()?),
                1 => {
                    let mut marks = Box::new(UNMARKED);
                    for mark in marks.iter_mut().take(SLOTS as usize) {
                        *mark = from.u16()?;
                    }
                    Kept::Plain(marks)
                }
                other => return Err(LoadError::invalid(format!("its marks are of kind {other}"))),
            };
            change.marks.push((block, kept));
        }
        for _ in 0..from.u64()? {
            change.remainders.push((Slot(from.u64()?), from.u32()?));
        }
        let code = from.u8()?;
        let cost = Cost { shifted: from.u64()?, resets: from.u64()?, reset_reads: from.u64()? };
        let counted = match code {
            0 => Counted::Insertion(cost),
            1 => Counted::Removal(cost),
            2 => Counted::Adaptation(cost),
            3 => Counted::OutOfMarks(cost),
            other => return Err(LoadError::invalid(format!("its statistics are of kind {other}"))),
        };
        Ok(Edit { change, counted })
    }
}
