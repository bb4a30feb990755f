//! The code for strings of hash bits (appendix C.4): what an extension filter adds to a fingerprint.

use super::{GAP, Mark, Model, Part, tuned};

/// The distance between a string's letter and that of the same string with one more skip: the empty string, those of 1 to
/// 10 bits, and one more.
const STRIDE: u32 = 2 << ExtensionMark::MAX_LEN;

/// A string of hash bits as a letter: `skips` times ten bits that are ignored, then `len` bits.
///
/// The strings are numbered by length and then by value, '' 0 1 00 01 10 … as 0, 1, 2, 3, …, and a skip adds 2048. The
/// first bit of a string is its most significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExtensionMark {
    skips: u32,
    len: u32,
    bits: u32,
}

impl ExtensionMark {
    /// The longest string without a skip, and the number of bits in a skip.
    pub(crate) const MAX_LEN: u32 = 10;
    /// The most skips.
    pub(crate) const MAX_SKIPS: u32 = 3;

    /// `None` if there is no such letter: more than 3 skips, more than 10 bits, a value that does not fit into its bits, or
    /// a skip before the empty string, which would mean nothing.
    pub(crate) fn new(skips: u32, len: u32, bits: u32) -> Option<ExtensionMark> {
        let possible = skips <= ExtensionMark::MAX_SKIPS
            && len <= ExtensionMark::MAX_LEN
            && bits >> len == 0
            && (len > 0 || skips == 0);
        possible.then_some(ExtensionMark { skips, len, bits })
    }

    /// The string of a letter, if there is one.
    #[inline]
    pub(crate) fn from_mark(mark: Mark) -> Option<ExtensionMark> {
        let (skips, letter) = (u32::from(mark) / STRIDE, u32::from(mark) % STRIDE);
        let len = (letter + 1).ilog2();
        ExtensionMark::new(skips, len, letter + 1 - (1 << len))
    }

    /// The letter of the string.
    #[inline]
    pub(crate) fn mark(self) -> Mark {
        (self.skips * STRIDE + (1 << self.len) - 1 + self.bits) as Mark
    }

    /// The number of skips, of ten ignored bits each.
    pub(crate) fn skips(self) -> u32 {
        self.skips
    }

    /// The number of bits compared after the skips.
    pub(crate) fn len(self) -> u32 {
        self.len
    }

    /// The value of those bits.
    pub(crate) fn bits(self) -> u32 {
        self.bits
    }
}

/// Zero gets the same part as in [`Tuned`](super::Tuned). Of the rest, length l gets 2^−l, in 2^l equal pieces.
///
/// So a string of l bits costs 2l bits beyond the 2.2 of not being empty: one per bit for the length, one per bit for the
/// value. The paper ends there. If the first bits are known to be shared, only the first differing one matters, and the
/// values of those before it need not be kept. So what the lengths 1 to 10 leave over, 2^−10 of the rest, is divided again
/// in the same way among the strings after ten skipped bits, at one bit per bit.
///
/// As in the general code the lengths' parts end where the range ends: length l after s skips begins `rest >> (10s + l − 1)`
/// below it. Truncation leaves gaps between the lengths, above the pieces of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extensions;

impl Extensions {
    /// The width of each string of `len` bits after `skips`.
    #[inline(always)]
    fn piece(rest: u64, skips: u32, len: u32) -> u64 {
        rest >> (ExtensionMark::MAX_LEN * skips + 2 * len)
    }
}

impl Model for Extensions {
    #[inline(always)]
    fn zero(&self, range: u64) -> u64 {
        tuned::zero(range)
    }

    fn part(&self, range: u64, mark: Mark) -> Option<Part> {
        let zero = tuned::zero(range);
        let ExtensionMark { skips, len, bits } = ExtensionMark::from_mark(mark)?;
        let part = if len == 0 {
            Part { low: 0, width: zero }
        } else {
            let rest = range - zero;
            let width = Self::piece(rest, skips, len);
            Part { low: range - (rest >> (ExtensionMark::MAX_LEN * skips + len - 1)) + u64::from(bits) * width, width }
        };
        (part.width > 0).then_some(part)
    }

