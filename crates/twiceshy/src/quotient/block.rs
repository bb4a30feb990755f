//! Blocks of 64 slots, each with its metadata and its remainders together (004 section 5, B.1).
//!
//! ```text
//!   byte  0        1          8            16           24                        24 + 8w
//!        ┌────────┬──────────┬────────────┬────────────┬─────────────────────────┬ ─ ─ ─ ─ ─ ─ ┐
//!        │ offset │ code     │ occupieds  │ runends    │ 64 remainders of w bits │  64 marks
//!        │ 8 bits │ 56 bits  │ 64 bits    │ 64 bits    │ 64·w bits               │  of a byte
//!        └────────┴──────────┴────────────┴────────────┴─────────────────────────┴ ─ ─ ─ ─ ─ ─ ┘
//! ```
//!
//! Only filters that learn through a code have the code, and only those that store marks plainly have the marks. A slot
//! costs w + 2.125 bits without either, w + 3 with the code, w + 10.125 with the marks. Everything is little-endian and
//! read with unaligned loads, so a block needs no alignment, and its bytes are the same on every platform.

use super::numbers::{Block, Quotient, Slot, blocks_between};
use super::shift::Shift;
use crate::packed::load;
use crate::packed::pages;
use crate::packed::prefetch::prefetch;
use crate::touched::note_slice;
use std::ops::Range;

/// The number of slots in a block.
pub(crate) const SLOTS: u64 = 64;

/// The most bytes of metadata in a block. Every block has more.
pub(crate) const METADATA: usize = 24;

/// The padding that a load of the last remainder may touch.
pub(crate) const PADDING: usize = 7;

/// The bytes of a row of blocks: a filter's own, or those of a draft on top of a filter.
///
/// Each method returns `len` bytes of a block from its byte `at` on. Up to [`PADDING`] of them may lie after the block's
/// end, and these must not be changed. Accesses to L are recorded as touched; a draft's copies are not L.
pub(crate) trait BlockBytes {
    fn part(&self, block: Block, stride: usize, at: usize, len: usize) -> &[u8];

    fn part_mut(&mut self, block: Block, stride: usize, at: usize, len: usize) -> &mut [u8];

    /// The same as `part`, for a caller that reads only some of the bytes and records these itself.
    fn view(&self, block: Block, stride: usize, at: usize, len: usize) -> &[u8];
}

impl BlockBytes for Vec<u8> {
    #[inline(always)]
    fn part(&self, block: Block, stride: usize, at: usize, len: usize) -> &[u8] {
        let bytes = self.view(block, stride, at, len);
        note_slice(bytes);
        bytes
    }

    #[inline(always)]
    fn part_mut(&mut self, block: Block, stride: usize, at: usize, len: usize) -> &mut [u8] {
        let at = block.index() * stride + at;
        let bytes = &mut self[at..at + len];
        note_slice(bytes);
        bytes
    }

    #[inline(always)]
    fn view(&self, block: Block, stride: usize, at: usize, len: usize) -> &[u8] {
        let at = block.index() * stride + at;
        &self[at..at + len]
    }
}

/// What a block holds besides metadata and remainders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annex {
    /// Nothing: the filter does not learn.
    Nothing,
    /// The marks of all slots in one arithmetic code of 56 bits.
    Code,
    /// A byte for the mark of each slot.
    Bytes,
}

impl Annex {
    /// Where the occupieds begin: after the offset, and the code if there is one.
    #[inline(always)]
    pub(crate) const fn header(self) -> usize {
        match self {
            Annex::Code => 8,
            Annex::Nothing | Annex::Bytes => 1,
        }
    }
}

/// The offsets of the parts of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    width: u32,
    /// Where the occupieds begin: after the offset, and the code if there is one.
    header: usize,
    stride: usize,
}

impl Layout {
    pub(crate) fn new(width: u32, annex: Annex) -> Layout {
        let header = annex.header();
        let marks = if annex == Annex::Bytes { SLOTS as usize } else { 0 };
        Layout { width, header, stride: header + 16 + 8 * width as usize + marks }
    }

    fn remainders(&self) -> usize {
        self.header + 16
    }

    fn marks(&self) -> usize {
        self.remainders() + 8 * self.width as usize
    }
}

/// A row of blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks<B = Vec<u8>> {
    layout: Layout,
    len: u64,
    bytes: B,
}

/// The remainders of one block.
#[derive(Clone, Copy)]
pub(crate) struct Remainders<'a> {
    bytes: &'a [u8],
    width: u32,
}

