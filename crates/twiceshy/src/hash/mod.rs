//! Keyed hashing: from a key's bytes to an endless string of 64-bit words.
//!
//! Word `i` of a key is the keyed 64-bit hash of the key with tweak `i`, computed only when it is asked for. Two hash
//! functions can be chosen by name:
//!
//! * [`HashKind::SipHash13`], the default: word `i` is SipHash-1-3 of the key's bytes followed by `i` as eight
//!   little-endian bytes. A pseudo-random function: without the key, words reveal nothing about other words. The bytes of the
//!   key are absorbed once and the state is shared by all words.
//! * [`HashKind::Xxh3`], for trusted keys only: word `i` is XXH3-64 with seed `k0 + i·(2·k1 + 1)`. About 2 ns a word, and
//!   no protection against an attacker who wants collisions.
//!
//! Both are published algorithms with fixed output, so a saved filter means the same on every platform and in every later
//! release. The golden vectors below check this.

mod sip;
mod xxh3;

use sip::Absorbed;
use std::fmt;
use xxh3::Short;

/// Which hash function a [`HashKey`] drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HashKind {
    /// SipHash-1-3: safe against an attacker who does not know the key.
    SipHash13,
    /// XXH3-64: several times faster, for keys that no attacker chooses.
    Xxh3,
}

impl HashKind {
    /// The number of this kind in saved filters.
    pub fn code(self) -> u8 {
        match self {
            HashKind::SipHash13 => 1,
            HashKind::Xxh3 => 2,
        }
    }

    /// The kind with this number in saved filters.
    pub fn from_code(code: u8) -> Option<HashKind> {
        [HashKind::SipHash13, HashKind::Xxh3].into_iter().find(|kind| kind.code() == code)
    }
}

/// The secret 128 bits and the hash function that turn keys into words.
///
/// ```
/// use twiceshy::hash::HashKey;
///
/// let secret = HashKey::random()?;                  // from the operating system: the default everywhere
/// let fixed = HashKey::fixed(7);                    // the same on every run: for tests and experiments
/// assert_eq!(fixed.words(b"owl").word(0), HashKey::fixed(7).words(b"owl").word(0));
/// assert_ne!(fixed.words(b"owl").word(0), secret.words(b"owl").word(0));
/// # Ok::<(), twiceshy::hash::NoEntropy>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey {
    kind: HashKind,
    k0: u64,
    k1: u64,
    /// What XXH3 mixes into short keys for the first words. Made once: it would be a fifth of the work of a word.
    flips: [u64; FLIPS],
}

/// The words that nearly all look-ups stay below.
const FLIPS: usize = 3;

/// The operating system gave no random bytes for a hash key.
#[derive(Debug, thiserror::Error)]
#[error("the operating system gave no random bytes ({0}): try again, or create the filter with your own hash key")]
pub struct NoEntropy(String);

/// The step between the seeds of XXH3 for neighbouring words.
fn step(k1: u64) -> u64 {
    k1.wrapping_mul(2).wrapping_add(1)
}

impl HashKey {
    fn new(kind: HashKind, k0: u64, k1: u64) -> HashKey {
        let flip = |index: usize| Short::flip(k0.wrapping_add((index as u64).wrapping_mul(step(k1))));
        HashKey { kind, k0, k1, flips: std::array::from_fn(flip) }
    }

