//! What 64 slots have learned, in 56 bits: an arithmetic code (Lee, McCauley, Singh and Stein, appendix C).
//!
//! Most slots have learned nothing, and encoding that must cost much less than a bit. An arithmetic code can do this: each
//! letter narrows an interval to a part of it, wide for likely letters and narrow for unlikely ones, and the code is a
//! number in the last interval.
//!
//! ```text
//!   0                                                             2^56
//!   ├──────────────────────── 0 ───────────────────────┬─── 1 ───┬─┤    the first slot's letter
//!   ├────────────────── 0 ──────────────────┬─── 1 ──┬─┤                the second's, inside the part of the first's 0
//! ```
//!
//! The stored number is the low end of the last interval. Zeros lie at the bottom, so they add nothing to it: the code of
//! 64 zeros is 0, and after its last nonzero letter nothing is left of a code. [`Reader`] uses both.
//!
//! A [`Model`] assigns the parts to letters, in integers and shifts, so that encoder and decoder agree to the last bit.

mod choose;
mod extensions;
mod general;
mod reader;
#[cfg(test)]
mod tests;
mod tuned;
mod zeros;

pub(crate) use choose::general_for;
pub(crate) use extensions::{ExtensionMark, Extensions};
pub(crate) use general::General;
pub(crate) use reader::Reader;
pub(crate) use tuned::Tuned;
pub(crate) use zeros::Zeros;

/// The number of slots that share a code.
pub(crate) const SLOTS: usize = 64;
/// A letter: 0 = nothing learned.
pub(crate) type Mark = u16;
/// The letters of a block.
pub(crate) type Marks = [Mark; SLOTS];
/// The bits of a code.
pub(crate) const CODE_BITS: u32 = 56;
/// Values from here on are never codes. The table uses them for other purposes.
pub(crate) const ESCAPE: u64 = (1 << CODE_BITS) - (1 << 25);
/// The range before the first letter.
const WHOLE: u64 = 1 << CODE_BITS;

/// A letter's part of a range: `low..low + width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) low: u64,
    pub(crate) width: u64,
}

/// How a value in no letter's part is read: a zero that leaves no range, so that zeros follow. No letters encode to such a
/// value, and a loader detects it by encoding what it decoded.
const GAP: (Mark, Part) = (0, Part { low: 0, width: 0 });

/// How a range is divided among the letters.
///
/// The parts of different letters are disjoint and inside the range. Letter 0 has a part of every range from 1 on: an
/// exhausted range still holds zeros.
pub(crate) trait Model: Clone {
    /// The part of letter 0, at the bottom of the range.
    fn zero(&self, range: u64) -> u64;
    /// A letter's part; `None` if the letter is outside the alphabet or its part would be empty.
    fn part(&self, range: u64, mark: Mark) -> Option<Part>;
    /// The letter whose part holds `at`, or [`GAP`] if none does. The part's low end is never above `at`. Defined for all
    /// arguments, since `at` and `range` may come from a hostile file.
    fn letter(&self, range: u64, at: u64) -> (Mark, Part);
}

/// The code of a block's letters; `None` if they need more than 56 bits.
pub(crate) fn encode<M: Model>(model: &M, marks: &Marks) -> Option<u64> {
    let (mut low, mut range) = (0, WHOLE);
    for mark in marks {
        let part = model.part(range, *mark)?;
        low += part.low;
        range = part.width;
    }
    (low < ESCAPE).then_some(low)
}

/// The letters of a block, read one by one. [`Reader`] is faster for a few of them.
pub(crate) fn decode<M: Model>(model: &M, code: u64) -> Marks {
    let (mut at, mut range) = (code, WHOLE);
    let mut marks = [0; SLOTS];
    for mark in &mut marks {
        let (letter, part) = model.letter(range, at);
        *mark = letter;
        at -= part.low;
        range = part.width;
    }
    marks
}
