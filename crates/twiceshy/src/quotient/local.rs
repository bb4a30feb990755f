//! L: the table, its marks, and look-ups.

use super::block::{Annex, Layout, SLOTS};
use super::deep::Deep;
use super::near::{Near, Reach};
use super::numbers::{Block, Quotient, Slot};
use super::rule::Rule;
use super::side::{Entry, Side};
use super::strand::{Head, Strand, quotient_of};
use super::table::{Gap, Room, Table};
use crate::batch;
use crate::codes::{ESCAPE, Mark, Marks, Zeros};
use crate::hash::{HashKey, with_words, words_of};
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
    pub(crate) reach: Reach,
    /// The remainders of a key that a look-up compares at a glance, beyond the first only once something was learned; 0 if
    /// word 0 does not give even the first.
    pub(crate) glanced: u32,
    /// `false` if no slot has ever had a mark.
    pub(crate) is_taught: bool,
    /// The blocks with marks that a glance does not know.
    pub(crate) deep: Deep,
}

/// The most remainders of a key that a look-up compares at a glance.
pub(crate) const GLANCED: u32 = 3;

impl Marked {
    /// A table that has learned nothing.
    pub(crate) fn new<R: Rule>(table: Table, side: Side, head: Head) -> Marked {
        let width = table.blocks.width();
        let deep = Deep::new(if R::HAS_DEEP { table.blocks.len() } else { 0 });
        let glanced = (head.bits() / width).min(GLANCED);
        Marked { reach: Reach::new(width), table, side, glanced, is_taught: false, deep }
    }

    #[inline(always)]
    pub(crate) fn width(&self) -> u32 {
        self.table.blocks.width()
    }

    /// `true` if `holds` is true for some part of a run. A run is cut at the ends of blocks, since each block has its own
    /// marks. `holds` gets the places of its slots in the block.
    #[inline(always)]
    pub(crate) fn any_piece(run: Range<Slot>, mut holds: impl FnMut(Block, Range<u64>) -> bool) -> bool {
        let (mut block, mut first) = (run.start.block(), run.start.at());
        loop {
            let last = run.end - block.first_slot();
            if holds(block, first..last.min(SLOTS)) {
                return true;
            }
            if last <= SLOTS {
                return false;
            }
            block = block.next();
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
    pub(crate) head: Head,
    pub(crate) generation: Generation,
    pub(crate) keys: u64,
}

/// The marks of a block in the form in which they will be stored.
#[derive(Clone, Debug)]
pub(crate) enum Kept {
    /// In the block's 56 bits.
    Code(u64),
    /// Plain: in the side table, or in the block's own bytes.
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

/// A plan's changes to a table: first the shift, then the slots by their new numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub(crate) shift: Shift,
    pub(crate) marks: Vec<(Block, Kept)>,
    pub(crate) remainders: Vec<(Slot, u32)>,
}

/// What a change has replaced, in order.
#[derive(Debug)]
pub(crate) struct Replaced {
    shift: Unshift,
    marks: Vec<(Block, Before)>,
    remainders: Vec<(Slot, u32)>,
    keys: u64,
}

/// How to undo a shift.
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

/// The earlier marks of a block.
#[derive(Debug)]
enum Before {
    Kept(Kept),
    /// A deleted entry of the side table, with the block's number for it.
    OnTheSide(u64, Box<Marks>),
}

impl Change {
    /// Inserts a slot that has learned nothing.
    pub(crate) fn insert(room: Room, remainder: u32) -> Change {
        Change { shift: Shift::Insert(room, remainder), ..Change::default() }
    }
}

impl<R: Rule> Local<R> {
    /// An empty table; `None` if it cannot be allocated.
    pub(crate) fn new(
        slots: u64,
        width: u32,
        rule: R,
        side: u32,
        hash: HashKey,
        generation: Generation,
    ) -> Option<Local<R>> {
        let table = Table::new(slots, Layout::new(width, R::ANNEX))?;
        let marked = Marked::new::<R>(table, Side::new(side), Head::Shared);
        Some(Local { marked, rule, hash, head: Head::Shared, generation, keys: 0 })
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
        Strand::of(&self.hash, key, self.head)
    }

    pub(crate) fn quotient(&self, key: &[u8]) -> Quotient {
        quotient_of(self.hash.words(key).word(0), self.slots())
    }

    pub(crate) fn run(&self, quotient: Quotient) -> Option<Range<Slot>> {
        self.table().run::<Portable>(quotient)
    }

    /// `true` if a key matches some slot of its run.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        dispatch(Lookup { local: self, key })
    }

    /// Where a key is looked for, and its hash word 0.
    #[inline(always)]
    pub(crate) fn probe(&self, key: &[u8]) -> (u64, Probe) {
        with_words!(self.hash, key, |words| {
            let word = words.word(0);
            (word, Probe::new(self, key, word))
        })
    }

    /// The first remainder of a key if word 0 is not enough for it. Apart, so that the usual case needs few registers.
    #[cold]
    #[inline(never)]
    fn long_remainder(&self, key: &[u8]) -> u32 {
        self.strand(key).remainder(self.width(), 0)
    }

    /// `true` if the key with this probe matches some slot of its run.
    #[inline(always)]
    pub(crate) fn finds(&self, probe: Probe, key: &[u8]) -> bool {
        dispatch(Find { local: self, probe, key })
    }

    /// Whether each key matches some slot of its run.
    pub(crate) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        dispatch(Lookups { local: self, keys, found });
    }

