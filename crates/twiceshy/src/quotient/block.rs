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
//! The code is there only in filters that learn through a code, the marks only in those that keep them plainly: a slot
//! costs w + 2.125 bits without either, w + 3 with the code, w + 10.125 with the marks. Everything is little-endian and
//! read with unaligned loads, so a block needs no alignment, and its bytes are the same on every platform.

use crate::touched::{note_one, note_slice};

/// Slots a block.
pub(crate) const SLOTS: u64 = 64;

/// The padding that a load of the last remainder may touch.
const PADDING: usize = 7;

/// What stands in a block beside metadata and remainders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Annex {
    /// Nothing: the filter does not learn.
    Nothing,
    /// The marks of all slots in one arithmetic code of 56 bits.
    Code,
    /// A byte for the mark of each slot.
    Bytes,
}

/// Where things are in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    width: u32,
    /// Where the occupieds begin: after the offset, and the code if there is one.
    header: usize,
    stride: usize,
}

impl Layout {
    pub(crate) fn new(width: u32, annex: Annex) -> Layout {
        let header = if annex == Annex::Code { 8 } else { 1 };
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
pub(crate) struct Blocks {
    layout: Layout,
    len: u64,
    bytes: Vec<u8>,
}

/// The remainders of one block.
#[derive(Clone, Copy)]
pub(crate) struct Remainders<'a> {
    bytes: &'a [u8],
    width: u32,
}

impl Remainders<'_> {
    /// The remainder of a slot, counted within the block.
    #[inline(always)]
    pub(crate) fn get(&self, slot: u64) -> u32 {
        let bit = slot as usize * self.width as usize;
        let bytes = &self.bytes[bit / 8..bit / 8 + 8];
        note_slice(bytes);
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        (u64::from_le_bytes(word) >> (bit % 8) & ((1 << self.width) - 1)) as u32
    }
}

impl Blocks {
    /// So many blocks, all empty. `None` where they cannot be addressed or allocated.
    pub(crate) fn new(blocks: u64, layout: Layout) -> Option<Blocks> {
        let size = Self::byte_size(blocks, layout)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(size).ok()?;
        bytes.resize(size, 0);
        Some(Blocks { layout, len: blocks, bytes })
    }

    /// Blocks from saved bytes, unchecked but for their number.
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

    /// The number of blocks.
    #[inline(always)]
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn width(&self) -> u32 {
        self.layout.width
    }

    #[inline(always)]
    fn load(&self, at: usize) -> u64 {
        let bytes = &self.bytes[at..at + 8];
        note_slice(bytes);
        let mut word = [0; 8];
        word.copy_from_slice(bytes);
        u64::from_le_bytes(word)
    }

    #[inline(always)]
    fn store(&mut self, at: usize, word: u64) {
        let bytes = &mut self.bytes[at..at + 8];
        note_slice(bytes);
        bytes.copy_from_slice(&word.to_le_bytes());
    }

    #[inline(always)]
    fn base(&self, block: u64) -> usize {
        block as usize * self.layout.stride
    }

    #[inline(always)]
    pub(crate) fn offset(&self, block: u64) -> u8 {
        let offset = &self.bytes[self.base(block)];
        note_one(offset);
        *offset
    }

    pub(crate) fn set_offset(&mut self, block: u64, offset: u8) {
        let at = self.base(block);
        note_one(&self.bytes[at]);
        self.bytes[at] = offset;
    }

    /// The code of a block: its header's upper seven bytes.
    #[inline(always)]
    pub(crate) fn code(&self, block: u64) -> u64 {
        self.load(self.base(block)) >> 8
    }

    pub(crate) fn set_code(&mut self, block: u64, code: u64) {
        let at = self.base(block);
        let offset = u64::from(self.offset(block));
        self.store(at, code << 8 | offset);
    }

    #[inline(always)]
    pub(crate) fn occupieds(&self, block: u64) -> u64 {
        self.load(self.base(block) + self.layout.header)
    }

    pub(crate) fn set_occupied(&mut self, slot: u64, occupied: bool) {
        let at = self.base(slot / SLOTS) + self.layout.header;
        self.store(at, with_bit(self.load(at), slot % SLOTS, occupied));
    }

    #[inline(always)]
    pub(crate) fn runends(&self, block: u64) -> u64 {
        self.load(self.base(block) + self.layout.header + 8)
    }

    fn set_runends(&mut self, block: u64, runends: u64) {
        let at = self.base(block) + self.layout.header + 8;
        self.store(at, runends);
    }

    pub(crate) fn set_runend(&mut self, slot: u64, runend: bool) {
        self.set_runends(slot / SLOTS, with_bit(self.runends(slot / SLOTS), slot % SLOTS, runend));
    }

    #[inline(always)]
    fn mask(&self) -> u64 {
        (1 << self.layout.width) - 1
    }

    /// The byte in which a slot's remainder begins, and the bit in it.
    #[inline(always)]
    fn remainder_at(&self, slot: u64) -> (usize, u32) {
        let bit = (slot % SLOTS) as usize * self.layout.width as usize;
        (self.base(slot / SLOTS) + self.layout.remainders() + bit / 8, (bit % 8) as u32)
    }

