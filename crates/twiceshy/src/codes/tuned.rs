//! The code that the paper tuned for remainders of 8 bits (appendix C.2): seven letters, each probability a few shifts.

use super::{GAP, Mark, Model, Part};

/// The paper's shifts.
///
/// They sum to 0.99959, and the last letter gets the rest: 2^−11.3 of the range, more than letters 4 (2^−13.7) and 5
/// (2^−18.3) have together. This follows the paper as printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tuned;

/// 1/2 + 1/4 + 1/32 of the range. All of a range of 1: there the paper's sum is 0, and even a zero would overflow.
#[inline(always)]
pub(super) fn zero(range: u64) -> u64 {
    ((range >> 1) + (range >> 2) + (range >> 5)) | u64::from(range == 1)
}

impl Tuned {
    const LAST: Mark = 6;
    /// The number of letters.
    pub(crate) const LETTERS: u32 = Self::LAST as u32 + 1;

    /// The width of the letters 1 to 5.
    #[inline(always)]
    fn width(range: u64, mark: Mark) -> u64 {
        match mark {
            1 => (range >> 3) + (range >> 4) + (range >> 7) + (range >> 9),
            2 => (range >> 6) + (range >> 8),
            3 => (range >> 10) + (range >> 11),
            4 => (range >> 14) + (range >> 16),
            _ => (range >> 19) + (range >> 20) + (range >> 23),
        }
    }
}

impl Model for Tuned {
    #[inline(always)]
    fn zero(&self, range: u64) -> u64 {
        zero(range)
    }

    fn part(&self, range: u64, mark: Mark) -> Option<Part> {
        let zero = zero(range);
        let part = match mark {
            0 => Part { low: 0, width: zero },
            1..=Self::LAST => {
                let low = zero + (1..mark).map(|below| Self::width(range, below)).sum::<u64>();
                let width = if mark == Self::LAST { range - low } else { Self::width(range, mark) };
                Part { low, width }
            }
            _ => return None,
        };
        (part.width > 0).then_some(part)
    }

    #[inline]
    fn letter(&self, range: u64, at: u64) -> (Mark, Part) {
        let mut low = zero(range);
        if at < low {
            return (0, Part { low: 0, width: low });
        }
        for mark in 1..Self::LAST {
            let width = Self::width(range, mark);
            if at - low < width {
                return (mark, Part { low, width });
            }
            low += width;
        }
        if at < range { (Self::LAST, Part { low, width: range - low }) } else { GAP }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{WHOLE, encode};

    #[test]
    fn the_parts_of_a_large_range_are_the_papers_probabilities() {
        let share = |mark| Tuned.part(WHOLE, mark).map(|part| part.width as f64 / WHOLE as f64);
        let shares: Vec<f64> = (0..7).filter_map(share).collect();
        let printed = [0.78125, 0.197265625, 0.01953125, 0.00146484375, 7.62939453125e-5, 2.98023223877e-6];
        for (share, printed) in shares.iter().zip(printed) {
            assert!((share / printed - 1.0).abs() < 1e-9, "{share} {printed}");
        }
        assert!((shares[6] - 0.000_409_0).abs() < 1e-7, "what is left for letter 6 is {}", shares[6]);
        assert_eq!(share(7), None);
        assert_eq!(share(Mark::MAX), None);
    }

    #[test]
    fn saved_codes_of_known_blocks_do_not_change() {
        let mut marks = [0; 64];
        marks[0] = 1;
        assert_eq!(encode(&Tuned, &marks), Some(25 << 51));
        marks[0] = 0;
        marks[1] = 1;
        assert_eq!(encode(&Tuned, &marks), Some(625 << 46));
        for (slot, mark) in [(7, 1), (9, 2), (20, 1), (31, 3), (40, 1), (63, 6)] {
            marks[slot] = mark;
        }
        assert_eq!(encode(&Tuned, &marks), Some(46_993_517_056_958_485));
    }
}
