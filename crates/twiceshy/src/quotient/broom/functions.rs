//! Two hash functions, and the frontier between the keys that have the one and the other (001 section 4.2).

use super::level::Hash;
use crate::hash::{HashKey, Words, reduce};
use crate::quotient::strand::Strand;
use crate::remote::{Key, OrderWords};

/// Which function a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// Keys above the frontier, in byte order.
    Old,
    /// Keys up to it.
    New,
}

impl Age {
    pub(crate) const BOTH: [Age; 2] = [Age::Old, Age::New];
}

/// The level's own part of a key's endless string: quotient from this word, remainder and adaptivity bits from those behind.
const FIRST_WORD: [u64; 2] = [0, 1 << 32];

/// The functions of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Functions {
    pub(crate) old: HashKey,
    pub(crate) new: HashKey,
    pub(crate) frontier: Option<Key>,
}

impl Functions {
    /// The beginning of a phase.
    pub(crate) fn begin(old: HashKey) -> Functions {
        Functions { old, new: old.successor(), frontier: None }
    }

    #[inline]
    pub(crate) fn age(&self, key: &[u8]) -> Age {
        if self.frontier.as_ref().is_some_and(|frontier| key <= &**frontier) { Age::New } else { Age::Old }
    }

    #[inline]
    pub(crate) fn hash_key(&self, age: Age) -> &HashKey {
        match age {
            Age::Old => &self.old,
            Age::New => &self.new,
        }
    }

    /// A key's word for the order of each of so many levels.
    pub(crate) fn order_words(&self, key: &[u8], age: Age, levels: usize) -> OrderWords {
        let words = self.hash_key(age).words(key);
        let [first, second] = FIRST_WORD;
        match levels {
            1 => OrderWords::new(&[words.word(first)]),
            _ => OrderWords::new(&[words.word(first), words.word(second)]),
        }
    }

    /// A key's endless string of words, under the function that it has.
    #[inline]
    pub(crate) fn words<'k>(&self, key: &'k [u8]) -> Words<'k> {
        self.hash_key(self.age(key)).words(key)
    }
}

/// A key's hash in a level, of which the tail is worked out when it is asked for: most look-ups do not.
#[derive(Clone, Debug)]
pub(crate) struct Print<'k> {
    pub(crate) quotient: u64,
    pub(crate) remainder: u32,
    width: u32,
    strand: Strand<'k>,
}

impl<'k> Print<'k> {
    /// Of a key with these words, in a level of so many slots.
    #[inline]
    pub(crate) fn new(words: Words<'k>, level: usize, slots: u64, width: u32) -> Print<'k> {
        let strand = Strand::behind(words, FIRST_WORD[level]);
        let quotient = reduce(words.word(FIRST_WORD[level]), slots);
        Print { quotient, remainder: strand.remainder(width, 0), width, strand }
    }

    /// The 64 bits behind the remainder, the first one lowest.
    #[inline]
    pub(crate) fn tail(&self) -> u64 {
        let bits = |at: u32| u64::from(self.strand.bits(u64::from(self.width + at), 32));
        bits(0) | bits(32) << 32
    }

    pub(crate) fn hash(&self) -> Hash {
        Hash { quotient: self.quotient, remainder: self.remainder, tail: self.tail() }
    }
}