    /// The remainders of a block: a look-up finds the block once for all slots of a run.
    #[inline(always)]
    pub(crate) fn remainders(&self, block: u64) -> Remainders<'_> {
        let at = self.base(block) + self.layout.remainders();
        Remainders { bytes: &self.bytes[at..at + 8 * self.layout.width as usize + PADDING], width: self.layout.width }
    }

    #[inline(always)]
    pub(crate) fn remainder(&self, slot: u64) -> u32 {
        let (at, bit) = self.remainder_at(slot);
        (self.load(at) >> bit & self.mask()) as u32
    }

    pub(crate) fn set_remainder(&mut self, slot: u64, remainder: u32) {
        let (at, bit) = self.remainder_at(slot);
        let others = self.load(at) & !(self.mask() << bit);
        self.store(at, others | (u64::from(remainder) & self.mask()) << bit);
    }

    /// The marks of a block that keeps them plainly.
    pub(crate) fn mark_bytes(&self, block: u64) -> &[u8] {
        let at = self.base(block) + self.layout.marks();
        let marks = &self.bytes[at..at + SLOTS as usize];
        note_slice(marks);
        marks
    }

    pub(crate) fn mark_bytes_mut(&mut self, block: u64) -> &mut [u8] {
        let at = self.base(block) + self.layout.marks();
        let marks = &mut self.bytes[at..at + SLOTS as usize];
        note_slice(marks);
        marks
    }

    /// The bytes of a block, to be put back.
    pub(crate) fn image(&self, block: u64) -> &[u8] {
        let at = self.base(block);
        let image = &self.bytes[at..at + self.layout.stride];
        note_slice(image);
        image
    }

    /// Puts a block back as it was.
    pub(crate) fn restore(&mut self, block: u64, image: &[u8]) {
        let at = self.base(block);
        let bytes = &mut self.bytes[at..at + self.layout.stride];
        note_slice(bytes);
        bytes.copy_from_slice(image);
    }

    /// Moves what the slots `from..to` hold, remainders and runends, one slot up; what `to` held is gone, and `from` is
    /// empty.
    pub(crate) fn shift_up(&mut self, from: u64, to: u64) {
        for block in (from / SLOTS..=to / SLOTS).rev() {
            let lowest = from.max(block * SLOTS);
            let highest = to.min(block * SLOTS + SLOTS - 1);
            // What comes in from below: the last slot of the block before, unless the move begins here.
            let (carried, runend) = match lowest.checked_sub(1) {
                Some(below) if lowest > from => (self.remainder(below), self.runends(block - 1) >> 63),
                _ => (0, 0),
            };
            self.shift_remainders_up(block, lowest % SLOTS, highest % SLOTS);
            self.set_remainder(lowest, carried);
            let region = bits(lowest % SLOTS, highest % SLOTS);
            let runends = self.runends(block);
            let first = lowest % SLOTS;
            self.set_runends(block, runends & !region | (runends << 1 & region & !(1 << first)) | runend << first);
        }
    }

    /// Moves what the slots `from + 1..=to` hold one slot down; what `from` held is gone, and `to` is empty.
    pub(crate) fn shift_down(&mut self, from: u64, to: u64) {
        for block in from / SLOTS..=to / SLOTS {
            let lowest = from.max(block * SLOTS);
            let highest = to.min(block * SLOTS + SLOTS - 1);
            let (carried, runend) =
                if highest < to { (self.remainder(highest + 1), self.runends(block + 1) & 1) } else { (0, 0) };
            self.shift_remainders_down(block, lowest % SLOTS, highest % SLOTS);
            self.set_remainder(highest, carried);
            let region = bits(lowest % SLOTS, highest % SLOTS);
            let runends = self.runends(block);
            let last = highest % SLOTS;
            self.set_runends(block, runends & !region | (runends >> 1 & region & !(1 << last)) | runend << last);
        }
    }

    /// Within a block, slots `first..last` to `first + 1..=last`, a word of bits at a time. Leaves slot `first` undefined.
    fn shift_remainders_up(&mut self, block: u64, first: u64, last: u64) {
        let (base, width) = (self.base(block) + self.layout.remainders(), u64::from(self.layout.width));
        let (low, high) = (first * width, (last + 1) * width - 1);
        for word in (low / 64..=high / 64).rev() {
            let at = base + word as usize * 8;
            let below = if word > low / 64 { self.load(at - 8) >> (64 - width) } else { 0 };
            let old = self.load(at);
            let region = bits(low.max(word * 64) % 64, high.min(word * 64 + 63) % 64);
            self.store(at, old & !region | (old << width | below) & region);
        }
    }

    /// Within a block, slots `first + 1..=last` to `first..last`. Leaves slot `last` undefined.
    fn shift_remainders_down(&mut self, block: u64, first: u64, last: u64) {
        let (base, width) = (self.base(block) + self.layout.remainders(), u64::from(self.layout.width));
        let (low, high) = (first * width, (last + 1) * width - 1);
        for word in low / 64..=high / 64 {
            let at = base + word as usize * 8;
            let above = if word < high / 64 { self.load(at + 8) << (64 - width) } else { 0 };
            let old = self.load(at);
            let region = bits(low.max(word * 64) % 64, high.min(word * 64 + 63) % 64);
            self.store(at, old & !region | (old >> width | above) & region);
        }
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

    /// Three blocks with something everywhere.
    fn scribbled(width: u32, annex: Annex, rng: &mut SplitMix64) -> Blocks {
        let mut blocks = Blocks::new(3, Layout::new(width, annex)).unwrap();
        for slot in 0..192 {
            blocks.set_remainder(slot, rng.next() as u32);
            blocks.set_runend(slot, rng.next() & 1 == 1);
            blocks.set_occupied(slot, rng.next() & 1 == 1);
        }
        for block in 0..3 {
            blocks.set_offset(block, rng.next() as u8);
        }
        blocks
    }

    fn row(blocks: &Blocks) -> Vec<(u32, bool)> {
        (0..192).map(|slot| (blocks.remainder(slot), blocks.runends(slot / 64) >> (slot % 64) & 1 == 1)).collect()
    }

    #[test]
    fn shifting_moves_just_the_named_slots_at_every_width() {
        let mut rng = SplitMix64::from_state(1);
        for width in 2..=32 {
            for annex in [Annex::Nothing, Annex::Code, Annex::Bytes] {
                for _ in 0..40 {
                    let blocks = scribbled(width, annex, &mut rng);
                    let (a, b) = (rng.below(192), rng.below(192));
                    let (from, to) = (a.min(b), a.max(b));
                    let (mut up, mut down) = (blocks.clone(), blocks.clone());
                    up.shift_up(from, to);
                    down.shift_down(from, to);
                    let mut expected = row(&blocks);
                    expected.remove(to as usize);
                    expected.insert(from as usize, (0, false));
                    assert_eq!(row(&up), expected, "up, width {width}, {from}..{to}");
                    let mut expected = row(&blocks);
                    expected.remove(from as usize);
                    expected.insert(to as usize, (0, false));
                    assert_eq!(row(&down), expected, "down, width {width}, {from}..{to}");
                    for block in 0..3 {
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
        let before = (row(&coded), coded.offset(1), coded.occupieds(1));
        coded.set_code(1, (1 << 56) - 1);
        assert_eq!(coded.code(1), (1 << 56) - 1);
        coded.set_offset(1, before.1);
        assert_eq!((row(&coded), coded.offset(1), coded.occupieds(1)), before);
        assert_eq!((coded.code(0), coded.code(2)), (0, 0));

        let mut plain = scribbled(7, Annex::Bytes, &mut rng);
        let before = (row(&plain), plain.offset(2));
        plain.mark_bytes_mut(1).fill(255);
        assert_eq!((row(&plain), plain.offset(2)), before);
        assert_eq!([0, 1, 2].map(|block| plain.mark_bytes(block).to_vec()), [0, 255, 0].map(|mark| vec![mark; 64]));
    }

    #[cfg(feature = "count-words")]
    #[test]
    fn whatever_reads_or_writes_a_block_is_noted() {
        use crate::touched;
        type Access = (&'static str, fn(&mut Blocks), u64);
        // With the bytes that it goes over at least.
        let accesses: [Access; 15] = [
            ("offset", |blocks| _ = blocks.offset(1), 1),
            ("set_offset", |blocks| blocks.set_offset(1, 1), 1),
            ("code", |blocks| _ = blocks.code(1), 8),
            ("set_code", |blocks| blocks.set_code(1, 1), 8),
            ("occupieds", |blocks| _ = blocks.occupieds(1), 8),
            ("set_occupied", |blocks| blocks.set_occupied(64, true), 8),
            ("runends", |blocks| _ = blocks.runends(1), 8),
            ("set_runend", |blocks| blocks.set_runend(64, true), 8),
            ("remainder", |blocks| _ = blocks.remainder(64), 1),
            ("remainders", |blocks| _ = blocks.remainders(1).get(0), 1),
            ("set_remainder", |blocks| blocks.set_remainder(64, 1), 1),
            ("image", |blocks| _ = blocks.image(1), 80),
            ("restore", |blocks| blocks.restore(1, &[0; 80]), 80),
            ("shift_up", |blocks| blocks.shift_up(64, 191), 2 * (8 + 56)),
            ("shift_down", |blocks| blocks.shift_down(64, 191), 2 * (8 + 56)),
        ];
        let mut coded = Blocks::new(3, Layout::new(7, Annex::Code)).unwrap();
        for (name, access, bytes) in accesses {
            touched::reset();
            access(&mut coded);
            assert!(touched::words() * 8 >= bytes, "{name}: {} words", touched::words());
        }
        let mut plain = Blocks::new(3, Layout::new(7, Annex::Bytes)).unwrap();
        let marks: [fn(&mut Blocks); 2] = [|blocks| _ = blocks.mark_bytes(1), |blocks| _ = blocks.mark_bytes_mut(1)];
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
