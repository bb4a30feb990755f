//! Finds a code's first nonzero letter without reading the zeros before it.

use super::{CODE_BITS, Model, SLOTS, WHOLE};

/// The entries of the table; a byte each.
const STARTS: usize = 128;
/// The most bits after the leading one that the table may look at.
const MOST_FRACTION: u32 = 20;

/// The ranges while only zeros have been read. Computed once per filter.
///
/// Zeros lie at the bottom, so while only zeros have been read the low end is 0 and the range takes the same values in
/// every block: 2^56, then zero's part of that, and so on. Letter j is the first nonzero one exactly if the code is at or
/// above the range that a zero would leave, and below the one before it.
///
/// Finding j is a search in 65 decreasing numbers. A table indexed by the code's leading bits, as in a floating-point
/// number (the exponent, then the first bits after the leading one), gives the start. The number of bits is chosen so that
/// there are about as many table entries as ranges. So a step or two is left, whether a zero takes 3/4 of a range or all
/// but a sixty-fourth.
#[derive(Clone, Debug)]
pub(crate) struct Zeros {
    ranges: [u64; SLOTS + 1],
    starts: [u8; STARTS],
    fraction: u32,
    /// The key of the largest code, which has entry 0.
    top: u64,
}

/// The exponent and the first `fraction` bits after the leading one; `code` is not 0.
#[inline(always)]
fn key(code: u64, fraction: u32) -> u64 {
    let exponent = code.ilog2();
    (u64::from(exponent) << fraction) + (code << (63 - exponent) << 1 >> 1 >> (63 - fraction))
}

/// The largest code that has this key.
fn greatest(key: u64, fraction: u32) -> u64 {
    let (exponent, bits) = (key >> fraction, key & ((1 << fraction) - 1));
    (((1 << fraction) + bits + 1) << (exponent as u32).saturating_sub(fraction)) - 1
}

impl Zeros {
    pub(crate) fn new<M: Model>(model: &M) -> Zeros {
        let mut ranges = [WHOLE; SLOTS + 1];
        for slot in 0..SLOTS {
            ranges[slot + 1] = model.zero(ranges[slot]);
        }
        let least = ranges[SLOTS].max(1);
        let keys = |fraction| key(WHOLE - 1, fraction) - key(least, fraction) + 1;
        let fraction = (0..=MOST_FRACTION).rev().find(|fraction| keys(*fraction) <= STARTS as u64).unwrap_or(0);
        let top = key(WHOLE - 1, fraction);
        let mut starts = [0; STARTS];
        for (below, start) in starts.iter_mut().enumerate() {
            let code = greatest(top.saturating_sub(below as u64), fraction);
            *start = ranges[1..SLOTS].iter().take_while(|range| code < **range).count() as u8;
        }
        Zeros { ranges, starts, fraction, top }
    }

    /// The position of the first nonzero letter; 64 if all letters are zero.
    #[inline]
    pub(crate) fn first_nonzero(&self, code: u64) -> usize {
        if code < self.ranges[SLOTS] {
            return SLOTS;
        }
        // The code is not 0 from here on, since the last range is at least 1. A hostile code that is too large gets the
        // first entry.
        let below = self.top.saturating_sub(key(code | 1, self.fraction)) as usize;
        let mut slot = usize::from(self.starts[below.min(STARTS - 1)]);
        while slot + 1 < SLOTS && code < self.ranges[slot + 1] {
            slot += 1;
        }
        slot
    }

    /// The range before letter `slot` (0..=64), if all letters before it are zeros.
    #[inline]
    pub(crate) fn range_at(&self, slot: usize) -> u64 {
        self.ranges[slot.min(SLOTS)]
    }

    /// A lower bound for what `count` more zeros (1..=64) leave of a range, which need not come from zeros alone. A code
    /// below it has only zeros there, and they need not be read.
    ///
    /// Let z be zero's share. A zero takes between z·r − 3 and z·r + 1 of a range r, whatever the model: the tuned one drops
    /// less than 1 from each of three terms, the general one gains less than 1. After k zeros that is more than z^k·r − 3/(1 −
    /// z), and `ranges[k]` is less than z^k·2^56 + 1/(1 − z), where 1/(1 − z) is 2^16 at most. So the product of r and
    /// `ranges[k]`/2^56 is less than 4·2^16 too great.
    #[inline(always)]
    pub(crate) fn left_at_least(&self, range: u64, count: usize) -> u64 {
        let share = self.ranges[count.min(SLOTS)] << (64 - CODE_BITS);
        (((u128::from(range) * u128::from(share)) >> 64) as u64).saturating_sub(SLACK)
    }
}

/// What [`Zeros::left_at_least`] subtracts for rounding.
const SLACK: u64 = 1 << 18;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{Extensions, General, Tuned};
    use crate::rng::SplitMix64;

    /// Compares with a search from the start, at every border and at random. Returns the most steps after the table.
    fn compare<M: Model>(model: &M) -> usize {
        let zeros = Zeros::new(model);
        let mut random = SplitMix64::from_state(9);
        let mut codes = vec![0, 1, 2, WHOLE - 1, WHOLE, WHOLE + 1, u64::MAX];
        codes.extend((0..64).flat_map(|bit| [1 << bit, (1 << bit) - 1, (1 << bit) + 1]));
        for range in zeros.ranges {
            codes.extend([range - 1, range, range + 1]);
        }
        codes.extend((0..20_000).map(|_| random.next() >> 8 >> (random.next() % 30)));
        let mut most = 0;
        for code in codes {
            let expected = (0..SLOTS).find(|slot| code >= zeros.ranges[slot + 1]).unwrap_or(SLOTS);
            assert_eq!(zeros.first_nonzero(code), expected, "code {code:#x}");
            if expected < SLOTS {
                let start = zeros.starts[zeros.top.saturating_sub(key(code, zeros.fraction)) as usize];
                most = most.max(expected - usize::from(start));
            }
        }
        most
    }

    #[test]
    fn the_first_nonzero_letter_is_found_in_at_most_three_steps_for_every_model() {
        assert!(compare(&Tuned) <= 3);
        assert!(compare(&Extensions) <= 3);
        for x in 2..=16 {
            let steps = compare(&General::new(x, 4, 8).unwrap());
            assert!(steps <= 3, "{steps} steps at x = {x}");
        }
    }

    #[test]
    fn left_at_least_is_a_tight_lower_bound() {
        fn check<M: Model>(model: &M) {
            let zeros = Zeros::new(model);
            let mut random = crate::rng::SplitMix64::from_state(12);
            for _ in 0..3_000 {
                let begin = random.next() >> 8 >> random.below(56);
                let mut range = begin.max(1);
                for count in 1..=SLOTS {
                    range = model.zero(range);
                    let said = zeros.left_at_least(begin.max(1), count);
                    assert!(said <= range, "{said} of {begin} after {count} zeros, which leave {range}");
                    assert!(said + 2 * SLACK >= range, "{said} of {begin} after {count} zeros, which leave {range}");
                }
            }
        }
        check(&Tuned);
        check(&Extensions);
        for x in 2..=16 {
            check(&General::new(x, 3, 8).unwrap());
        }
    }

    #[test]
    fn sixty_four_zeros_leave_a_range_in_every_model() {
        assert!(Zeros::new(&Tuned).range_at(SLOTS) > 1 << 33);
        assert!(Zeros::new(&General::new(2, 1, 2).unwrap()).range_at(SLOTS) > 1 << 29);
        assert_eq!(Zeros::new(&Tuned).range_at(0), WHOLE);
    }
}