impl Remainders<'_> {
    /// The remainder of the slot at this place.
    #[inline(always)]
    pub(crate) fn get(&self, at: u64) -> u32 {
        let bit = at as usize * self.width as usize;
        let bytes = &self.bytes[bit / 8..bit / 8 + 8];
        note_slice(bytes);
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        (u64::from_le_bytes(word) >> (bit % 8) & ((1 << self.width) - 1)) as u32
    }
}

impl Blocks {
    /// `blocks` empty blocks; `None` if they cannot be addressed or allocated.
    pub(crate) fn new(blocks: u64, layout: Layout) -> Option<Blocks> {
        Some(Blocks { layout, len: blocks, bytes: pages::zeros(Self::byte_size(blocks, layout)?)? })
    }

    /// Blocks from saved bytes. Only their number is checked.
    pub(crate) fn from_bytes(blocks: u64, layout: Layout, saved: Vec<u8>) -> Option<Blocks> {
        let size = Self::byte_size(blocks, layout)?;
        if saved.len() != size - PADDING {
            return None;
        }
        let mut bytes = saved;
        bytes.try_reserve_exact(PADDING).ok()?;
        bytes.resize(size, 0);
        Some(Blocks { layout, len: blocks, bytes })
    }

    fn byte_size(blocks: u64, layout: Layout) -> Option<usize> {
        let size = usize::try_from(blocks).ok()?.checked_mul(layout.stride)?.checked_add(PADDING)?;
        (size <= isize::MAX as usize).then_some(size)
    }

    /// The bytes of all blocks, without the padding.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - PADDING]
    }

    pub(crate) fn allocated_bits(&self) -> u64 {
        self.bytes.capacity() as u64 * 8
    }

    /// Eight bytes from byte `at` of all blocks on; 0 after their end.
    #[inline(always)]
    pub(crate) fn word(&self, at: usize) -> u64 {
        note_slice(self.bytes.get(at..at + 8).unwrap_or(&[]));
        load::word(&self.bytes, at)
    }

    /// The first bytes of a block: the metadata, and what follows if they are fewer. The caller records what it reads.
    #[inline(always)]
    pub(crate) fn metadata(&self, start: usize) -> &[u8; METADATA] {
        load::chunk(&self.bytes, start)
    }

    /// The byte of all blocks that holds a slot's mark, if marks are stored plainly.
    #[inline(always)]
    pub(crate) fn mark_at(&self, block: Block, at: u64) -> usize {
        block.index() * self.layout.stride + self.layout.marks() + at as usize
    }

    /// Requests the memory of a look-up ahead of its use: the metadata of a quotient's block and of the next, and the
    /// remainder at the place of the quotient, near which its run is.
    #[inline(always)]
    pub(crate) fn prefetch(&self, quotient: Quotient) {
        let Layout { width, stride, .. } = self.layout;
        let start = quotient.block().index() * stride;
        prefetch(&self.bytes, start);
        prefetch(&self.bytes, start + self.layout.remainders() + quotient.at() as usize * width as usize / 8);
        prefetch(&self.bytes, start + stride + self.layout.header + 8);
    }

    /// A draft on top of these blocks, with other bytes.
    pub(crate) fn over<'a, B>(&'a self, bytes: impl FnOnce(&'a Vec<u8>) -> B) -> Blocks<B> {
        Blocks { layout: self.layout, len: self.len, bytes: bytes(&self.bytes) }
    }

    /// The bytes, and the number of bytes in a block.
    pub(crate) fn bytes_mut(&mut self) -> (&mut [u8], usize) {
        (&mut self.bytes, self.layout.stride)
    }
}

impl<B> Blocks<B> {
    /// Only the bytes of a draft.
    pub(crate) fn into_bytes(self) -> B {
        self.bytes
    }

    /// The number of bytes in a block.
    #[inline(always)]
    pub(crate) fn stride(&self) -> usize {
        self.layout.stride
    }
}

impl<B: BlockBytes> Blocks<B> {
    /// The number of blocks.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The block after the last.
    #[inline(always)]
    pub(crate) fn end(&self) -> Block {
        Block(self.len)
    }

