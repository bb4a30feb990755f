//! Moves packed numbers by one slot, a word at a time.

use super::numbers::Slot;
use std::ops::Range;

/// A move within the 64 packed numbers of a block, of `width` bits each.
pub(crate) struct Shift {
    width: u64,
    /// The first and the last bit of the slots that take part.
    low: u64,
    high: u64,
}

impl Shift {
    /// A move between slots of one block, from the first to the last.
    pub(crate) fn new(width: u32, slots: Range<Slot>) -> Shift {
        let width = u64::from(width);
        let (first, last) = (slots.start.at(), slots.end.before().at());
        Shift { width, low: first * width, high: (last + 1) * width - 1 }
    }

    /// The bytes touched, in whole words, relative to the first number.
    pub(crate) fn bytes(&self) -> Range<usize> {
        self.low as usize / 64 * 8..(self.high as usize / 64 + 1) * 8
    }

    /// The bits of a word that take part.
    fn region(&self, word: u64) -> u64 {
        let (first, last) = (self.low.max(word * 64) % 64, self.high.min(word * 64 + 63) % 64);
        (u64::MAX << first) & (u64::MAX >> (63 - last))
    }

    /// Moves each number except the last one slot up. The first slot is then undefined.
    pub(crate) fn up(&self, bytes: &mut [u8]) {
        let (words, _) = bytes.as_chunks_mut();
        for at in (0..words.len()).rev() {
            let below = at.checked_sub(1).map_or(0, |last| u64::from_le_bytes(words[last]) >> (64 - self.width));
            let old = u64::from_le_bytes(words[at]);
            let region = self.region(self.low / 64 + at as u64);
            words[at] = (old & !region | (old << self.width | below) & region).to_le_bytes();
        }
    }

    /// Moves each number except the first one slot down. The last slot is then undefined.
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
