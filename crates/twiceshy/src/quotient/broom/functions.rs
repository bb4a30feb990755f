//! Two hash functions, and the frontier between the keys that have the one and the other (001 section 4.2).

use super::level::Hash;
use crate::hash::{HashKey, reduce};
use crate::quotient::strand::Strand;
use crate::remote::Key;

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

    /// A key's word for the order of each level.
    pub(crate) fn order_words(&self, key: &[u8], age: Age) -> [u64; 2] {
        let words = self.hash_key(age).words(key);
        FIRST_WORD.map(|first| words.word(first))
    }

    /// A key's hash in a level of so many slots, under the function of that age.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8], age: Age, level: usize, slots: u64, width: u32) -> Hash {
        let words = self.hash_key(age).words(key);
        let strand = Strand::behind(words, FIRST_WORD[level]);
        let tail = |at: u32| u64::from(strand.bits(u64::from(width + at), 32));
        Hash {
            quotient: reduce(words.word(FIRST_WORD[level]), slots),
            remainder: strand.remainder(width, 0),
            tail: tail(0) | tail(32) << 32,
        }
    }
}
