//! The two forms of a broom filter, and which one a filter takes (001 sections 5.3 and 5.4).

use super::back_yard;
use crate::packed::PackedCells;
use crate::sizing;

/// Where a broom filter keeps the keys that do not fit into its first level.
///
/// Both make the same promises. The paper uses the first if remainders have at most 2·log log n bits, and the second if
/// they have more. This is also the default here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroomForm {
    /// For small remainders (5.3): a second level, a small table like the first under its own hash words. The remote keeps
    /// three entries for each key: one for each level, and one for its position.
    TwoLevels,
    /// For large remainders (5.4): the first bits of a remainder are a *signature*, compared before the rest. A key whose
    /// signature is in its run with another remainder, or that finds no free slot, goes to a back yard of whole hashes. The
    /// remote keeps two entries for each key.
    BackYard,
}

/// What does not change when a filter grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) form: BroomForm,
    /// The width of a remainder.
    pub(crate) width: u32,
    /// The number of its bits that are compared first, and stored beside the metadata.
    pub(crate) signature: u32,
}

impl Shape {
    /// The shape for a table of `slots` slots. The form follows the paper unless one is given.
    pub(crate) fn new(slots: u64, width: u32, form: Option<BroomForm>) -> Shape {
        let signature = signature_bits(slots);
        let rule = if width > signature { BroomForm::BackYard } else { BroomForm::TwoLevels };
        match form.unwrap_or(rule) {
            BroomForm::TwoLevels => Shape { form: BroomForm::TwoLevels, width, signature: width },
            BroomForm::BackYard => Shape { form: BroomForm::BackYard, width, signature: signature.min(width) },
        }
    }

    /// The number of levels. Each has its own order in the remote.
    pub(crate) fn levels(&self) -> usize {
        match self.form {
            BroomForm::TwoLevels => 2,
            BroomForm::BackYard => 1,
        }
    }

    /// The slots of each level, beginning with the first.
    pub(crate) fn slots(&self, first: u64) -> impl Iterator<Item = u64> {
        (0..self.levels()).map(move |level| self.slots_of(level, first))
    }

    /// The slots of a level if the first has this many.
    pub(crate) fn slots_of(&self, level: usize, first: u64) -> u64 {
        if level == 0 { first } else { second_slots(first) }
    }

    /// The width of a remainder in a level, and of its signature. The second level is small, but every query reads it: with
    /// four more bits it adds almost nothing to the rate.
    #[inline]
    pub(crate) fn widths(&self, level: usize) -> (u32, u32) {
        match level {
            0 => (self.width, self.signature),
            _ => (second_width(self.width), second_width(self.width)),
        }
    }

    /// The width of a remainder in each of two levels.
    pub(crate) fn remainders(&self) -> [u32; 2] {
        [self.widths(0).0, self.widths(1).0]
    }

    /// The maximum number of keys in this many slots: with more, too many find no room in the first level.
    pub(crate) fn most(&self, slots: u64) -> u64 {
        match self.form {
            BroomForm::TwoLevels => slots - slots.div_ceil(33),
            BroomForm::BackYard => slots - slots.div_ceil(25),
        }
        .max(1)
    }

    /// The number of buckets of the back yard. With two levels there are none, and the yard holds only what neither level
    /// has room for. With wide remainders a word would have too few bits after them to distinguish keys that are known to
    /// collide, so all hashes go to the ordered set.
    pub(crate) fn buckets(&self, slots: u64) -> u64 {
        match self.form {
            BroomForm::BackYard if self.width <= back_yard::WIDEST => back_yard::buckets(slots, self.signature),
            _ => 0,
        }
    }
}

/// 2·log log n of the paper, in whole bits and at least a table's minimum.
fn signature_bits(slots: u64) -> u32 {
    let log = (slots.max(2) as f64).log2();
    (2.0 * log.log2()).ceil().max(2.0) as u32
}

fn second_width(width: u32) -> u32 {
    (width + 4).min(PackedCells::MAX_WIDTH)
}

/// The false-positive rate for keys never asked before: of a first level at this load, and of what is beside it with one
/// key in a hundred, which is more than was measured.
pub(crate) fn static_rate(slots: u64, keys: u64, width: u32, form: Option<BroomForm>) -> f64 {
    let first = sizing::quotient_rate(keys as f64 / slots as f64, width);
    match Shape::new(slots, width, form).form {
        BroomForm::BackYard => first,
        BroomForm::TwoLevels => {
            let second = sizing::quotient_rate(keys as f64 / 100.0 / second_slots(slots) as f64, second_width(width));
            1.0 - (1.0 - first) * (1.0 - second)
        }
    }
}

/// The slots of the second level. Up to 1 % of the keys were measured there at 95 % load, over many phases. Keys that do
/// not fit go to the yard.
fn second_slots(slots: u64) -> u64 {
    slots / 64 + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_chosen_by_twice_the_logarithm_of_the_logarithm() {
        // 2·log2(log2 n): 8.63 at a million, 9.08 at ten million, 6.33 at 500.
        for (slots, largest_small) in [(1_000_000, 9), (10_000_000, 10), (500, 7), (65_536, 8), (1, 2), (2, 2), (16, 4)]
        {
            for width in 2..=32 {
                let shape = Shape::new(slots, width, None);
                assert_eq!(shape.form == BroomForm::TwoLevels, width <= largest_small, "{slots} slots, {width} bits");
                let signature = if width <= largest_small { width } else { largest_small };
                assert_eq!(shape.signature, signature, "{slots} slots, {width} bits");
            }
        }
    }

    #[test]
    fn a_form_that_is_asked_for_is_taken_at_any_width() {
        for width in 2..=32 {
            assert_eq!(Shape::new(1_000, width, Some(BroomForm::TwoLevels)).signature, width);
            let yard = Shape::new(1_000, width, Some(BroomForm::BackYard));
            assert_eq!((yard.form, yard.signature), (BroomForm::BackYard, width.min(7)));
        }
    }
}
