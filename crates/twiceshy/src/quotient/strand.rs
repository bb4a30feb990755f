//! The hash bits of a key after its quotient.

use super::numbers::Quotient;
use crate::hash::{HashKey, Words, reduce};

/// A key as the quotient family sees it: the quotient from hash word 0, then an endless string of bits, the words 1, 2, …
/// one after the other, each from its lowest bit on.
#[derive(Clone, Debug)]
pub struct Strand<'k> {
    words: Words<'k>,
    /// Word 1, which nearly every access needs.
    first: u64,
    /// The number of the word before the first.
    base: u64,
}

impl<'k> Strand<'k> {
    #[inline(always)]
    pub(crate) fn new(words: Words<'k>) -> Strand<'k> {
        Strand::behind(words, 0)
    }

    /// The string of a key whose word 1 is known.
    #[inline(always)]
    pub(crate) fn with_first(words: Words<'k>, first: u64) -> Strand<'k> {
        Strand { words, first, base: 0 }
    }

    /// The string that begins after word number `base`.
    #[inline(always)]
    pub(crate) fn behind(words: Words<'k>, base: u64) -> Strand<'k> {
        Strand { words, first: words.word(base + 1), base }
    }

    pub(crate) fn of(hash: &HashKey, key: &'k [u8]) -> Strand<'k> {
        Strand::new(hash.words(key))
    }

    /// The first 64 bits.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    fn word(&self, index: u64) -> u64 {
        if index == 0 { self.first } else { self.words.word(self.base + index + 1) }
    }

    /// `len` bits (at most 32) from bit `at` on, the first of them lowest.
    #[inline]
    pub(crate) fn bits(&self, at: u64, len: u32) -> u32 {
        let (word, bit) = (at / 64, (at % 64) as u32);
        let mut bits = self.word(word) >> bit;
        if bit + len > 64 {
            bits |= self.word(word + 1) << (64 - bit);
        }
        (bits & ((1 << len) - 1)) as u32
    }

    /// Remainder number `index`: the string cut into pieces of `width` bits (004 section 3).
    #[inline]
    pub(crate) fn remainder(&self, width: u32, index: u64) -> u32 {
        self.bits(index * u64::from(width), width)
    }
}

/// The quotient that a hash word leads to: its high bits decide, whatever the number of slots.
#[inline(always)]
pub(crate) fn quotient_of(word: u64, slots: u64) -> Quotient {
    Quotient(reduce(word, slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remainders_are_the_pieces_of_one_string_and_never_repeat_bits() {
        let hash = HashKey::fixed(3);
        let words = hash.words(b"heron");
        let bit = |at: u64| (words.word(1 + at / 64) >> (at % 64) & 1) as u32;
        for width in 2..=32u32 {
            let strand = Strand::of(&hash, b"heron");
            for index in 0..40u64 {
                let first = index * u64::from(width);
                let expected = (0..width).map(|i| bit(first + u64::from(i)) << i).sum::<u32>();
                assert_eq!(strand.remainder(width, index), expected, "width {width}, remainder {index}");
            }
        }
    }
}
