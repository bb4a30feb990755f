//! Rank and select inside a 64-bit word, portably and with the processor's own instructions.
//!
//! One look-up needs several of these, so the implementation is chosen once for the whole look-up, not once per word:
//! [`dispatch`] takes [`Work`], which is compiled for each implementation. The fast one is inlined into the caller.

/// A way to count and find the ones of a word.
pub trait Word64 {
    /// The number of ones.
    fn ones(word: u64) -> u32;
    /// Ones among the lowest `bits` bits (0..=64).
    fn rank(word: u64, bits: u32) -> u32;
    /// The lowest `bits` bits; all from 64 on.
    fn low(word: u64, bits: u32) -> u64;
    /// Position of the `nth` one (from 0, and below 64); 64 if there are fewer.
    fn select(word: u64, nth: u32) -> u32;
    /// The number of bits up to the highest one; 0 if there is none.
    fn length(word: u64) -> u32;
    /// The greater of two numbers, without a branch if there is a way to tell the compiler.
    fn greater(one: u64, other: u64) -> u64;
    /// Puts bit i of `word` at the position of one number i of `mask`.
    fn deposit(word: u64, mask: u64) -> u64;
    /// Collects the bits of `word` where `mask` has ones. The inverse of [`Word64::deposit`].
    fn extract(word: u64, mask: u64) -> u64;
}

/// Work that counts and selects bits, compiled once for each implementation.
pub(crate) trait Work {
    type Output;
    fn run<W: Word64>(self) -> Self::Output;
}

/// Runs the work with the processor's instructions if it has them, detected at run time.
#[inline(always)]
pub(crate) fn dispatch<K: Work>(work: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(instructions) = super::word_x86::Instructions::detect() {
        return instructions.run(work);
    }
    portably(work)
}

/// Apart on processors where it is seldom needed, so that callers are not twice as long.
#[cfg_attr(target_arch = "x86_64", cold, inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn portably<K: Work>(work: K) -> K::Output {
    work.run::<Portable>()
}

/// Broadword arithmetic on eight bytes at once: no loops, no tables, any processor.
pub(crate) struct Portable;

/// The lowest bit of every byte. As a factor it puts into each byte the sum of the bytes up to it.
const LOW: u64 = 0x0101_0101_0101_0101;
/// The highest bit of every byte.
const HIGH: u64 = LOW << 7;

impl Portable {
    /// How many of the eight bytes of `sums` are at most `bound`. All of them and `bound` must be below 128.
    #[inline(always)]
    fn at_most(sums: u64, bound: u32) -> u32 {
        let not_above = ((u64::from(bound) * LOW) | HIGH).wrapping_sub(sums) & HIGH;
        ((not_above >> 7).wrapping_mul(LOW) >> 56) as u32
    }
}

impl Word64 for Portable {
    #[inline(always)]
    fn ones(word: u64) -> u32 {
        word.count_ones()
    }

    #[inline(always)]
    fn rank(word: u64, bits: u32) -> u32 {
        Portable::low(word, bits).count_ones()
    }

    #[inline(always)]
    fn low(word: u64, bits: u32) -> u64 {
        word & !u64::MAX.checked_shl(bits).unwrap_or(0)
    }