    /// Requests the memory of a look-up.
    #[inline]
    pub(crate) fn prefetch(&self, key: &[u8]) {
        self.table().blocks.prefetch(self.quotient(key));
    }

    /// Where to ask the remote about the keys of these quotients.
    pub(crate) fn place(&self, first: Quotient, last: Quotient, slot: Slot) -> Place {
        let words = words_of(first.0, last.0, self.slots());
        Place { generation: self.generation, order: Order(0), words, cell: CellId(slot.0) }
    }

    /// `true` if a slot with this content could belong to the key.
    pub(crate) fn fits(&self, key: &Strand<'_>, mark: Mark, remainder: u32) -> bool {
        self.rule.remainder(self.width(), key, mark) == remainder && self.rule.agrees(self.width(), key, mark)
    }

    /// The slots of a run that match a key, compared one by one. [`Marking::matches`](super::rule::Marking::matches) must
    /// agree with it.
    pub(crate) fn hits(&self, run: Range<Slot>, key: &Strand<'_>) -> Vec<Slot> {
        let marks = self.marks_of(run.clone());
        let fits = |(slot, mark): &(Slot, Mark)| self.fits(key, *mark, self.table().blocks.remainder(*slot));
        Slot::each(run).zip(marks).filter(fits).map(|(slot, _)| slot).collect()
    }

    /// The marks of some slots.
    pub(crate) fn marks_of(&self, slots: Range<Slot>) -> Vec<Mark> {
        let mut marks = Vec::with_capacity((slots.end - slots.start) as usize);
        Marked::any_piece(slots, |block, piece| {
            marks.extend_from_slice(&self.marks(block)[piece.start as usize..piece.end as usize]);
            false
        });
        marks
    }

    /// `true` if some slot of a block has learned something.
    pub(crate) fn is_marked(&self, block: Block) -> bool {
        match R::ANNEX {
            Annex::Nothing => false,
            Annex::Code => self.table().blocks.code(block) != 0,
            Annex::Bytes => self.table().blocks.mark_bytes(block).iter().any(|mark| *mark != 0),
        }
    }

    /// `true` if plain marks would need a new entry in the side table for this block.
    pub(crate) fn is_coded(&self, block: Block) -> bool {
        R::ANNEX == Annex::Code && self.table().blocks.code(block) < ESCAPE
    }

