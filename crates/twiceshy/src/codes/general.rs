//! The code for remainders of any width (appendix C.3): a geometric tail below a likely zero, in two parameters.

use super::{GAP, Mark, Model, Part};

/// P(0) = 1 − 2^−x, and P(i) = 2^−x · (1 − 2^−y) · 2^(−y(i − 1)) for the others. (The paper prints the last exponent
/// without its sign.) The last letter gets all that is left.
///
/// Every part is a difference of two tails, and the tails end where the range ends:
///
/// ```text
///   ├──────────── 0 ────────────┬────── 1 ──────┬── 2 ──┬ 3 ┤
///                               ├─── range >> x ────────────┤
///                                               ├ >> x + y ─┤
/// ```
///
/// so nothing is lost between the letters, and truncation favours the more likely one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct General {
    x: u32,
    y: u32,
    letters: u32,
}

impl General {
    /// `None` unless x is 2 to 16, y 1 to 32, and there are 2 to 256 letters. An x of 1 halves the range with every zero,
    /// and 64 zeros would not fit.
    pub(crate) fn new(x: u32, y: u32, letters: u32) -> Option<General> {
        let possible = (2..=16).contains(&x) && (1..=32).contains(&y) && (2..=256).contains(&letters);
        possible.then_some(General { x, y, letters })
    }

    /// The nearest possible parameters.
    pub(super) fn clamped(x: u32, y: u32, letters: u32) -> General {
        General { x: x.clamp(2, 16), y: y.clamp(1, 32), letters: letters.clamp(2, 256) }
    }

    pub(crate) fn x(&self) -> u32 {
        self.x
    }

    pub(crate) fn y(&self) -> u32 {
        self.y
    }

    pub(crate) fn letters(&self) -> u32 {
        self.letters
    }

    /// The range that the letters from `mark` on share; `mark` is not 0.
    #[inline(always)]
    fn tail(&self, range: u64, mark: u32) -> u64 {
        range.checked_shr(self.x + self.y * (mark - 1)).unwrap_or(0)
    }

    /// The width of a letter whose tail is known.
    #[inline(always)]
    fn width(&self, tail: u64, mark: u32) -> u64 {
        if mark + 1 == self.letters { tail } else { tail - (tail >> self.y) }
    }
}

impl Model for General {
    #[inline(always)]
    fn zero(&self, range: u64) -> u64 {
        range - (range >> self.x)
    }

    fn part(&self, range: u64, mark: Mark) -> Option<Part> {
        let mark = u32::from(mark);
        let part = match mark {
            0 => Part { low: 0, width: self.zero(range) },
            _ if mark < self.letters => {
                let tail = self.tail(range, mark);
                Part { low: range - tail, width: self.width(tail, mark) }
            }
            _ => return None,
        };
        (part.width > 0).then_some(part)
    }

    #[inline]
    fn letter(&self, range: u64, at: u64) -> (Mark, Part) {
        let mut tail = range >> self.x;
        if at < range - tail {
            return (0, Part { low: 0, width: range - tail });
        }
        if at >= range {
            return GAP;
        }
        // `at` lies `above` below the range's end, and `above` is positive. The tails shrink to 0, so the loop ends.
        let above = range - at;
        let mut mark = 1;
        while mark + 1 < self.letters && above <= tail >> self.y {
            tail >>= self.y;
            mark += 1;
        }
        (mark as Mark, Part { low: range - tail, width: self.width(tail, mark) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{WHOLE, encode};

    #[test]
    fn parameters_outside_their_bounds_are_refused() {
        for (x, y, letters) in [(1, 4, 8), (17, 4, 8), (2, 0, 8), (2, 33, 8), (2, 4, 1), (2, 4, 257)] {
            assert_eq!(General::new(x, y, letters), None, "x {x}, y {y}, {letters} letters");
        }
        for (x, y, letters) in [(2, 1, 2), (16, 32, 256)] {
            let model = General::new(x, y, letters).unwrap();
            assert_eq!((model.x(), model.y(), model.letters()), (x, y, letters));
        }
    }

    #[test]
    fn the_parts_of_a_large_range_are_geometric_and_cover_it() {
        let model = General::new(2, 3, 5).unwrap();
        let share = |mark| model.part(WHOLE, mark).unwrap().width as f64 / WHOLE as f64;
        for (mark, expected) in [3.0 / 4.0, 7.0 / 32.0, 7.0 / 256.0, 7.0 / 2048.0, 1.0 / 2048.0].iter().enumerate() {
            assert_eq!(share(mark as Mark), *expected, "letter {mark}");
        }
        assert_eq!(model.part(WHOLE, 5), None);
    }

    #[test]
    fn saved_codes_of_known_blocks_do_not_change() {
        let model = General::new(3, 6, 10).unwrap();
        let mut marks = [0; 64];
        marks[0] = 1;
        assert_eq!(encode(&model, &marks), Some(7 << 53));
        for (slot, mark) in [(7, 1), (9, 2), (20, 1), (31, 3), (63, 1)] {
            marks[slot] = mark;
        }
        assert_eq!(encode(&model, &marks), Some(66_960_005_315_837_349));
    }
}