    #[inline(always)]
    fn select(word: u64, nth: u32) -> u32 {
        let pairs = word - (word >> 1 & 0x5555_5555_5555_5555);
        let nibbles = (pairs & 0x3333_3333_3333_3333) + (pairs >> 2 & 0x3333_3333_3333_3333);
        // Byte i: the ones in the bytes 0 to i.
        let sums = ((nibbles + (nibbles >> 4)) & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(LOW);
        if u64::from(nth) >= sums >> 56 {
            return 64;
        }
        // The one lies in the first byte whose sum exceeds `nth`. There is such a byte, so the shift is at most 56.
        let byte = Self::at_most(sums, nth) * 8;
        let left = nth - (sums << 8 >> byte & 0xFF) as u32;
        // Byte i keeps only bit i of that byte; then 1 if it is set; then the ones in the bits 0 to i.
        let spread = (word >> byte & 0xFF).wrapping_mul(LOW) & 0x8040_2010_0804_0201;
        let ones = (((spread | HIGH) - LOW) | spread) & HIGH;
        byte + Self::at_most((ones >> 7).wrapping_mul(LOW), left)
    }

    #[inline(always)]
    fn length(word: u64) -> u32 {
        64 - word.leading_zeros()
    }

    #[inline(always)]
    fn greater(one: u64, other: u64) -> u64 {
        one.max(other)
    }

    /// One step for each one of the mask.
    fn deposit(word: u64, mut mask: u64) -> u64 {
        let (mut word, mut spread) = (word, 0);
        while mask != 0 {
            let lowest = mask & mask.wrapping_neg();
            spread |= if word & 1 == 1 { lowest } else { 0 };
            word >>= 1;
            mask ^= lowest;
        }
        spread
    }

    /// One step for each one of the mask.
    fn extract(word: u64, mut mask: u64) -> u64 {
        let (mut gathered, mut bit) = (0, 1);
        while mask != 0 {
            let lowest = mask & mask.wrapping_neg();
            gathered |= if word & lowest != 0 { bit } else { 0 };
            bit <<= 1;
            mask ^= lowest;
        }
        gathered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    fn words() -> Vec<u64> {
        let mut words: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
        words.extend((0..64).map(|bit| u64::MAX >> bit));
        words.extend((0..64).map(|bit| u64::MAX << bit));
        words.extend([0, 0x5555_5555_5555_5555, LOW, HIGH, LOW | HIGH]);
        let mut random = SplitMix64::from_state(56);
        for _ in 0..2000 {
            let (a, b, c) = (random.next(), random.next(), random.next());
            words.extend([a, a | b | c, a & b, a & b & c, a & b & c & random.next() & random.next()]);
        }
        words
    }

    /// Compares an implementation with a loop over the bits.
    struct Compare;

    impl Work for Compare {
        type Output = ();

        #[inline(always)]
        fn run<W: Word64>(self) {
            for word in words() {
                let ones: Vec<u32> = (0..64).filter(|bit| word >> bit & 1 == 1).collect();
                for bits in 0..=64 {
                    let below = ones.iter().filter(|at| **at < bits).count();
                    assert_eq!(W::rank(word, bits), below as u32, "{word:#x} below {bits}");
                    assert_eq!(W::low(word, bits).count_ones(), below as u32, "{word:#x} below {bits}");
                }
                let other = word.rotate_left(29);
                assert_eq!((W::greater(word, other), W::greater(word, word)), (word.max(other), word));
                assert_eq!(W::ones(word), ones.len() as u32, "{word:#x}");
                assert_eq!(W::length(word), ones.last().map_or(0, |highest| highest + 1), "{word:#x}");
                for nth in 0..64 {
                    let at = ones.get(nth as usize).copied().unwrap_or(64);
                    assert_eq!(W::select(word, nth), at, "{word:#x} one {nth}");
                }
                assert!([64, 65, 200, 255].iter().all(|bits| W::low(word, *bits) == word));
                let source = word.rotate_left(17) ^ 0x9E37_79B9_7F4A_7C15;
                let spread = (0..).zip(&ones).map(|(bit, at)| (source >> bit & 1) << at).sum();
                assert_eq!(W::deposit(source, word), spread, "{source:#x} over {word:#x}");
                let kept = source & u64::MAX.checked_shr(64 - ones.len() as u32).unwrap_or(0);
                assert_eq!(W::extract(spread, word), kept, "back from {word:#x}");
            }
        }
    }

    #[test]
    fn the_portable_implementation_agrees_with_a_loop_over_the_bits() {
        Compare.run::<Portable>();
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn the_processors_instructions_agree_with_a_loop_over_the_bits() {
        match super::super::word_x86::Instructions::detect() {
            Some(instructions) => instructions.run(Compare),
            None => eprintln!("this processor has no BMI2: nothing was compared"),
        }
    }

    #[test]
    fn dispatched_work_returns_its_output_and_agrees_with_a_loop_over_the_bits() {
        struct Third(u64);
        impl Work for Third {
            type Output = u32;
            #[inline(always)]
            fn run<W: Word64>(self) -> u32 {
                W::select(self.0, 2)
            }
        }
        assert_eq!(dispatch(Third(0b1_0110_0000)), 8);
        dispatch(Compare);
    }
}
