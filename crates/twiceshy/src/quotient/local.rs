//! L: the table, the marks beside it, and what they say about a key.

use super::block::{Annex, Layout, SLOTS};
use super::rule::Rule;
use super::side::{Entry, Side};
use super::strand::{Strand, quotient_of};
use super::table::{Gap, Room, Table};
use crate::codes::{ESCAPE, Mark, Marks, Zeros};
use crate::hash::{HashKey, words_of};
use crate::packed::word::{Portable, Word64, Work, dispatch};
use crate::remote::{CellId, Generation, Order, OrderWords, Place, Schema};
use std::ops::Range;

/// No slot has learned anything.
pub(crate) const UNMARKED: Marks = [0; SLOTS as usize];

/// The blocks, and the side table for marks that outgrew theirs.
#[derive(Clone, Debug)]
pub struct Marked {
    pub(crate) table: Table,
    pub(crate) side: Side,
}

impl Marked {
    #[inline(always)]
    pub(crate) fn width(&self) -> u32 {
        self.table.blocks.width()
    }

    /// Whether something holds for some part of a run. A run is cut at the ends of blocks, since each block has marks of its
    /// own; the slots are counted within the block.
    #[inline(always)]
    pub(crate) fn any_piece(run: Range<u64>, mut holds: impl FnMut(u64, Range<u64>) -> bool) -> bool {
        let (mut block, mut first) = (run.start / SLOTS, run.start % SLOTS);
        loop {
            let last = run.end - block * SLOTS;
            if holds(block, first..last.min(SLOTS)) {
                return true;
            }
            if last <= SLOTS {
                return false;
            }
            block += 1;
            first = 0;
        }
    }
}

/// One table of a filter.
#[derive(Clone, Debug)]
pub(crate) struct Local<R> {
    pub(crate) marked: Marked,
    pub(crate) rule: R,
    pub(crate) hash: HashKey,
    pub(crate) generation: Generation,
    pub(crate) keys: u64,
}

/// What the slots of a block have learned, in the form in which it will be kept.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// In the block's 56 bits.
    Code(u64),
    /// As they are: in the side table, or in the block's own bytes.
    Plain(Box<Marks>),
}

/// Which slots a plan moves.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Shift {
    #[default]
    Nothing,
    Insert(Room, u32),
    Remove(Gap),
}

/// What a plan does to a table: first the shift, then the slots by their new numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) shift: Shift,
    pub(crate) marks: Vec<(u64, Kept)>,
    pub(crate) remainders: Vec<(u64, u32)>,
}

/// What a change has replaced, in the order in which it was made.
#[derive(Debug)]
pub(crate) struct Replaced {
    shift: Unshift,
    marks: Vec<(u64, Before)>,
    remainders: Vec<(u64, u32)>,
    keys: u64,
}

/// How slots move back.
#[derive(Debug)]
enum Unshift {
    Nothing,
    Remove(Gap),
    /// `last`: the slot was the last of its run.
    Insert {
        gap: Gap,
        remainder: u32,
        last: bool,
    },
}

/// What a block had learned.
#[derive(Debug)]
enum Before {
    Kept(Kept),
    /// An entry of the side table that is gone, with the number that the block had for it.
    OnTheSide(u64, Box<Marks>),
}

impl Change {
    /// Puts a slot that has learned nothing where there is room.
    pub(crate) fn insert(room: Room, remainder: u32) -> Change {
        Change { shift: Shift::Insert(room, remainder), ..Change::default() }
    }
}

impl<R: Rule> Local<R> {
    /// An empty table; `None` where it cannot be allocated.
    pub(crate) fn new(
        slots: u64,
        width: u32,
        rule: R,
        side: u32,
        hash: HashKey,
        generation: Generation,
    ) -> Option<Local<R>> {
        let table = Table::new(slots, Layout::new(width, R::ANNEX))?;
        Some(Local { marked: Marked { table, side: Side::new(side) }, rule, hash, generation, keys: 0 })
    }

    pub(crate) fn table(&self) -> &Table {
        &self.marked.table
    }

    pub(crate) fn slots(&self) -> u64 {
        self.table().slots()
    }

    pub(crate) fn width(&self) -> u32 {
        self.marked.width()
    }