    #[inline]
    fn letter(&self, range: u64, at: u64) -> (Mark, Part) {
        let zero = tuned::zero(range);
        if at < zero {
            return (0, Part { low: 0, width: zero });
        }
        if at >= range {
            return GAP;
        }
        let (rest, above) = (range - zero, range - at);
        // The halvings of the rest until it is below `above`, which is from 1 to the rest: as many as there are bits
        // between them, or one more.
        let halvings = above.leading_zeros() - rest.leading_zeros();
        let depth = halvings + u32::from(above <= rest >> halvings);
        let skips = (depth - 1) / ExtensionMark::MAX_LEN;
        let len = depth - ExtensionMark::MAX_LEN * skips;
        let width = Self::piece(rest, skips, len);
        if skips > ExtensionMark::MAX_SKIPS || width == 0 {
            return GAP;
        }
        let low = range - (rest >> (depth - 1));
        let bits = (at - low) / width;
        match ExtensionMark::new(skips, len, bits.min(u64::from(STRIDE)) as u32) {
            Some(string) => (string.mark(), Part { low: low + bits * width, width }),
            None => GAP,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{WHOLE, encode};

    #[test]
    fn every_letter_is_one_string_and_every_string_one_letter() {
        let mut letters = 0;
        for mark in 0..=Mark::MAX {
            let Some(string) = ExtensionMark::from_mark(mark) else { continue };
            assert_eq!(string.mark(), mark);
            assert_eq!(ExtensionMark::new(string.skips(), string.len(), string.bits()), Some(string));
            letters += 1;
        }
        assert_eq!(letters, 1 + 4 * 2046);
        let spelled = |skips, len, bits| ExtensionMark::new(skips, len, bits).map(ExtensionMark::mark);
        assert_eq!(spelled(0, 0, 0), Some(0));
        assert_eq!([spelled(0, 1, 0), spelled(0, 1, 1), spelled(0, 2, 0), spelled(0, 2, 1)], [1, 2, 3, 4].map(Some));
        assert_eq!(spelled(0, 10, 1023), Some(2046));
        assert_eq!(spelled(2, 1, 1), Some(2 * 2048 + 2));
    }

    #[test]
    fn invalid_strings_are_refused() {
        for (skips, len, bits) in [(4, 1, 0), (1, 0, 0), (0, 11, 0), (0, 0, 1), (0, 3, 8), (0, 10, 1024), (9, 99, 0)] {
            assert_eq!(ExtensionMark::new(skips, len, bits), None, "{skips} skips, {len} bits, {bits}");
        }
        for mark in [2047, 2048, 4095, 4096, 6144, 8191, 8192, Mark::MAX] {
            assert_eq!(ExtensionMark::from_mark(mark), None, "{mark}");
            assert_eq!(Extensions.part(WHOLE, mark), None, "{mark}");
        }
    }

    #[test]
    fn a_bit_costs_two_bits_and_a_skipped_bit_one() {
        let cost = |skips, len| {
            let part = Extensions.part(WHOLE, ExtensionMark::new(skips, len, 0).unwrap().mark()).unwrap();
            (WHOLE as f64 / part.width as f64).log2()
        };
        let nonzero = -(1.0 - 0.78125f64).log2();
        for (skips, len) in [(0, 1), (0, 2), (0, 10), (1, 1), (2, 5), (3, 3), (3, 10)] {
            let expected = nonzero + f64::from(10 * skips + 2 * len);
            assert!(
                (cost(skips, len) - expected).abs() < 0.2,
                "{skips} skips and {len} bits cost {}",
                cost(skips, len)
            );
        }
    }

    #[test]
    fn saved_codes_of_known_blocks_do_not_change() {
        let mut marks = [0; 64];
        marks[0] = 1;
        assert_eq!(encode(&Extensions, &marks), Some(25 << 51));
        for (slot, mark) in [(7, 2), (9, 5), (20, 2048 + 1), (63, 1)] {
            marks[slot] = mark;
        }
        assert_eq!(encode(&Extensions, &marks), Some(57_079_180_655_582_861));
    }
}