    /// The marks of a block.
    pub(crate) fn marks(&self, block: Block) -> Marks {
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

    /// The form in which a block can store these marks. `on_the_side` counts the entries that the plan adds to the side
    /// table. `None` if there is no room: the block must be reset.
    pub(crate) fn keep(&self, block: Block, marks: &Marks, on_the_side: &mut usize) -> Option<Kept> {
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

    /// The content of a block after a reset.
    pub(crate) fn keep_nothing() -> Kept {
        if R::ANNEX == Annex::Bytes { Kept::Plain(Box::new(UNMARKED)) } else { Kept::Code(0) }
    }

    /// `true` if a block can store this: its code or marks are in range.
    pub(crate) fn can_keep(&self, kept: &Kept) -> bool {
        match (R::ANNEX, kept) {
            (Annex::Nothing | Annex::Bytes, Kept::Code(code)) => *code == 0,
            (Annex::Code, Kept::Code(code)) => *code < ESCAPE,
            (_, Kept::Plain(marks)) => marks.iter().all(|mark| self.rule.is_mark(*mark)),
        }
    }

    /// Replaces the marks of a block, and returns the old ones.
    fn set_marks(&mut self, block: Block, kept: Kept) -> Before {
        match &kept {
            Kept::Code(0) => {}
            Kept::Code(code) => self.note_marks(block, &self.rule.decode(*code)),
            Kept::Plain(marks) => self.note_marks(block, marks),
        }
        let Marked { table, side, .. } = &mut self.marked;
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

    /// Remembers for look-ups that a block has these marks.
    pub(crate) fn note_marks(&mut self, block: Block, marks: &Marks) {
        self.marked.is_taught |= marks != &UNMARKED;
        let glanced = self.marked.glanced;
        if marks.iter().any(|mark| self.rule.is_deep(glanced, *mark)) {
            self.marked.deep.add(block);
        }
    }

    fn put_back(&mut self, block: Block, before: Before) {
        match before {
            Before::Kept(kept) => drop(self.set_marks(block, kept)),
            Before::OnTheSide(code, marks) => {
                let Marked { table, side, .. } = &mut self.marked;
                table.blocks.set_code(block, code);
                if let Some((moved, at)) = side.put_back(code, Entry { block, marks: *marks }) {
                    table.blocks.set_code(moved, at);
                }
            }
        }
    }

    /// Inserts a slot that has learned nothing.
    pub(crate) fn insert(&mut self, room: Room, remainder: u32) {
        self.marked.table.insert(room, remainder);
        self.keys += 1;
    }

    /// Makes a change, and returns what it replaced.
    #[inline]
    pub(crate) fn apply(&mut self, change: Change) -> Replaced {
        let Change { shift, marks, mut remainders } = change;
        let keys = self.keys;
        let shift = match shift {
            Shift::Nothing => Unshift::Nothing,
            Shift::Insert(room, remainder) => {
                self.insert(room, remainder);
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
        // Tables share their code's ranges of zeros.
        let shared = if R::ANNEX == Annex::Code { size_of::<Zeros>() as u64 * 8 } else { 0 };
        let deep = self.marked.deep.allocated_bits();
        self.table().blocks.allocated_bits() + self.marked.side.allocated_bits() + deep + shared
    }
}

/// A look-up, compiled for each implementation of bit counting.
pub(super) struct Lookup<'a, R> {
    pub(super) local: &'a Local<R>,
    pub(super) key: &'a [u8],
}

impl<R: Rule> Work for Lookup<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn run<W: Word64>(self) -> bool {
        with_words!(self.local.hash, self.key, |words| {
            Probe::new(self.local, self.key, words.word(0)).look::<W, R>(self.local, self.key)
        })
    }
}

/// A look-up of a key whose place is known.
struct Find<'a, R> {
    local: &'a Local<R>,
    probe: Probe,
    key: &'a [u8],
}

impl<R: Rule> Work for Find<'_, R> {
    type Output = bool;

    #[inline(always)]
    fn run<W: Word64>(self) -> bool {
        self.probe.look::<W, R>(self.local, self.key)
    }
}

/// Several look-ups.
struct Lookups<'a, R> {
    local: &'a Local<R>,
    keys: &'a [&'a [u8]],
    found: &'a mut [bool],
}

