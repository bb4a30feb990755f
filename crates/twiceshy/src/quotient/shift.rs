//! Moving the numbers of neighbouring slots by one slot, a word at a time.

use super::block::SLOTS;
use std::ops::Range;

/// A move within the 64 numbers of a block, of `width` bits each, that lie close together.
pub(crate) struct Shift {
    width: u64,
    /// The first and the last bit that belong to a slot of the move.
    low: u64,
    high: u64,
}

impl Shift {
    /// A move between slots of one block, from the first to the last.
    pub(crate) fn new(width: u32, slots: Range<u64>) -> Shift {
        let width = u64::from(width);
        let (first, last) = (slots.start % SLOTS, (slots.end - 1) % SLOTS);
        Shift { width, low: first * width, high: (last + 1) * width - 1 }
    }

    /// The bytes that it goes over, whole words, counted from the first number's.
    pub(crate) fn bytes(&self) -> Range<usize> {
        self.low as usize / 64 * 8..(self.high as usize / 64 + 1) * 8
    }

    /// The bits of a word that belong to the move.
    fn region(&self, word: u64) -> u64 {
        let (first, last) = (self.low.max(word * 64) % 64, self.high.min(word * 64 + 63) % 64);
        (u64::MAX << first) & (u64::MAX >> (63 - last))
    }

    /// Each number but the last moves one slot up. The first slot is undefined then.
    pub(crate) fn up(&self, bytes: &mut [u8]) {
        let (words, _) = bytes.as_chunks_mut();
        for at in (0..words.len()).rev() {
            let below = at.checked_sub(1).map_or(0, |last| u64::from_le_bytes(words[last]) >> (64 - self.width));
            let old = u64::from_le_bytes(words[at]);
            let region = self.region(self.low / 64 + at as u64);
            words[at] = (old & !region | (old << self.width | below) & region).to_le_bytes();
        }
    }

    /// Each number but the first moves one slot down. The last slot is undefined then.
    pub(crate) fn down(&self, bytes: &mut [u8]) {
        let (words, _) = bytes.as_chunks_mut();
        for at in 0..words.len() {
            let above = words.get(at + 1).map_or(0, |next| u64::from_le_bytes(*next) << (64 - self.width));
            let old = u64::from_le_bytes(words[at]);
            let region = self.region(self.low / 64 + at as u64);
            words[at] = (old & !region | (old >> self.width | above) & region).to_le_bytes();
        }
    }
}

/// The slots of a range by their blocks, from below.
pub(crate) fn by_block(slots: Range<u64>) -> impl DoubleEndedIterator<Item = (u64, Range<u64>)> {
    let blocks = slots.start / SLOTS..slots.end.div_ceil(SLOTS);
    blocks.map(move |block| (block, slots.start.max(block * SLOTS)..slots.end.min((block + 1) * SLOTS)))
}