    /// The numbers of all blocks.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Block> + use<B> {
        Block::each(Block(0)..self.end())
    }

    pub(crate) fn width(&self) -> u32 {
        self.layout.width
    }

    #[inline(always)]
    fn load(&self, block: Block, at: usize) -> u64 {
        let mut word = [0; 8];
        word.copy_from_slice(self.bytes.part(block, self.layout.stride, at, 8));
        u64::from_le_bytes(word)
    }

    #[inline(always)]
    fn store(&mut self, block: Block, at: usize, word: u64) {
        self.bytes.part_mut(block, self.layout.stride, at, 8).copy_from_slice(&word.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn offset(&self, block: Block) -> u8 {
        self.bytes.part(block, self.layout.stride, 0, 1)[0]
    }

    pub(crate) fn set_offset(&mut self, block: Block, offset: u8) {
        self.bytes.part_mut(block, self.layout.stride, 0, 1)[0] = offset;
    }

    /// The code of a block: its header's upper seven bytes.
    #[inline(always)]
    pub(crate) fn code(&self, block: Block) -> u64 {
        self.load(block, 0) >> 8
    }

    pub(crate) fn set_code(&mut self, block: Block, code: u64) {
        let offset = u64::from(self.offset(block));
        self.store(block, 0, code << 8 | offset);
    }

    #[inline(always)]
    pub(crate) fn occupieds(&self, block: Block) -> u64 {
        self.load(block, self.layout.header)
    }

    /// Puts a remainder into its quotient's own slot, as a run of one.
    pub(crate) fn begin_run(&mut self, quotient: Quotient, remainder: u32) {
        let (block, at) = (quotient.block(), quotient.at());
        let header = self.layout.header;
        self.store(block, header, self.load(block, header) | 1 << at);
        self.set_runends(block, self.runends(block) | 1 << at);
        self.set_remainder(quotient.slot(), remainder);
    }

    pub(crate) fn set_occupied(&mut self, quotient: Quotient, occupied: bool) {
        let (block, at) = (quotient.block(), self.layout.header);
        self.store(block, at, with_bit(self.load(block, at), quotient.at(), occupied));
    }

    #[inline(always)]
    pub(crate) fn runends(&self, block: Block) -> u64 {
        self.load(block, self.layout.header + 8)
    }

    fn set_runends(&mut self, block: Block, runends: u64) {
        self.store(block, self.layout.header + 8, runends);
    }

    pub(crate) fn set_runend(&mut self, slot: Slot, runend: bool) {
        self.set_runends(slot.block(), with_bit(self.runends(slot.block()), slot.at(), runend));
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        (1 << self.layout.width) - 1
    }

    /// The byte of its block where a slot's remainder begins, and the bit in it.
    #[inline(always)]
    fn remainder_at(&self, slot: Slot) -> (usize, u32) {
        let bit = slot.at() as usize * self.layout.width as usize;
        (self.layout.remainders() + bit / 8, (bit % 8) as u32)
    }

    /// The remainders of a block, so that a look-up finds the block only once for all slots of a run.
    #[inline(always)]
    pub(crate) fn remainders(&self, block: Block) -> Remainders<'_> {
        let Layout { width, stride, .. } = self.layout;
        let bytes = self.bytes.view(block, stride, self.layout.remainders(), 8 * width as usize + PADDING);
        Remainders { bytes, width }
    }

    #[inline(always)]
    pub(crate) fn remainder(&self, slot: Slot) -> u32 {
        let (at, bit) = self.remainder_at(slot);
        (self.load(slot.block(), at) >> bit & self.mask()) as u32
    }

    pub(crate) fn set_remainder(&mut self, slot: Slot, remainder: u32) {
        let (block, (at, bit)) = (slot.block(), self.remainder_at(slot));
        let others = self.load(block, at) & !(self.mask() << bit);
        self.store(block, at, others | (u64::from(remainder) & self.mask()) << bit);
    }

    /// The marks of a block that stores them plainly.
    pub(crate) fn mark_bytes(&self, block: Block) -> &[u8] {
        self.bytes.part(block, self.layout.stride, self.layout.marks(), SLOTS as usize)
    }

    pub(crate) fn mark_bytes_mut(&mut self, block: Block) -> &mut [u8] {
        self.bytes.part_mut(block, self.layout.stride, self.layout.marks(), SLOTS as usize)
    }

    /// Moves the contents of slots `from..to`, remainders and runends, one slot up. The content of `to` is lost, and `from`
    /// gets this one.
    #[inline]
    pub(crate) fn shift_up(&mut self, from: Slot, to: Slot, content: (u32, bool)) {
        let (mut block, mut highest) = (to.block(), to.at());
        while block > from.block() {
            // The last slot of the block before moves in.
            let before = block.before();
            let carried = (self.remainder(before.last_slot()), self.runends(before) >> 63 == 1);
            self.shift_up_in(block, 0, highest, carried);
            (block, highest) = (before, SLOTS - 1);
        }
        self.shift_up_in(block, from.at(), highest, content);
    }

    /// The same for the slots at the places `lowest..=highest` of one block.
    #[inline]
    fn shift_up_in(&mut self, block: Block, lowest: u64, highest: u64, (remainder, is_end): (u32, bool)) {
        let first = block.slot(lowest);
        if highest > lowest {
            self.shift_remainders(block, first..block.slot(highest).next(), true);
        }
        self.set_remainder(first, remainder);
        let (region, runends) = (bits(lowest, highest), self.runends(block));
        let moved = runends << 1 & region & !(1 << lowest);
        self.set_runends(block, runends & !region | moved | u64::from(is_end) << lowest);
    }

    /// Moves the contents of slots `from + 1..=to` one slot down. The content of `from` is lost, and `to` is empty.
    pub(crate) fn shift_down(&mut self, from: Slot, to: Slot) {
        for block in blocks_between(from, to) {
            let lowest = from.max(block.first_slot());
            let highest = to.min(block.last_slot());
            let (carried, runend) =
                if highest < to { (self.remainder(highest.next()), self.runends(block.next()) & 1) } else { (0, 0) };
            self.shift_remainders(block, lowest..highest.next(), false);
            self.set_remainder(highest, carried);
            let region = bits(lowest.at(), highest.at());
            let runends = self.runends(block);
            let last = highest.at();
            self.set_runends(block, runends & !region | (runends >> 1 & region & !(1 << last)) | runend << last);
        }
    }

    /// Moves remainders within one block, up or down.
    #[inline]
    fn shift_remainders(&mut self, block: Block, slots: Range<Slot>, up: bool) {
        if self.layout.width.is_multiple_of(8) {
            return self.shift_bytes(block, slots, up);
        }
        let shift = Shift::new(self.layout.width, slots);
        let Range { start, end } = shift.bytes();
        let at = self.layout.remainders() + start;
        let bytes = self.bytes.part_mut(block, self.layout.stride, at, end - start);
        if up { shift.up(bytes) } else { shift.down(bytes) }
    }
}

