//! The attack on cells that change places.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;
use super::stubborn::stubborn;

/// How often a key must have been wrong in a row, for each cell of a bucket.
const TIMES_A_CELL: u64 = 8;

/// 000 Theorem 10, whose proof the paper leaves to the reader of Theorem 9: asks random keys, each again and again while it
/// is wrong, and names the first that was wrong 8·b times in a row; up to c/ε^b keys.
///
/// *Whom it looks for.* A query is wrong in whatever order a bucket's keys stand if one of the keys agrees with it under
/// all b functions, as the theorem has it: probability ε^b for each key, with ε = 1/v for v values. With 7.6 keys in two
/// buckets at 95 % load, c = 2 leaves out one game in e^15. It is so too if all keys of a full bucket agree with it under
/// *one* function: whoever is swapped into that cell collides again. Over all filters this is as likely, but it needs a
/// bucket whose keys agree among themselves, and there are n/v^(b − 1) of those in a filter: it helps where that is above 1,
/// at 4 bits and 1,000 keys in three filters of ten. An empty cell ruins the second way, not the first. (By the theorem of
/// Frobenius and König there are larger patterns, i keys in b + 1 − i cells, with powers of ε above b.)
///
/// *How often it asks.* Cyclic's selector visits all functions in 2^s steps. The swap draws a random other cell, so that b
/// look-ups prove nothing: a key that agrees in all cells but one survives a step with probability (b − 2)/(b − 1), and there
/// are b·v times as many of those. After 8·b = 32 look-ups one in 300,000 is left, few enough up to 8 bits. Since most keys
/// are right at once, this hardly adds to the queries: c/ε^b and not b times as many.
///
/// *What it may name wrongly.* A key that is right in a few of the 24 orders only. It survives, is named, and loses when
/// the last swap has found such an order. The filter adapts the first colliding cell alone, so a second collision with the
/// query keeps it wrong in the meantime, and does no harm to the attack.
pub(super) struct Swapping;

impl Adversary for Swapping {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let functions = notes.functions(notes.anatomy().cells_per_bucket, 4);
        let elements = notes.tactics().elements(notes.anatomy().values, functions);
        stubborn(oracle, notes, TIMES_A_CELL * functions, elements).map(Named::one)
    }
}
