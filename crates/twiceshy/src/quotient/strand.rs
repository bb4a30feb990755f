//! The hash bits of a key after its quotient.

use super::numbers::Quotient;
use crate::hash::{HashKey, Words, reduce};

/// Where a filter's strings begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// With the lowest 24 bits of word 0, then the words 1, 2, … The high bits of word 0 decide the quotient, so that one word
    /// is enough for most look-ups. In a table of 2^32 slots, 2^32 words lead to a quotient, and their lowest 24 bits are
    /// as good as independent of it.
    Shared,
    /// With word 1: filters that were saved before there were shared heads.
    Apart,
}

impl Head {
    /// The number of bits that word 0 gives to the string.
    #[inline(always)]
    pub(crate) const fn bits(self) -> u32 {
        match self {
            Head::Shared => 24,
            Head::Apart => 0,
        }
    }
}

/// A key as the quotient family sees it: the quotient from hash word 0, then an endless string of bits. A [`Head`] says where it
/// begins; the words 1, 2, … follow one after the other, each from its lowest bit on.
#[derive(Clone, Debug)]
pub struct Strand<'k> {
    words: Words<'k>,
    /// The bits before the first whole word, and how many they are.
    head: u64,
    head_bits: u32,
    /// The number of the first whole word.
    base: u64,
}

impl<'k> Strand<'k> {
    #[inline(always)]
    pub(crate) fn new(words: Words<'k>, head: Head) -> Strand<'k> {
        Strand::with_word(words, head, words.word(0))
    }

    /// The string of a key whose word 0 is known.
    #[inline(always)]
    pub(crate) fn with_word(words: Words<'k>, head: Head, word: u64) -> Strand<'k> {
        Strand { words, head: word & ((1 << head.bits()) - 1), head_bits: head.bits(), base: 1 }
    }

    /// The string that begins after word number `base`.
    #[inline(always)]
    pub(crate) fn behind(words: Words<'k>, base: u64) -> Strand<'k> {
        Strand { words, head: 0, head_bits: 0, base: base + 1 }
    }

    pub(crate) fn of(hash: &HashKey, key: &'k [u8], head: Head) -> Strand<'k> {
        Strand::new(hash.words(key), head)
    }

    /// The first 64 bits.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        self.head | self.words.word(self.base) << self.head_bits
    }

    /// `len` bits (at most 32) from bit `at` on, the first of them lowest.
    #[inline]
    pub(crate) fn bits(&self, at: u64, len: u32) -> u32 {
        let mask = (1 << len) - 1;
        let Some(at) = at.checked_sub(self.head_bits.into()) else {
            let mut bits = self.head >> at;
            let left = self.head_bits - at as u32;
            if len > left {
                bits |= self.words.word(self.base) << left;
            }
            return (bits & mask) as u32;
        };
        let (word, bit) = (self.base + at / 64, (at % 64) as u32);
        let mut bits = self.words.word(word) >> bit;
        if bit + len > 64 {
            bits |= self.words.word(word + 1) << (64 - bit);
        }
        (bits & mask) as u32
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
        let word_bit = |at: u64| (words.word(at / 64) >> (at % 64) & 1) as u32;
        for (head, bits) in [(Head::Shared, 24), (Head::Apart, 0)] {
            let bit = |at: u64| if at < bits { word_bit(at) } else { word_bit(at - bits + 64) };
            for width in 2..=32u32 {
                let strand = Strand::of(&hash, b"heron", head);
                for index in 0..40u64 {
                    let first = index * u64::from(width);
                    let expected = (0..width).map(|i| bit(first + u64::from(i)) << i).sum::<u32>();
                    assert_eq!(strand.remainder(width, index), expected, "{head:?}, width {width}, remainder {index}");
                }
                assert!((0..64).all(|at| (strand.first() >> at & 1) as u32 == bit(at)), "{head:?}");
            }
        }
    }

    /// A bias would show here: the quotients of a small table, and what is left of word 0.
    #[test]
    fn a_shared_head_is_independent_of_the_quotient() {
        let hash = HashKey::fixed(4);
        let mut seen = [0u32; 256];
        for i in 0..256_000u64 {
            let bytes = i.to_le_bytes();
            let words = hash.words(&bytes);
            let Quotient(quotient) = quotient_of(words.word(0), 16);
            seen[(quotient * 16) as usize + Strand::new(words, Head::Shared).remainder(4, 0) as usize] += 1;
        }
        let chi_square: f64 = seen.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!((165.0..345.0).contains(&chi_square), "{chi_square}");
    }
}