    pub(crate) fn strand<'k>(&self, key: &'k [u8]) -> Strand<'k> {
        Strand::of(&self.hash, key)
    }

    pub(crate) fn quotient(&self, key: &[u8]) -> u64 {
        quotient_of(self.hash.words(key).word(0), self.slots())
    }

    pub(crate) fn run(&self, quotient: u64) -> Option<Range<u64>> {
        self.table().run::<Portable>(quotient)
    }

    /// Whether a key matches some slot of its run.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        dispatch(Lookup { local: self, key })
    }

    /// Where to ask the remote about the keys of these quotients.
    pub(crate) fn place(&self, first: u64, last: u64, slot: u64) -> Place {
        let words = words_of(first, last, self.slots());
        Place { generation: self.generation, order: Order(0), words, cell: CellId(slot) }
    }

    /// Whether a slot that holds this could be the key's.
    pub(crate) fn fits(&self, key: &Strand<'_>, mark: Mark, remainder: u32) -> bool {
        self.rule.remainder(self.width(), key, mark) == remainder && self.rule.agrees(self.width(), key, mark)
    }

    /// The slots of a run that match a key, one by one: what [`Marking::matches`](super::rule::Marking::matches) must agree
    /// with.
    pub(crate) fn hits(&self, run: Range<u64>, key: &Strand<'_>) -> Vec<u64> {
        let marks = self.marks_of(run.clone());
        let fits = |(slot, mark): &(u64, Mark)| self.fits(key, *mark, self.table().blocks.remainder(*slot));
        run.zip(marks).filter(fits).map(|(slot, _)| slot).collect()
    }

    /// The marks of some slots.
    pub(crate) fn marks_of(&self, slots: Range<u64>) -> Vec<Mark> {
        let mut marks = Vec::with_capacity((slots.end - slots.start) as usize);
        Marked::any_piece(slots, |block, piece| {
            marks.extend_from_slice(&self.marks(block)[piece.start as usize..piece.end as usize]);
            false
        });
        marks
    }

    /// Whether some slot of a block has learned something.
    pub(crate) fn is_marked(&self, block: u64) -> bool {
        match R::ANNEX {
            Annex::Nothing => false,
            Annex::Code => self.table().blocks.code(block) != 0,
            Annex::Bytes => self.table().blocks.mark_bytes(block).iter().any(|mark| *mark != 0),
        }
    }

    /// `true` if plain marks would be a new entry of the side table for this block.
    pub(crate) fn is_coded(&self, block: u64) -> bool {
        R::ANNEX == Annex::Code && self.table().blocks.code(block) < ESCAPE
    }

    /// What the slots of a block have learned.
    pub(crate) fn marks(&self, block: u64) -> Marks {
        let blocks = &self.table().blocks;
        match R::ANNEX {
            Annex::Nothing => UNMARKED,
            Annex::Bytes => {
                let mut marks = UNMARKED;
                for (mark, byte) in marks.iter_mut().zip(blocks.mark_bytes(block)) {
                    *mark = Mark::from(*byte);
                }
                marks
            }
            Annex::Code => match blocks.code(block) {
                0 => UNMARKED,
                code if code >= ESCAPE => self.marked.side.get(code).map_or(UNMARKED, |entry| entry.marks),
                code => self.rule.decode(code),
            },
        }
    }

    /// The form in which a block can keep these marks. `on_the_side` counts the entries that the plan adds to the side
    /// table. `None` where they have no room: the block must be reset.
    pub(crate) fn keep(&self, block: u64, marks: &Marks, on_the_side: &mut usize) -> Option<Kept> {
        match R::ANNEX {
            Annex::Nothing => (marks == &UNMARKED).then_some(Kept::Code(0)),
            Annex::Bytes => marks.iter().all(|mark| *mark <= u8::MAX.into()).then(|| Kept::Plain(Box::new(*marks))),
            Annex::Code => {
                if let Some(code) = self.rule.encode(marks) {
                    return Some(Kept::Code(code));
                }
                let more = usize::from(self.is_coded(block));
                if !self.marked.side.has_room(*on_the_side + more) {
                    return None;
                }
                *on_the_side += more;
                Some(Kept::Plain(Box::new(*marks)))
            }
        }
    }

    /// What a block keeps after a reset.
    pub(crate) fn keep_nothing() -> Kept {
        if R::ANNEX == Annex::Bytes { Kept::Plain(Box::new(UNMARKED)) } else { Kept::Code(0) }
    }

    /// `true` if a block can keep this: its code or marks are in range.
    pub(crate) fn can_keep(&self, kept: &Kept) -> bool {
        match (R::ANNEX, kept) {
            (Annex::Nothing | Annex::Bytes, Kept::Code(code)) => *code == 0,
            (Annex::Code, Kept::Code(code)) => *code < ESCAPE,
            (_, Kept::Plain(marks)) => marks.iter().all(|mark| self.rule.is_mark(*mark)),
        }
    }

    /// Gives a block other marks, and returns what it had.
    fn set_marks(&mut self, block: u64, kept: Kept) -> Before {
        let Marked { table, side } = &mut self.marked;
        match (R::ANNEX, kept) {
            (Annex::Nothing, _) => Before::Kept(Kept::Code(0)),
            (Annex::Bytes, kept) => {
                let marks = match kept {
                    Kept::Plain(marks) => marks,
                    Kept::Code(_) => Box::new(UNMARKED),
                };
                let mut before = Box::new(UNMARKED);
                let bytes = table.blocks.mark_bytes_mut(block);
                for ((byte, mark), old) in bytes.iter_mut().zip(marks.iter()).zip(before.iter_mut()) {
                    *old = Mark::from(*byte);
                    *byte = *mark as u8;
                }
                Before::Kept(Kept::Plain(before))
            }
            (Annex::Code, Kept::Code(code)) => {
                let old = table.blocks.code(block);
                table.blocks.set_code(block, code);
                if old < ESCAPE {
                    return Before::Kept(Kept::Code(old));
                }
                let marks = side.get(old).map_or(UNMARKED, |entry| entry.marks);
                if let Some(moved) = side.remove(old) {
                    table.blocks.set_code(moved, old);
                }
                Before::OnTheSide(old, Box::new(marks))
            }
            (Annex::Code, Kept::Plain(mut marks)) => {
                let old = table.blocks.code(block);
                match side.get_mut(old) {
                    Some(entry) => {
                        std::mem::swap(&mut entry.marks, &mut marks);
                        Before::Kept(Kept::Plain(marks))
                    }
                    None => {
                        let code = side.add(Entry { block, marks: *marks });
                        table.blocks.set_code(block, code);
                        Before::Kept(Kept::Code(old))
                    }
                }
            }
        }
    }

    fn put_back(&mut self, block: u64, before: Before) {
        match before {
            Before::Kept(kept) => drop(self.set_marks(block, kept)),
            Before::OnTheSide(code, marks) => {
                let Marked { table, side } = &mut self.marked;
                table.blocks.set_code(block, code);
                if let Some((moved, at)) = side.put_back(code, Entry { block, marks: *marks }) {
                    table.blocks.set_code(moved, at);
                }
            }
        }
    }

    /// Makes a change, and returns what it replaced.
    pub(crate) fn apply(&mut self, change: Change) -> Replaced {
        let Change { shift, marks, mut remainders } = change;
        let keys = self.keys;
        let shift = match shift {
            Shift::Nothing => Unshift::Nothing,
            Shift::Insert(room, remainder) => {
                self.marked.table.insert(room, remainder);
                self.keys += 1;
                Unshift::Remove(Gap { quotient: room.quotient, slot: room.slot, freed: room.free })
            }
            Shift::Remove(gap) => {
                let remainder = self.marked.table.blocks.remainder(gap.slot);
                let last = self.marked.table.remove(gap);
                self.keys = self.keys.saturating_sub(1);
                Unshift::Insert { gap, remainder, last }
            }
        };
        for (slot, remainder) in &mut remainders {
            let old = self.marked.table.blocks.remainder(*slot);
            self.marked.table.blocks.set_remainder(*slot, *remainder);
            *remainder = old;
        }
        let marks = marks.into_iter().map(|(block, kept)| (block, self.set_marks(block, kept))).collect();
        Replaced { shift, marks, remainders, keys }
    }

    /// Takes the last change back.
    pub(crate) fn restore(&mut self, replaced: Replaced) {
        for (block, before) in replaced.marks.into_iter().rev() {
            self.put_back(block, before);
        }
        for (slot, remainder) in replaced.remainders.into_iter().rev() {
            self.marked.table.blocks.set_remainder(slot, remainder);
        }
        match replaced.shift {
            Unshift::Nothing => {}
            Unshift::Remove(gap) => drop(self.marked.table.remove(gap)),
            Unshift::Insert { gap, remainder, last } => self.marked.table.put_back(gap, remainder, last),
        }
        self.keys = replaced.keys;
    }

    pub(crate) fn schema(&self) -> Schema {
        Schema { hash: self.hash, orders: 1, cells: self.slots(), cells_per_bucket: 1 }
    }

    pub(crate) fn order_words(&self, key: &[u8]) -> OrderWords {
        OrderWords::new(&[self.hash.words(key).word(0)])
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        // Tables share what their code's ranges are while only zeros are read.
        let shared = if R::ANNEX == Annex::Code { size_of::<Zeros>() as u64 * 8 } else { 0 };
        self.table().blocks.allocated_bits() + self.marked.side.allocated_bits() + shared
    }
}

/// A look-up, compiled for the processor's way of counting bits.
struct Lookup<'a, R> {
    local: &'a Local<R>,
    key: &'a [u8],
}

impl<R: Rule> Work for Lookup<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn run<W: Word64>(self) -> bool {
        let words = self.local.hash.words(self.key);
        let table = self.local.table();
        match table.run::<W>(quotient_of(words.word(0), table.slots())) {
            None => false,
            Some(run) => self.local.rule.matches(&self.local.marked, run, &Strand::new(words)),
        }
    }
}
