//! XXH3-64 of short keys, inlined into look-ups.
//!
//! The `xxhash-rust` crate has all lengths in one function. Inlined into a look-up it is a page of code whose registers are
//! spilled, and called it costs as much as the hash itself. Keys of four to eight bytes, numbers above all, have their own
//! few lines here; the crate does the others, and is the oracle of the tests.

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A key of four to eight bytes: the last four and, above them, the first four; and its length.
#[derive(Clone, Copy)]
pub(crate) struct Short {
    both_ends: u64,
    len: u64,
}

impl Short {
    #[inline(always)]
    pub(super) fn new(key: &[u8]) -> Option<Short> {
        let (first, last) = (key.first_chunk()?, key.last_chunk()?);
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        let both_ends = u64::from(last) | u64::from(first) << 32;
        (key.len() <= 8).then_some(Short { both_ends, len: key.len() as u64 })
    }

    /// What is mixed into a key, by seed.
    #[inline(always)]
    pub(super) fn flip(seed: u64) -> u64 {
        SECRET.wrapping_sub(seed ^ u64::from((seed as u32).swap_bytes()) << 32)
    }

    /// XXH3-64 with the seed of this flip.
    #[inline(always)]
    pub(super) fn hash(self, flip: u64) -> u64 {
        let mut word = self.both_ends ^ flip;
        word ^= word.rotate_left(49) ^ word.rotate_left(24);
        word = word.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        word ^= (word >> 35).wrapping_add(self.len);
        word = word.wrapping_mul(0x9FB2_1C65_1E98_DF25);
        word ^ word >> 28
    }
}

/// The exclusive or of bytes 8 to 15 and 16 to 23 of XXH3's default secret.
const SECRET: u64 = 0x1CAD_21F7_2C81_017C ^ 0xDB97_9083_E96D_D4DE;

/// XXH3-64 of a key of any length.
#[inline(never)]
pub(super) fn long(key: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(key, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::SplitMix64;

    #[test]
    fn short_keys_have_the_hash_of_the_crate() {
        let mut random = SplitMix64::from_state(3);
        let bytes: Vec<u8> = (0..300).map(|_| random.next() as u8).collect();
        for len in 0..40 {
            for _ in 0..20 {
                let (start, seed) = (random.below(301 - len as u64) as usize, random.next() >> random.below(64));
                let key = &bytes[start..start + len];
                let short = Short::new(key);
                assert_eq!(short.is_some(), (4..=8).contains(&len));
                if let Some(short) = short {
                    assert_eq!(
                        short.hash(Short::flip(seed)),
                        xxh3_64_with_seed(key, seed),
                        "{len} bytes, seed {seed:x}"
                    );
                }
            }
        }
    }
}
