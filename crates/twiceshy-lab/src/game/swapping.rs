//! The attack on swapped cells.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;
use super::stubborn::stubborn;

/// How often a key must have been wrong in a row, per cell of a bucket.
const TIMES_PER_CELL: u64 = 8;

/// 000 Theorem 10, whose proof the paper leaves to the reader of Theorem 9: asks random keys, each repeatedly while it
/// is wrong, and names the first that was wrong 8·b times in a row; up to c/ε^b keys.
///
/// *What it looks for.* A query is wrong in every order of a bucket's keys if one of the keys agrees with it under all
/// b functions, as in the theorem: probability ε^b for each key, with ε = 1/v for v values. With 7.6 keys in two
/// buckets at 95 % load, c = 2 fails in one game of e^15. A query is also always wrong if all keys of a full bucket
/// agree with it under *one* function: every key swapped into that cell collides again. Over all filters this is as
/// likely, but it needs a bucket whose keys agree among themselves, and a filter has n/v^(b − 1) of those. It helps if
/// that is above 1: at 4 bits and 1,000 keys, in three filters of ten. An empty cell rules out the second way, not the
/// first. (By the theorem of Frobenius and König there are larger patterns, i keys in b + 1 − i cells, with powers of ε
/// above b.)
///
/// *How often it asks.* Cyclic's selector visits all functions in 2^s steps. The swap draws a random other cell, so b
/// look-ups prove nothing: a key that agrees in all cells but one survives a step with probability (b − 2)/(b − 1), and
/// there are b·v times as many of those. After 8·b = 32 look-ups one in 300,000 is left, few enough up to 8 bits. Most
/// keys are right the first time, so this hardly adds to the queries: c/ε^b and not b times as many.
///
/// *Wrongly named keys.* A key may be right in only a few of the 24 orders. It survives, is named, and loses if the
/// last swap has reached such an order. The filter adapts only the first colliding cell, so a second collision with the
/// query keeps it wrong in the meantime, which does not harm the attack.
pub(super) struct Swapping;

impl Adversary for Swapping {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let functions = notes.functions(notes.anatomy().cells_per_bucket, 4);
        let elements = notes.tactics().elements(notes.anatomy().values, functions);
        stubborn(oracle, notes, TIMES_PER_CELL * functions, elements).map(Named::one)
    }
}
