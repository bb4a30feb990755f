//! A set of numbers that is cleared millions of times.

/// A set of distinct numbers.
///
/// A table with linear probing, at most half full. A cell is valid only in the round in which it was written, so clearing
/// the set is one addition, whatever its size.
pub(super) struct Distinct {
    /// Empty, or a power of two of cells.
    cells: Vec<Cell>,
    round: u64,
    len: u64,
}

#[derive(Clone, Copy)]
struct Cell {
    number: u64,
    round: u64,
}

/// Round 0 never occurs.
const EMPTY: Cell = Cell { number: 0, round: 0 };

const FIRST_CELLS: usize = 256;

impl Distinct {
    pub(super) const NONE: Distinct = Distinct { cells: Vec::new(), round: 1, len: 0 };

    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.len = 0;
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn add(&mut self, number: u64) {
        if self.len as usize * 2 >= self.cells.len() {
            self.enlarge();
        }
        // Adjacent numbers are common, and the upper bits of the product spread them.
        let mut at = (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        loop {
            at &= self.cells.len() - 1;
            let cell = &mut self.cells[at];
            if cell.round != self.round {
                *cell = Cell { number, round: self.round };
                self.len += 1;
                return;
            }
            if cell.number == number {
                return;
            }
            at += 1;
        }
    }

    fn enlarge(&mut self) {
        let cells = vec![EMPTY; (self.cells.len() * 2).max(FIRST_CELLS)];
        let old = std::mem::replace(&mut self.cells, cells);
        let round = self.round;
        self.len = 0;
        old.into_iter().filter(|cell| cell.round == round).for_each(|cell| self.add(cell.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_that_is_cleared_often_agrees_with_a_new_one() {
        let mut rng = SplitMix64::from_state(8);
        let mut set = Distinct::NONE;
        for most in (0..60).chain([1_000, 20_000, 3, 0, 500]) {
            set.clear();
            let mut twin = BTreeSet::new();
            for _ in 0..most {
                let number = rng.below(most);
                set.add(number);
                twin.insert(number);
                assert_eq!(set.len(), twin.len() as u64);
            }
        }
    }
}
