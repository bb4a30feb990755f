//! The adaptivity bits of 64 slots, packed in three words (001 section 5.1 and appendix A).
//!
//! A slot's string of l bits takes l zeros and a one in `ends`, and its bits, first one lowest, lie in `bits` after those
//! of the slots before it:
//!
//! ```text
//!   slot            0    1        2  3 …            strings: "", "10", "", "1" …
//!   ends, from bit 0  1    0 0 1    1  0 1 …
//!   bits, from bit 0       1 0         1 …
//! ```
//!
//! So the zeros of `ends` are the places of `bits`, and all strings can be compared with a query at once: put the bits
//! where the zeros are, and go from the strings' beginnings one bit at a time, dropping those that differ. The number of
//! steps is the length of the longest match, whatever the number of strings.

use crate::packed::word::Word64;

/// The number of strings.
pub(crate) const SLOTS: u32 = 64;

/// The maximum number of bits in all strings together.
const MOST_BITS: u32 = 64;

/// A string of up to 64 bits, the first one lowest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bits {
    pub(crate) len: u32,
    pub(crate) bits: u64,
}

impl Bits {
    pub(crate) const EMPTY: Bits = Bits { len: 0, bits: 0 };

    /// The first `len` bits of a query.
    pub(crate) fn prefix(query: u64, len: u32) -> Bits {
        let len = len.min(64);
        Bits { len, bits: query & low(len) }
    }

    pub(crate) fn is_prefix_of(self, query: u64) -> bool {
        (self.bits ^ query) & low(self.len) == 0
    }

    /// The length of the common prefix with a query.
    pub(crate) fn shared(self, query: u64) -> u32 {
        (self.bits ^ query).trailing_zeros().min(self.len)
    }
}

/// The strings of 64 slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strings {
    ends: u128,
    bits: u64,
}

#[inline(always)]
fn low(len: u32) -> u64 {
    u64::MAX.checked_shr(64 - len).unwrap_or(0)
}

#[inline(always)]
fn low_128(len: u32) -> u128 {
    u128::MAX.checked_shr(128 - len).unwrap_or(0)
}

#[inline(always)]
fn up(word: u128, by: u32) -> u128 {
    word.checked_shl(by).unwrap_or(0)
}

#[inline(always)]
fn down(word: u128, by: u32) -> u128 {
    word.checked_shr(by).unwrap_or(0)
}

impl Strings {
    /// 64 empty strings.
    pub(crate) const EMPTY: Strings = Strings { ends: u64::MAX as u128, bits: 0 };

    pub(crate) fn to_words(self) -> [u64; 3] {
        [self.ends as u64, (self.ends >> 64) as u64, self.bits]
    }

    /// The strings in three words; `None` if the words are invalid.
    pub(crate) fn from_words([first, second, bits]: [u64; 3]) -> Option<Strings> {
        let strings = Strings { ends: u128::from(second) << 64 | u128::from(first), bits };
        let whole = strings.ends.count_ones() == SLOTS && 128 - strings.ends.leading_zeros() - SLOTS <= MOST_BITS;
        (whole && bits & !low(strings.total()) == 0).then_some(strings)
    }

    /// The strings of words that [`Strings::to_words`] made; `None` for words without an end, which it never makes.
    #[inline]
    pub(crate) fn from_words_unchecked([first, second, bits]: [u64; 3]) -> Option<Strings> {
        (first | second != 0).then_some(Strings { ends: u128::from(second) << 64 | u128::from(first), bits })
    }

    /// Packs a list of 64 strings; `None` if their bits do not fit.
    pub(crate) fn pack<W: Word64>(list: &[Bits]) -> Option<Strings> {
        let mut strings = Strings::EMPTY;
        for (slot, string) in (0..SLOTS).zip(list) {
            strings.shift::<W>(slot, slot, *string)?;
        }
        Some(strings)
    }

    /// The number of bits of all strings together.
    pub(crate) fn total(&self) -> u32 {
        (128 - self.ends.leading_zeros()).saturating_sub(self.ends.count_ones())
    }

