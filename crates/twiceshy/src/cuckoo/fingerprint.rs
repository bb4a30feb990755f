//! From hash words to what a cell holds.

use super::adapt::Adapting;
use super::options::RuleSpec;
use super::shape::Spot;
use crate::hash::{Words, reduce};

/// The number of a fingerprint function: the selector of a Cyclic cell, the cell number in Swapping, the table in
/// Cuckooing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Function(pub u8);

/// The cell values that a fingerprint function takes: `start .. start + len`. Value 0 of a cell means empty and belongs
/// to none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// The first value.
    pub start: u64,
    /// How many there are.
    pub len: u64,
}

impl Values {
    /// All values of a cell of this width except the empty one.
    pub(crate) fn all(width: u32) -> Values {
        Values { start: 1, len: (1 << width) - 1 }
    }

    /// The value for a hash word; its high bits decide.
    #[inline]
    pub(crate) fn pick(self, word: u64) -> u32 {
        (self.start + reduce(word, self.len)) as u32
    }
}

/// What decides which function a cell uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Every cell uses function 0.
    First,
    /// The cell's number in its bucket is the function's.
    ByCell,
    /// The table's number is the function's.
    ByTable,
    /// The table's number and the cell's number in its bucket.
    BySpot,
    /// The cell's value.
    ByValue {
        /// The number of functions. Their values are disjoint.
        functions: u8,
    },
}

/// A filter's fingerprint rule: which function a cell uses, and which values that function takes.
///
/// The full-key cuckoo filters differ only in this rule when they look up, insert and remove. Only this library implements
/// it: what a cell means is part of the file format.
pub trait Rule: Clone + std::fmt::Debug + Send + Sync + Adapting + 'static {
    /// The options that make such rules.
    type Spec: RuleSpec<Rule = Self>;

    /// `true` if the spot alone says which function a cell uses. Then a bucket is compared all at once.
    const BY_SPOT: bool;

    /// `true` if the cells of a bucket use different functions.
    const BY_CELL: bool = false;

    /// `true` if a look-up may need more than two functions.
    const MANY: bool = false;

    /// `true` if the table may have overlapping buckets.
    const OVERLAPS: bool = false;

    /// `true` if mistakes that cannot be fixed go to a list of exceptions.
    const LISTS: bool = false;

    /// What [`Rule::function`] depends on.
    fn choice(&self) -> Choice;

    /// The function that made the value in a cell at this spot.
    fn function(&self, spot: Spot, value: u32) -> Function;

    /// The function for a key that arrives at this spot. `carried` is the one that it had before; a new key has function 0.
    fn arriving(&self, spot: Spot, carried: Function) -> Function;

    /// The values that a function takes.
    fn values(&self, function: Function) -> Values;

    /// The bytes that the rule has allocated, beyond its own size.
    fn allocated_bytes(&self) -> usize {
        0
    }
}

/// The number of fingerprints in a hash word: four of 16 bits for cells up to 12 bits, two of 32 up to 24 bits, else one of
/// 64. The spare bits keep the range reduction's bias below what 10^7 look-ups can show.
///
/// Returned as the exponent: 2, 1 or 0.
pub(super) fn sharing(width: u32) -> u32 {
    match width {
        0..=12 => 2,
        13..=24 => 1,
        _ => 0,
    }
}

/// The fingerprints of one key. The hash word of the first functions is computed at once, since nearly every look-up needs
/// it. The next one is computed on demand and kept; the others are computed on each use.
pub(crate) struct Prints<'k> {
    words: Words<'k>,
    /// The first hash word that the buckets do not use.
    base: u64,
    /// 2^sharing fingerprints come from one word.
    sharing: u32,
    first: u64,
    second: Option<u64>,
}

impl<'k> Prints<'k> {
    #[inline(always)]
    pub(crate) fn new(words: Words<'k>, base: u64, width: u32) -> Prints<'k> {
        Prints::with_first(words, base, width, words.word(base))
    }

    /// The same, if the first hash word is known.
    #[inline(always)]
    pub(crate) fn with_first(words: Words<'k>, base: u64, width: u32, first: u64) -> Prints<'k> {
        Prints { words, base, sharing: sharing(width), first, second: None }
    }

    /// The value that `function` gives the key, among `values`.
    #[inline(always)]
    pub(crate) fn value(&mut self, Function(function): Function, values: Values) -> u32 {
        let (at, slice) = (u64::from(function) >> self.sharing, u64::from(function) & ((1 << self.sharing) - 1));
        let word = if at == 0 { self.first } else { self.later(at) };
        // Moves the slice to the top of the word, and drops the bits below it.
        let bits = 64 >> self.sharing;
        values.pick((word >> (slice * bits)) << (64 - bits))
    }

    #[inline(never)]
    fn later(&mut self, at: u64) -> u64 {
        match (at, self.second) {
            (1, Some(second)) => second,
            (1, None) => *self.second.insert(self.words.word(self.base + 1)),
            _ => self.words.word(self.base + at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::HashKey;

    #[test]
    fn fingerprints_take_all_their_values_evenly() {
        let hash = HashKey::fixed(1);
        let values = Values { start: 5, len: 24 };
        for width in [5, 12, 13, 24, 25, 32] {
            for function in [0u8, 1, 3, 4, 8] {
                let mut seen = [0f64; 24];
                for i in 0..24_000u64 {
                    let bytes = i.to_le_bytes();
                    let value = Prints::new(hash.words(&bytes), 2, width).value(Function(function), values);
                    seen[value as usize - 5] += 1.0;
                }
                let chi_square: f64 = seen.iter().map(|n| (n - 1000.0).powi(2) / 1000.0).sum();
                // 23 degrees of freedom: mean 23, standard deviation 6.8.
                assert!((3.0..58.0).contains(&chi_square), "width {width} function {function}: {chi_square}");
            }
        }
    }

    #[test]
    fn functions_of_one_key_are_independent() {
        let hash = HashKey::fixed(2);
        for width in [8, 16, 32] {
            let mut equal = 0;
            for i in 0..200_000u64 {
                let bytes = i.to_le_bytes();
                let mut prints = Prints::new(hash.words(&bytes), 2, width);
                let values = Values { start: 1, len: 100 };
                equal += u32::from(prints.value(Function(0), values) == prints.value(Function(1), values));
            }
            // 2,000 expected, standard deviation 44.5.
            assert!((1_800..2_200).contains(&equal), "width {width}: {equal}");
        }
    }

    #[test]
    fn the_widest_cells_still_fit_their_values() {
        let hash = HashKey::fixed(3);
        let all = Values::all(32);
        assert_eq!(all.start + all.len, 1 << 32);
        for i in 0..1000u64 {
            assert_ne!(Prints::new(hash.words(&i.to_le_bytes()), 2, 32).value(Function(0), all), 0);
        }
    }
}
