//! The two forms of a broom filter, and which one a filter takes (001 sections 5.3 and 5.4).

use super::back_yard;
use crate::packed::PackedCells;
use crate::sizing;

/// Where a broom filter keeps the keys that its first level has no place for.
///
/// Both make the same promises. The paper takes the first where remainders have at most 2·log log n bits, the second where
/// they have more, and so does a filter that is not told otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroomForm {
    /// For small remainders (5.3): a second level, a small table like the first under hash words of its own. The remote keeps
    /// three entries for each key: one for each level, and one for its position.
    TwoLevels,
    /// For large remainders (5.4): the first bits of a remainder are a *signature*, compared before the rest; a key whose
    /// signature is taken, or that finds no free slot, goes to a back yard of whole hashes. The remote keeps two entries for
    /// each key.
    BackYard,
}

/// What does not change when a filter grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) form: BroomForm,
    /// The bits of a remainder.
    pub(crate) width: u32,
    /// How many of them are compared first, and stand beside the metadata.
    pub(crate) signature: u32,
}

impl Shape {
    /// The shape for a table of `slots` slots; the form is the paper's choice unless one is given.
    pub(crate) fn new(slots: u64, width: u32, form: Option<BroomForm>) -> Shape {
        let signature = signature_bits(slots);
        let rule = if width > signature { BroomForm::BackYard } else { BroomForm::TwoLevels };
        match form.unwrap_or(rule) {
            BroomForm::TwoLevels => Shape { form: BroomForm::TwoLevels, width, signature: width },
            BroomForm::BackYard => Shape { form: BroomForm::BackYard, width, signature: signature.min(width) },
        }
    }

    /// The hash functions that a key has in each phase, one for each level: the orders of the remote.
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

    /// The slots of a level, where the first has this many.
    pub(crate) fn slots_of(&self, level: usize, first: u64) -> u64 {
        if level == 0 { first } else { second_slots(first) }
    }

    /// The bits of a remainder in a level, and how many of them are its signature. The second level is small, and a query asks
    /// it too: with four bits more it adds next to nothing to the rate.
    #[inline]
    pub(crate) fn widths(&self, level: usize) -> (u32, u32) {
        match level {
            0 => (self.width, self.signature),
            _ => (second_width(self.width), second_width(self.width)),
        }
    }

    /// The bits of a remainder in each of two levels.
    pub(crate) fn remainders(&self) -> [u32; 2] {
        [self.widths(0).0, self.widths(1).0]
    }

    /// The most keys of a filter with this many slots: with more, too many find no room in the first level.
    pub(crate) fn most(&self, slots: u64) -> u64 {
        match self.form {
            BroomForm::TwoLevels => slots - slots.div_ceil(33),
            BroomForm::BackYard => slots - slots.div_ceil(25),
        }
        .max(1)
    }

    /// The buckets of the back yard. With two levels it has none, and holds only what neither has room for. With wide remainders a
    /// word would have too few bits behind them to tell keys apart that are known to be alike, and all hashes go to the ordered set.
    pub(crate) fn buckets(&self, slots: u64) -> u64 {
        match self.form {
            BroomForm::BackYard if self.width <= back_yard::WIDEST => back_yard::buckets(slots, self.signature),
            _ => 0,
        }
    }

    /// How many keys beside the first level there is room for before it is crowded.
    pub(crate) fn room_aside(&self, slots: u64) -> u64 {
        let room = match self.form {
            BroomForm::BackYard => back_yard::buckets(slots, self.signature) * back_yard::BUCKET as u64,
            BroomForm::TwoLevels => second_slots(slots),
        };
        room / 4 * 3
    }
}

/// 2·log log n of the paper, in whole bits and no fewer than a table takes.
fn signature_bits(slots: u64) -> u32 {
    let log = (slots.max(2) as f64).log2();
    (2.0 * log.log2()).ceil().max(2.0) as u32
}

fn second_width(width: u32) -> u32 {
    (width + 4).min(PackedCells::MAX_WIDTH)
}

/// The rate of keys never asked for: of a first level at this load, and of what stands beside it with a key in a hundred, which
/// is more than was seen.
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

/// The slots of the second level. Up to 1 % of the keys were seen there at 95 % load, over many phases. What it has no room for goes
/// to the yard.
fn second_slots(slots: u64) -> u64 {
    slots / 64 + 64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_chosen_by_twice_the_logarithm_of_the_logarithm() {
        // 2·log2(log2 n): 8.63 at a million, 9.08 at ten millions, 6.33 at 500.
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
