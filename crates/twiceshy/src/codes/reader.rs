//! A few letters of a code, without reading them all.

use super::{Mark, Model, Part, SLOTS, Zeros};

/// Reads letters in ascending order of slots, on demand.
///
/// A look-up needs the letters of one run, a slot or two out of 64. The reader skips the rest in three ways. It jumps over
/// the zeros before the first nonzero letter ([`Zeros`]). It does not read the zeros up to the requested slot if the code
/// is too small for anything else. And after the last nonzero letter nothing is left of the code, so the remaining slots
/// are known to be zeros. In between, a zero takes one comparison.
#[derive(Clone, Debug)]
pub(crate) struct Reader<'a, M> {
    model: &'a M,
    zeros: &'a Zeros,
    /// What is left of the code, relative to the low end of the range.
    at: u64,
    range: u64,
    /// The next slot to read.
    next: usize,
    /// The letter of the slot before it, and of all slots before the first nonzero letter.
    last: Mark,
}

impl<'a, M: Model> Reader<'a, M> {
    #[inline]
    pub(crate) fn new(model: &'a M, zeros: &'a Zeros, code: u64) -> Self {
        Reader { model, zeros, at: code, range: zeros.range_at(0), next: 0, last: 0 }
    }

    /// The letter of `slot`, which must not be below the slot of the previous call.
    #[inline]
    pub(crate) fn mark(&mut self, slot: usize) -> Mark {
        debug_assert!(slot < SLOTS, "slot {slot}");
        if slot < self.next {
            return self.last;
        }
        if self.next == 0 {
            if self.at < self.zeros.range_at(slot + 1) {
                return 0;
            }
            self.next = self.zeros.first_nonzero(self.at);
            self.range = self.zeros.range_at(self.next);
        }
        self.read(slot)
    }

    #[inline]
    fn read(&mut self, slot: usize) -> Mark {
        // If the rest of the code is below the range that zeros up to the slot leave, they are zeros. At the end the rest
        // is 0.
        while self.at > 0 && self.at >= self.zeros.left_at_least(self.range, slot + 1 - self.next) {
            let mut zero = self.model.zero(self.range);
            while self.at < zero && self.next < slot {
                self.range = zero;
                self.next += 1;
                zero = self.model.zero(zero);
            }
            let (mark, part) =
                if self.at < zero { (0, Part { low: 0, width: zero }) } else { self.model.letter(self.range, self.at) };
            self.at -= part.low;
            self.range = part.width;
            self.last = mark;
            self.next += 1;
            if self.next > slot {
                return mark;
            }
        }
        0
    }
}