impl<R: Rule> Work for Lookups<'_, R> {
    type Output = ();

    #[inline(always)]
    fn run<W: Word64>(self) {
        let local = self.local;
        let prepare = |key: &[u8]| {
            with_words!(local.hash, key, |words| {
                let probe = Probe::new(local, key, words.word(0));
                local.table().blocks.prefetch(probe.quotient);
                probe
            })
        };
        let answer = |key: &[u8], probe: Probe| probe.look::<W, R>(local, key);
        batch::in_groups(
            self.keys,
            self.found,
            Probe { quotient: Quotient(0), remainder: 0, head: 0 },
            prepare,
            answer,
        );
    }
}

/// What a look-up needs of its key, unless the table has learned something.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub(crate) quotient: Quotient,
    /// The key's first remainder.
    pub(crate) remainder: u32,
    /// The low bits of hash word 0, where strings begin.
    head: u32,
}

impl Probe {
    #[inline(always)]
    fn new<R: Rule>(local: &Local<R>, key: &[u8], word: u64) -> Probe {
        let width = local.width();
        let remainder =
            if width <= local.head.bits() { word as u32 & ((1 << width) - 1) } else { local.long_remainder(key) };
        Probe { quotient: quotient_of(word, local.slots()), remainder, head: word as u32 }
    }

    /// Remainder number `index`, if it lies in the head.
    #[inline(always)]
    pub(crate) fn head_remainder(self, width: u32, index: u32) -> u32 {
        self.head >> (index * width) & ((1 << width) - 1)
    }

    /// `true` if a slot of the quotient's run matches the key.
    #[inline(always)]
    fn look<W: Word64, R: Rule>(self, local: &Local<R>, key: &[u8]) -> bool {
        let Local { marked, rule, .. } = local;
        let near = Near::look::<W>(&marked.table.blocks, R::ANNEX, marked.reach, self.quotient);
        if near.is_far() {
            return far(local, self.quotient, key);
        }
        let strand = || local.strand(key);
        let is_taught = R::LEARNS && marked.is_taught;
        rule.glance::<W>(marked, &near, self, strand) && (!is_taught || confirm(local, &near, self, key))
    }
}

/// `true` if a slot of a short run matches the key, for which a glance was `true`. Apart, as it is seldom needed. The string's head
/// is known, and is mostly all that it takes: nothing is hashed then.
#[inline(never)]
fn confirm<R: Rule>(local: &Local<R>, near: &Near, probe: Probe, key: &[u8]) -> bool {
    let strand = || Strand::with_word(local.hash.words(key), local.head, probe.head.into());
    local.rule.confirm(&local.marked, near, probe, strand)
}

/// A look-up of a quotient whose run is long or in other blocks. Apart, so that the short way needs few registers.
#[cold]
#[inline(never)]
fn far<R: Rule>(local: &Local<R>, quotient: Quotient, key: &[u8]) -> bool {
    dispatch(Far { local, quotient, key: &local.strand(key) })
}

struct Far<'a, 'k, R> {
    local: &'a Local<R>,
    quotient: Quotient,
    key: &'a Strand<'k>,
}

impl<R: Rule> Work for Far<'_, '_, R> {
    type Output = bool;

    #[inline(always)]
    fn run<W: Word64>(self) -> bool {
        let run = self.local.table().run::<W>(self.quotient);
        run.is_some_and(|run| self.local.rule.matches(&self.local.marked, run, self.key))
    }
}