    /// The position of one number `nth` of `ends`.
    fn end<W: Word64>(&self, nth: u32) -> u32 {
        let (first, second) = (self.ends as u64, (self.ends >> 64) as u64);
        match W::select(first, nth) {
            64 => 64 + W::select(second, nth - W::ones(first)),
            at => at,
        }
    }

    /// The start of a slot's string in `ends`, and its length.
    fn place<W: Word64>(&self, slot: u32) -> (u32, u32) {
        let begin = if slot == 0 { 0 } else { self.end::<W>(slot - 1) + 1 };
        (begin, self.end::<W>(slot) - begin)
    }

    /// The string of a slot.
    pub(crate) fn get<W: Word64>(&self, slot: u32) -> Bits {
        let (begin, len) = self.place::<W>(slot);
        // There are `begin − slot` bits before it: the zeros, without the ends of the slots before.
        Bits { len, bits: self.bits.checked_shr(begin - slot).unwrap_or(0) & low(len) }
    }

    /// Removes a slot's string. The strings after it move down by one slot.
    fn take<W: Word64>(&mut self, slot: u32) -> Bits {
        let taken = self.get::<W>(slot);
        let (begin, len) = self.place::<W>(slot);
        let at = begin - slot;
        self.ends = self.ends & low_128(begin) | up(down(self.ends, begin + len + 1), begin);
        self.bits = self.bits & low(at) | self.bits.checked_shr(at + len).unwrap_or(0).checked_shl(at).unwrap_or(0);
        taken
    }

    /// Inserts a string before that of a slot. The strings from there on move up by one slot. There must be room for its
    /// bits.
    fn put<W: Word64>(&mut self, slot: u32, string: Bits) {
        let begin = if slot == 0 { 0 } else { self.end::<W>(slot - 1) + 1 };
        let at = begin - slot;
        let len = string.len;
        self.ends = self.ends & low_128(begin) | up(1, begin + len) | up(down(self.ends, begin), begin + len + 1);
        let above = self.bits.checked_shr(at).unwrap_or(0).checked_shl(at + len).unwrap_or(0);
        self.bits = self.bits & low(at) | string.bits.checked_shl(at).unwrap_or(0) | above;
    }

    /// Removes string number `from` and inserts another as number `to`. Those between move by one slot. Returns the removed
    /// string; `None` if the bits do not fit, and then nothing changes.
    pub(crate) fn shift<W: Word64>(&mut self, from: u32, to: u32, string: Bits) -> Option<Bits> {
        let mut changed = *self;
        let taken = changed.take::<W>(from);
        if changed.total() + string.len > MOST_BITS {
            return None;
        }
        changed.put::<W>(to, string);
        *self = changed;
        Some(taken)
    }

