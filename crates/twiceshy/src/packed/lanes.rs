//! Several cells of a word compared at once.

/// Neighbouring fields of the same width in a 64-bit word, from its lowest bit on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    /// The lowest bit of each field.
    low: u64,
    /// The highest bit of each field.
    high: u64,
}

impl Lanes {
    /// `count` fields of `width` bits (2 to 32), which together must have at most 64 bits.
    pub(crate) fn new(width: u32, count: u32) -> Lanes {
        debug_assert!(width >= 2 && count >= 1 && width * count <= 64);
        let low = (0..count).map(|field| 1 << (field * width)).sum();
        Lanes { low, high: low << (width - 1) }
    }

    /// How many cells of this width a load of eight bytes holds at any place.
    pub(crate) fn anywhere(width: u32) -> u32 {
        // A cell starts at a multiple of this bit of its byte; seven other bits may come before it at most.
        (64 - (8 - common_bits(width))) / width
    }

    /// All cells of a bucket, if a load of eight bytes at the bucket's first byte holds them.
    pub(crate) fn of_bucket(width: u32, cells: u32) -> Option<Lanes> {
        let bits = width * cells;
        (bits + 8 - common_bits(bits) <= 64).then(|| Lanes::new(width, cells))
    }

    /// The value in every field.
    #[inline(always)]
    pub(crate) fn spread(self, value: impl Into<u64>) -> u64 {
        self.low.wrapping_mul(value.into())
    }

    /// The highest bit of each field in which the two words are equal. Bits outside the fields do not matter.
    #[inline(always)]
    pub(crate) fn equal(self, one: u64, other: u64) -> u64 {
        let differences = one ^ other;
        // The bits of a field below its highest: their sum carries into the highest bit unless all are 0.
        let below = self.high - self.low;
        !(((differences & below) + below) | differences) & self.high
    }

    /// `true` if a field of one of two words equals that field of what is wanted there. Bits outside the fields do not
    /// matter. Takes fewer instructions than [`Lanes::equal`] of both, since it need not say which field it is.
    #[inline(always)]
    pub(crate) fn any_equal(self, words: [u64; 2], wanted: [u64; 2]) -> bool {
        let ends = |at: usize| {
            // Equal fields are all ones here. Adding 1 to such a field clears its highest bit. It also carries into the
            // next field, whose bit may then be wrong: but it is too late for that to change the answer.
            let agreeing = words[at] ^ !wanted[at];
            agreeing & !agreeing.wrapping_add(self.low)
        };
        (ends(0) | ends(1)) & self.high != 0
    }
}

/// The greatest common divisor of a number of bits and a byte's.
fn common_bits(bits: u32) -> u32 {
    1 << bits.trailing_zeros().min(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn equal_fields_are_found_whatever_lies_beside_them() {
        let mut random = SplitMix64::from_state(1);
        for width in 2..=32u32 {
            for count in 1..=64 / width {
                let lanes = Lanes::new(width, count);
                let field = |word: u64, at: u32| word >> (at * width) & ((1 << width) - 1);
                for _ in 0..300 {
                    let (one, mut other) = (random.next(), random.next());
                    for at in 0..count {
                        // Half of the fields are equal, and some differ in one bit.
                        let mask = ((1 << width) - 1) << (at * width);
                        match random.below(4) {
                            0 | 1 => other = other & !mask | one & mask,
                            2 => {
                                other =
                                    (other & !mask | one & mask) ^ 1 << (at * width + random.below(width.into()) as u32)
                            }
                            _ => {}
                        }
                    }
                    let expected = (0..count).filter(|at| field(one, *at) == field(other, *at));
                    let expected: u64 = expected.map(|at| 1 << (at * width + width - 1)).sum();
                    assert_eq!(lanes.equal(one, other), expected, "{count} of {width} bits: {one:x} {other:x}");
                    // Either word alone, beside one that differs everywhere.
                    for words in [[one, !other], [!other, one]] {
                        assert_eq!(lanes.any_equal(words, [other, other]), expected != 0, "{one:x} {other:x}");
                    }
                }
                let value = random.next() & ((1 << width) - 1);
                assert!((0..count).all(|at| field(lanes.spread(value), at) == value));
            }
        }
    }

    #[test]
    fn a_load_holds_the_cells_that_it_is_said_to_hold() {
        for width in 2..=32u64 {
            let fits = |first: u64, count: u64| first * width % 8 + count * width <= 64;
            let anywhere = u64::from(Lanes::anywhere(width as u32));
            assert!(anywhere >= 1 && (0..64).all(|first| fits(first, anywhere)), "{width}");
            assert!(!(0..64).all(|first| fits(first, anywhere + 1)), "{width}: one more would fit");
            for cells in 1..=8 {
                let all = (0..64).all(|bucket| fits(bucket * cells, cells));
                assert_eq!(Lanes::of_bucket(width as u32, cells as u32).is_some(), all, "{cells} of {width} bits");
            }
        }
    }
}