    /// A key drawn from the operating system.
    pub fn random() -> Result<HashKey, NoEntropy> {
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes).map_err(|error| NoEntropy(error.to_string()))?;
        Ok(HashKey::from_bytes(HashKind::SipHash13, bytes))
    }

    /// The key for a seed. Anyone can compute it: only for tests and reproducible experiments.
    pub fn fixed(seed: u64) -> HashKey {
        HashKey::new(HashKind::SipHash13, mix(seed), mix(seed ^ 0x7477_6963_6573_6879))
    }

    /// A key from 16 bytes (two little-endian halves).
    pub fn from_bytes(kind: HashKind, bytes: [u8; 16]) -> HashKey {
        let joined = u128::from_le_bytes(bytes);
        HashKey::new(kind, joined as u64, (joined >> 64) as u64)
    }

    /// The 16 bytes of this key, as [`HashKey::from_bytes`] takes them.
    pub fn to_bytes(&self) -> [u8; 16] {
        ((u128::from(self.k1) << 64) | u128::from(self.k0)).to_le_bytes()
    }

    /// The same secret with the fast hash, for keys that no attacker chooses.
    ///
    /// ```
    /// use twiceshy::hash::{HashKey, HashKind};
    /// assert_eq!(HashKey::fixed(1).for_trusted_keys().kind(), HashKind::Xxh3);
    /// ```
    #[must_use]
    pub fn for_trusted_keys(self) -> HashKey {
        HashKey { kind: HashKind::Xxh3, ..self }
    }

    /// Which hash function this key drives.
    pub fn kind(&self) -> HashKind {
        self.kind
    }

    /// The words of `key`, computed as they are asked for.
    #[inline(always)]
    pub fn words<'k>(&self, key: &'k [u8]) -> Words<'k> {
        Words(match self.kind {
            HashKind::SipHash13 => State::Sip(Absorbed::new(self.k0, self.k1, key)),
            HashKind::Xxh3 => {
                let (seed, step) = (self.k0, step(self.k1));
                match Short::new(key) {
                    Some(key) => State::Short { key, flips: self.flips, seed, step },
                    None => State::Long { key, seed, step },
                }
            }
        })
    }

    /// Another key of the same kind, derived from this one and secret to its holder. Re-keying uses it when no key is
    /// given.
    #[must_use]
    pub fn successor(&self) -> HashKey {
        let words = Absorbed::new(self.k0, self.k1, b"twiceshy successor");
        HashKey::new(self.kind, words.finish(0), words.finish(1))
    }
}

impl HashKey {
    /// Derived key number `number`, secret to the holder of this one. A filter that numbers its functions never uses the
    /// same one twice, even if it is given the same hash key again.
    pub(crate) fn numbered(&self, number: u64) -> HashKey {
        let words = Absorbed::new(self.k0, self.k1, b"twiceshy numbered");
        HashKey::new(self.kind, words.finish(2 * number), words.finish(2 * number + 1))
    }
}

/// Shows the kind, and never the secret.
impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HashKey").field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// A key's endless string of words.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Words<'k>(pub(crate) State<'k>);

/// Its state is as secret as the hash key: all words follow from it.
impl fmt::Debug for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words").finish_non_exhaustive()
    }
}

#[derive(Clone, Copy)]
pub(crate) enum State<'k> {
    /// SipHash after the key's bytes.
    Sip(Absorbed),
    /// XXH3 of a short key.
    Short { key: Short, flips: [u64; FLIPS], seed: u64, step: u64 },
    /// XXH3 of any other key.
    Long { key: &'k [u8], seed: u64, step: u64 },
}

impl Words<'_> {
    /// Word `index` of the string.
    #[inline(always)]
    pub fn word(&self, index: u64) -> u64 {
        match self.0 {
            State::Sip(absorbed) => absorbed.finish(index),
            State::Short { key, flips, seed, step } => {
                let flip = flips.get(index as usize).copied();
                key.hash(flip.unwrap_or_else(|| Short::flip(seed.wrapping_add(index.wrapping_mul(step)))))
            }
            State::Long { key, seed, step } => xxh3::long(key, seed.wrapping_add(index.wrapping_mul(step))),
        }
    }
}

/// Evaluates an expression with the words of a key. It is compiled apart for short keys under XXH3: a look-up asks for several
/// words, and would otherwise decide for each of them which function it is, which there is much of the work.
macro_rules! with_words {
    ($hash:expr, $key:expr, |$words:ident| $body:expr) => {
        match $hash.words($key) {
            $crate::hash::Words($crate::hash::State::Short { key, flips, seed, step }) => {
                let $words = $crate::hash::Words($crate::hash::State::Short { key, flips, seed, step });
                $body
            }
            $words => $body,
        }
    };
}
pub(crate) use with_words;

/// The range reduction of a word: a number below `bound`, decided by the word's high bits, equally likely up to a bias of
/// `bound / 2^64`.
#[inline]
pub(crate) fn reduce(word: u64, bound: u64) -> u64 {
    ((u128::from(word) * u128::from(bound)) >> 64) as u64
}

/// The words that [`reduce`] leads to a value in `first..=last`.
pub(crate) fn words_of(first: u64, last: u64, bound: u64) -> std::ops::RangeInclusive<u64> {
    let first_word = |value: u128| (value << 64).div_ceil(u128::from(bound));
    first_word(first.into()) as u64..=(first_word(u128::from(last) + 1) - 1) as u64
}