    /// The slots whose string is a prefix of the query, all at once (appendix A, Lemma 29).
    pub(crate) fn prefixes<W: Word64>(&self, query: u64) -> u64 {
        let (ends_first, ends_second) = (self.ends as u64, (self.ends >> 64) as u64);
        // The bits where the zeros of `ends` are.
        let first = W::deposit(self.bits, !ends_first);
        let zeros = 64 - W::ones(ends_first);
        let second = W::deposit(self.bits.checked_shr(zeros).unwrap_or(0), !ends_second);
        let bits = u128::from(second) << 64 | u128::from(first);
        let mut matched = 0;
        let mut at = (self.ends << 1 | 1) & low_128(128 - self.ends.leading_zeros());
        let mut query = query;
        while at != 0 {
            matched |= at & self.ends;
            let same = if query & 1 == 1 { bits } else { !bits };
            at = (at & !self.ends & same) << 1;
            query >>= 1;
        }
        let slots = W::extract(matched as u64, ends_first);
        slots | W::extract((matched >> 64) as u64, ends_second).checked_shl(64 - zeros).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packed::word::{Portable, Work, dispatch};
    use crate::rng::SplitMix64;

    /// Random strings with at most this many bits together, most of them short.
    fn drawn(rng: &mut SplitMix64, most: u32) -> Vec<Bits> {
        let mut left = most;
        let mut strings = vec![Bits::EMPTY; SLOTS as usize];
        for _ in 0..rng.below(200) {
            let slot = rng.below(64) as usize;
            let len = (rng.next() | 1 << 40).trailing_zeros().min(left);
            let len = if rng.below(50) == 0 { left } else { len };
            left = left + strings[slot].len - len.min(left + strings[slot].len);
            strings[slot] = Bits::prefix(rng.next(), len);
        }
        strings
    }

    fn packed<W: Word64>(strings: &[Bits]) -> Strings {
        let mut packed = Strings::EMPTY;
        for (slot, string) in (0..).zip(strings) {
            assert_eq!(packed.shift::<W>(slot, slot, *string), Some(Bits::EMPTY));
        }
        packed
    }

    fn unpacked<W: Word64>(strings: &Strings) -> Vec<Bits> {
        (0..SLOTS).map(|slot| strings.get::<W>(slot)).collect()
    }

    struct Compare;

    impl Work for Compare {
        type Output = ();

        #[inline(always)]
        fn run<W: Word64>(self) {
            let mut rng = SplitMix64::from_state(31);
            for round in 0..1_500 {
                let strings = drawn(&mut rng, 64);
                let mut packed = packed::<W>(&strings);
                assert_eq!(unpacked::<W>(&packed), strings, "round {round}");
                assert_eq!(packed.total(), strings.iter().map(|string| string.len).sum());
                assert_eq!(Strings::from_words(packed.to_words()), Some(packed));
                for query in [0, u64::MAX, rng.next(), strings[rng.below(64) as usize].bits | rng.next() << 9] {
                    let expected = (0..).zip(&strings).filter(|(_, string)| string.is_prefix_of(query));
                    let expected = expected.map(|(slot, _)| 1u64 << slot).sum::<u64>();
                    assert_eq!(packed.prefixes::<W>(query), expected, "{query:#x} round {round}");
                }
                let (a, b) = (rng.below(64) as u32, rng.below(64) as u32);
                let (first, last) = (a.min(b), a.max(b));
                let newcomer = Bits::prefix(rng.next(), rng.below(4) as u32);
                let mut expected = strings.clone();
                let up = rng.below(2) == 0;
                let (out, into) = if up { (last, first) } else { (first, last) };
                let taken = expected.remove(out as usize);
                expected.insert(into as usize, newcomer);
                let before = packed;
                let moved = packed.shift::<W>(out, into, newcomer);
                match moved {
                    Some(moved) => assert_eq!((moved, unpacked::<W>(&packed)), (taken, expected), "round {round}"),
                    None => {
                        assert!(expected.iter().map(|string| string.len).sum::<u32>() > 64, "round {round}");
                        assert_eq!(packed, before, "a refusal changed something");
                    }
                }
            }
        }
    }

    #[test]
    fn sixty_four_strings_agree_with_a_list_of_them_whatever_is_done() {
        Compare.run::<Portable>();
        dispatch(Compare);
    }

    #[test]
    fn one_string_may_have_all_the_bits_and_no_more() {
        for slot in [0, 1, 31, 62, 63] {
            let mut strings = Strings::EMPTY;
            let long = Bits::prefix(0xDEAD_BEEF_0BAD_CAFE, 64);
            assert_eq!(strings.shift::<Portable>(slot, slot, long), Some(Bits::EMPTY));
            assert_eq!(strings.get::<Portable>(slot), long);
            assert_eq!(strings.prefixes::<Portable>(long.bits), u64::MAX);
            assert_eq!(strings.prefixes::<Portable>(long.bits ^ 1 << 63), !(1 << slot));
            let other = (slot + 1) % 64;
            assert_eq!(strings.shift::<Portable>(other, other, Bits::prefix(1, 1)), None);
        }
    }

    #[test]
    fn words_that_are_no_strings_are_refused() {
        for words in [[0, 0, 0], [u64::MAX, 1, 0], [u64::MAX, 0, 1], [u64::MAX >> 1, 0, 0], [u64::MAX - 1, 1, 2]] {
            assert_eq!(Strings::from_words(words), None, "{words:x?}");
        }
        assert_eq!(Strings::from_words([u64::MAX, 0, 0]), Some(Strings::EMPTY));
    }
}