impl<B: BlockBytes> Blocks<B> {
    /// The same for remainders of whole bytes.
    #[inline]
    fn shift_bytes(&mut self, block: Block, slots: Range<Slot>, up: bool) {
        let size = self.layout.width as usize / 8;
        let (at, len) = (slots.start.at() as usize * size, (slots.end - slots.start) as usize * size);
        let bytes = self.bytes.part_mut(block, self.layout.stride, self.layout.remainders() + at, len);
        if up { bytes.copy_within(..len - size, size) } else { bytes.copy_within(size.., 0) }
    }
}

/// The bits `first..=last` of a word.
#[inline(always)]
fn bits(first: u64, last: u64) -> u64 {
    (u64::MAX << first) & (u64::MAX >> (63 - last))
}

#[inline(always)]
fn with_bit(word: u64, bit: u64, set: bool) -> u64 {
    word & !(1 << bit) | u64::from(set) << bit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    /// Three blocks with random content.
    fn scribbled(width: u32, annex: Annex, rng: &mut SplitMix64) -> Blocks {
        let mut blocks = Blocks::new(3, Layout::new(width, annex)).unwrap();
        for slot in (0..192).map(Slot) {
            blocks.set_remainder(slot, rng.next() as u32);
            blocks.set_runend(slot, rng.next() & 1 == 1);
            blocks.set_occupied(slot.block().quotient(slot.at()), rng.next() & 1 == 1);
        }
        for block in blocks.numbers() {
            blocks.set_offset(block, rng.next() as u8);
        }
        blocks
    }

    fn row(blocks: &Blocks) -> Vec<(u32, bool)> {
        let is_end = |slot: Slot| blocks.runends(slot.block()) >> slot.at() & 1 == 1;
        (0..192).map(Slot).map(|slot| (blocks.remainder(slot), is_end(slot))).collect()
    }

    #[test]
    fn shifting_moves_only_the_given_slots_at_every_width() {
        let mut rng = SplitMix64::from_state(1);
        for width in 2..=32 {
            for annex in [Annex::Nothing, Annex::Code, Annex::Bytes] {
                for _ in 0..40 {
                    let blocks = scribbled(width, annex, &mut rng);
                    let (a, b) = (rng.below(192), rng.below(192));
                    let (from, to) = (a.min(b), a.max(b));
                    let (mut up, mut down) = (blocks.clone(), blocks.clone());
                    let content = (rng.next() as u32 & (u32::MAX >> (32 - width)), rng.next() & 1 == 1);
                    up.shift_up(Slot(from), Slot(to), content);
                    down.shift_down(Slot(from), Slot(to));
                    let mut expected = row(&blocks);
                    expected.remove(to as usize);
                    expected.insert(from as usize, content);
                    assert_eq!(row(&up), expected, "up, width {width}, {from}..{to}");
                    let mut expected = row(&blocks);
                    expected.remove(from as usize);
                    expected.insert(to as usize, (0, false));
                    assert_eq!(row(&down), expected, "down, width {width}, {from}..{to}");
                    for block in blocks.numbers() {
                        assert_eq!(up.occupieds(block), blocks.occupieds(block));
                        assert_eq!(down.offset(block), blocks.offset(block));
                    }
                }
            }
        }
    }

    #[test]
    fn code_offset_and_marks_do_not_touch_their_neighbours() {
        let mut rng = SplitMix64::from_state(2);
        let mut coded = scribbled(7, Annex::Code, &mut rng);
        let before = (row(&coded), coded.offset(Block(1)), coded.occupieds(Block(1)));
        coded.set_code(Block(1), (1 << 56) - 1);
        assert_eq!(coded.code(Block(1)), (1 << 56) - 1);
        coded.set_offset(Block(1), before.1);
        assert_eq!((row(&coded), coded.offset(Block(1)), coded.occupieds(Block(1))), before);
        assert_eq!((coded.code(Block(0)), coded.code(Block(2))), (0, 0));

        let mut plain = scribbled(7, Annex::Bytes, &mut rng);
        let before = (row(&plain), plain.offset(Block(2)));
        plain.mark_bytes_mut(Block(1)).fill(255);
        assert_eq!((row(&plain), plain.offset(Block(2))), before);
        assert_eq!(
            [0, 1, 2].map(Block).map(|block| plain.mark_bytes(block).to_vec()),
            [0, 255, 0].map(|mark| vec![mark; 64])
        );
    }

    #[cfg(feature = "count-words")]
    #[test]
    fn every_access_to_a_block_is_recorded() {
        use crate::touched;
        type Access = (&'static str, fn(&mut Blocks), u64);
        // Each access with the number of bytes that it touches at least.
        let accesses: [Access; 13] = [
            ("offset", |blocks| _ = blocks.offset(Block(1)), 1),
            ("set_offset", |blocks| blocks.set_offset(Block(1), 1), 1),
            ("code", |blocks| _ = blocks.code(Block(1)), 8),
            ("set_code", |blocks| blocks.set_code(Block(1), 1), 8),
            ("occupieds", |blocks| _ = blocks.occupieds(Block(1)), 8),
            ("set_occupied", |blocks| blocks.set_occupied(Quotient(64), true), 8),
            ("runends", |blocks| _ = blocks.runends(Block(1)), 8),
            ("set_runend", |blocks| blocks.set_runend(Slot(64), true), 8),
            ("remainder", |blocks| _ = blocks.remainder(Slot(64)), 1),
            ("remainders", |blocks| _ = blocks.remainders(Block(1)).get(0), 1),
            ("set_remainder", |blocks| blocks.set_remainder(Slot(64), 1), 1),
            ("shift_up", |blocks| blocks.shift_up(Slot(64), Slot(191), (0, false)), 2 * (8 + 56)),
            ("shift_down", |blocks| blocks.shift_down(Slot(64), Slot(191)), 2 * (8 + 56)),
        ];
        let mut coded = Blocks::new(3, Layout::new(7, Annex::Code)).unwrap();
        for (name, access, bytes) in accesses {
            touched::reset();
            access(&mut coded);
            assert!(touched::words() * 8 >= bytes, "{name}: {} words", touched::words());
        }
        let mut plain = Blocks::new(3, Layout::new(7, Annex::Bytes)).unwrap();
        let marks: [fn(&mut Blocks); 2] =
            [|blocks| _ = blocks.mark_bytes(Block(1)), |blocks| _ = blocks.mark_bytes_mut(Block(1))];
        for access in marks {
            touched::reset();
            access(&mut plain);
            assert!(touched::words() >= 8);
        }
    }

    #[test]
    fn a_slot_costs_what_the_paper_counts() {
        for width in [2, 8, 13, 32] {
            let bits = |annex| Layout::new(width, annex).stride as f64 * 8.0 / 64.0 - f64::from(width);
            assert_eq!((bits(Annex::Nothing), bits(Annex::Code), bits(Annex::Bytes)), (2.125, 3.0, 10.125));
        }
    }
}