/// A bijection of 64-bit words in which every output bit depends on every input bit (the finalizer of SplitMix64).
pub(crate) fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use siphasher::sip::SipHasher13;

    #[test]
    fn word_i_is_siphash_1_3_of_the_key_followed_by_i() {
        let key = HashKey::from_bytes(HashKind::SipHash13, *b"0123456789abcdef");
        let once = SipHasher13::new_with_key(b"0123456789abcdef");
        let bytes: Vec<u8> = (0..=600u32).map(|i| (i * 37 % 251) as u8).collect();
        for len in (0..40).chain(240..270).chain([600]) {
            for index in [0u64, 1, 2, 255, 0x0123_4567_89AB_CDEF, u64::MAX] {
                let whole = [&bytes[..len], &index.to_le_bytes()].concat();
                assert_eq!(key.words(&bytes[..len]).word(index), once.hash(&whole), "{len} bytes, word {index}");
            }
        }
    }

    #[test]
    fn what_is_printed_of_a_hash_or_its_words_has_no_bit_of_the_key() {
        for key in [HashKey::fixed(1), HashKey::fixed(1).for_trusted_keys()] {
            for bytes in [&b"owl"[..], b"barn owl", b"a key that is longer than sixteen bytes"] {
                let shown = format!("{:?} {key:?}", key.words(bytes));
                assert!(shown.starts_with("Words { .. } HashKey { kind: ") && shown.ends_with(", .. }"), "{shown}");
            }
        }
    }

    #[test]
    fn the_golden_vectors_still_hold() {
        let sip = HashKey::fixed(1);
        let xxh = sip.for_trusted_keys();
        let owl = |key: HashKey, index| key.words(b"owl").word(index);
        assert_eq!([owl(sip, 0), owl(sip, 1)], GOLDEN_SIP);
        assert_eq!([owl(xxh, 0), owl(xxh, 1)], GOLDEN_XXH);
        assert_eq!(owl(sip.successor(), 0), GOLDEN_SUCCESSOR);
    }

    // Computed with independent implementations: SipHash-1-3 written from its paper, XXH3 from the xxHash C library.
    const GOLDEN_SIP: [u64; 2] = [0x12aa_471f_e458_40ea, 0xa8d6_9d1c_0359_ae31];
    const GOLDEN_XXH: [u64; 2] = [0x7661_a3a6_0c40_f786, 0x9c9d_2951_a8f6_5fcb];
    const GOLDEN_SUCCESSOR: u64 = 0x41bd_62f6_ad4c_4144;

    #[test]
    fn keys_words_and_tweaks_all_change_the_hash() {
        for kind in [HashKind::SipHash13, HashKind::Xxh3] {
            let first = HashKey::from_bytes(kind, [1; 16]);
            let other = HashKey::from_bytes(kind, [2; 16]);
            let words = first.words(b"wren");
            assert_ne!(words.word(0), words.word(1));
            assert_ne!(words.word(0), first.words(b"wrem").word(0));
            assert_ne!(words.word(0), other.words(b"wren").word(0));
            assert_ne!(first.words(b"").word(0), first.words(b"\0").word(0));
        }
    }

    #[test]
    fn a_key_survives_a_round_trip_through_bytes_and_debug_hides_it() {
        let key = HashKey::fixed(99);
        assert_eq!(HashKey::from_bytes(key.kind(), key.to_bytes()), key);
        assert!(!format!("{key:?}").contains(&format!("{}", key.k0)));
        assert_ne!(HashKey::random().unwrap(), HashKey::random().unwrap());
    }

    #[test]
    fn each_bit_of_a_word_is_one_half_of_the_time() {
        for kind in [HashKind::SipHash13, HashKind::Xxh3] {
            let key = HashKey::from_bytes(kind, [9; 16]);
            let mut ones = [0i64; 128];
            let n = 20_000u64;
            for i in 0..n {
                let bytes = i.to_le_bytes();
                let words = key.words(&bytes);
                for (bit, count) in ones.iter_mut().enumerate() {
                    *count += (words.word(bit as u64 / 64) >> (bit % 64) & 1) as i64;
                }
            }
            let bound = (5.0 * (n as f64).sqrt() / 2.0) as i64;
            assert!(ones.iter().all(|count| (count - n as i64 / 2).abs() < bound), "{kind:?} {ones:?}");
        }
    }
}
