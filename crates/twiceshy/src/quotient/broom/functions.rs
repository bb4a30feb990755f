//! Two hash functions, and the frontier between their keys (001 section 4.2).

use super::level::{Behind, Hash};
use super::shape::Shape;
use crate::hash::{HashKey, Words};
use crate::quotient::numbers::Quotient;
use crate::quotient::strand::{Strand, quotient_of};
use crate::remote::{Frontier, Generation, Order, OrderWords};

/// Which function a key has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Age {
    /// Keys whose position is not below the frontier.
    Old,
    /// Keys that the frontier has passed.
    New,
}

impl Age {
    pub(crate) const BOTH: [Age; 2] = [Age::Old, Age::New];
}

/// The level's part of a key's endless string: the quotient comes from this word, remainder and adaptivity bits from the
/// following ones.
const FIRST_WORD: [u64; 2] = [0, 1 << 32];

/// The last position of a key, so that the largest frontier is above all keys.
pub(crate) const LAST_POSITION: u64 = u64::MAX - 1;

/// The functions of a phase, and where the keys of each age are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Functions {
    pub(crate) old: HashKey,
    pub(crate) new: HashKey,
    pub(crate) frontier: Frontier,
    /// The generation of the old function; that of the new one is the next.
    pub(crate) generation: Generation,
    /// The slots of the first level for keys of each age. They differ while the table is being replaced.
    pub(crate) slots: [u64; 2],
    /// `true` if each age has its own table.
    pub(crate) apart: bool,
    /// `true` if keys move in the order of their bytes: the mistake that the order by hash avoids.
    #[cfg(feature = "testing")]
    pub(crate) by_bytes: bool,
}

impl Functions {
    /// The start of a phase, in a table of `slots` slots.
    pub(crate) fn begin(old: HashKey, generation: Generation, slots: u64) -> Functions {
        Functions {
            old,
            new: old.successor(),
            frontier: Frontier::START,
            generation,
            slots: [slots; 2],
            apart: false,
            #[cfg(feature = "testing")]
            by_bytes: false,
        }
    }

    /// The next phase: the new function becomes the old one.
    pub(crate) fn next(&self) -> Functions {
        let begun = Functions::begin(self.new, self.generation_of(Age::New), self.slots[1]);
        #[cfg(feature = "testing")]
        let begun = Functions { by_bytes: self.by_bytes, ..begun };
        begun
    }

    pub(crate) fn generation_of(&self, age: Age) -> Generation {
        Generation(self.generation.0.saturating_add(age as u32))
    }

    #[inline]
    pub(crate) fn hash_key(&self, age: Age) -> &HashKey {
        match age {
            Age::Old => &self.old,
            Age::New => &self.new,
        }
    }

    /// A key's position in the order in which the frontier passes keys, from the first word of the function that defines
    /// the order.
    ///
    /// The position is the low half of the word whose high half gives the quotient. The age of a key must say nothing about
    /// its fingerprint, or one side of the table would fill up while the other empties.
    #[inline]
    fn position_by(&self, _key: &[u8], first_word: u64) -> u64 {
        #[cfg(feature = "testing")]
        if self.by_bytes {
            let bytes = (0..8).map(|at| u64::from(_key.get(at).copied().unwrap_or(0)));
            return bytes.fold(0, |position, byte| position << 8 | byte).min(LAST_POSITION);
        }
        position_of(first_word)
    }

    /// A key's position in the order of the function of an age.
    pub(crate) fn position(&self, key: &[u8], age: Age) -> u64 {
        self.position_by(key, self.hash_key(age).words(key).word(FIRST_WORD[0]))
    }

    #[inline]
    pub(crate) fn age(&self, key: &[u8]) -> Age {
        match self.frontier {
            Frontier::START => Age::Old,
            _ => self.words(key).0,
        }
    }

    /// A key's age, its words under the function that it has, and the first of them, which the age needs and so is computed
    /// once.
    #[inline]
    pub(crate) fn words<'k>(&self, key: &'k [u8]) -> (Age, Words<'k>, u64) {
        let words = self.old.words(key);
        let first = words.word(FIRST_WORD[0]);
        if self.position_by(key, first) >= self.frontier.0 {
            return (Age::Old, words, first);
        }
        let words = self.new.words(key);
        (Age::New, words, words.word(FIRST_WORD[0]))
    }

    /// The order in which the frontier moves: the one after those of the levels.
    pub(crate) fn frontier_order(shape: &Shape) -> Order {
        Order(shape.levels() as u8)
    }

    /// A key's word for each order: those of the levels, and its position.
    pub(crate) fn order_words(&self, key: &[u8], age: Age, shape: &Shape) -> OrderWords {
        in_orders(&self.hash_key(age).words(key), self.position(key, age), shape.levels())
    }

    /// A key's quotient in a level, under the function that it has.
    pub(crate) fn quotient(&self, key: &[u8], level: usize, shape: &Shape) -> (Age, Quotient) {
        let (age, words, _) = self.words(key);
        (age, quotient_of(words.word(FIRST_WORD[level]), shape.slots_of(level, self.slots[age as usize])))
    }
}

/// The position of a key with this first word.
fn position_of(first_word: u64) -> u64 {
    first_word.rotate_left(32).min(LAST_POSITION)
}

fn in_orders(words: &Words<'_>, position: u64, levels: usize) -> OrderWords {
    let [first, second] = FIRST_WORD;
    match levels {
        1 => OrderWords::new(&[words.word(first), position]),
        _ => OrderWords::new(&[words.word(first), words.word(second), position]),
    }
}

/// A key's word for each of `orders` orders, under one function.
pub(crate) fn order_words(hash: &HashKey, orders: u8, key: &[u8]) -> OrderWords {
    let words = hash.words(key);
    in_orders(&words, position_of(words.word(FIRST_WORD[0])), usize::from(orders).saturating_sub(1))
}

/// A key's hash in a level. Everything but the quotient is computed on demand: most look-ups do not need it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Print<'k> {
    pub(crate) quotient: Quotient,
    words: Words<'k>,
    level: usize,
    width: u32,
}

impl<'k> Print<'k> {
    /// The hash of a key with these words, in a level of `slots` slots.
    #[inline]
    pub(crate) fn new(words: Words<'k>, level: usize, slots: u64, width: u32) -> Print<'k> {
        Print::with_first(words, words.word(FIRST_WORD[level]), level, slots, width)
    }

    /// The same, if the level's first word is known.
    #[inline]
    pub(crate) fn with_first(words: Words<'k>, first: u64, level: usize, slots: u64, width: u32) -> Print<'k> {
        Print { quotient: quotient_of(first, slots), words, level, width }
    }

    #[inline]
    pub(crate) fn behind(&self) -> Rest<'k> {
        Rest { strand: Strand::behind(self.words, FIRST_WORD[self.level]), width: self.width }
    }

    pub(crate) fn hash(&self) -> Hash {
        let behind = self.behind();
        Hash { quotient: self.quotient, remainder: behind.remainder(), tail: behind.tail() }
    }
}

/// The bits after a key's quotient.
#[derive(Clone, Debug)]
pub(crate) struct Rest<'k> {
    strand: Strand<'k>,
    width: u32,
}

impl Behind for Rest<'_> {
    #[inline]
    fn remainder(&self) -> u32 {
        self.strand.remainder(self.width, 0)
    }

    #[inline]
    fn tail(&self) -> u64 {
        let bits = |at: u32| u64::from(self.strand.bits(u64::from(self.width + at), 32));
        bits(0) | bits(32) << 32
    }
}
