//! Siblings of keys that the frontier has passed.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;
use super::siblings::store_half;

/// Deletes the upper quarter of the keys in byte order to make room. Then finds n/5 mistakes in the upper quarter,
/// inserts every second and names one of the others.
///
/// *Why it wins.* A key that takes another hash function leaves its place, together with what the filter learned there
/// about its mistakes, unless something stays behind. The key need not be deleted. n/5 mistakes move 60 % of n keys in
/// byte order, while the queries are above all of them and keep their function.
pub(super) struct SiblingsFrontier;

impl Adversary for SiblingsFrontier {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut set = notes.sorted_set();
        let upper = set.split_off(set.len() * 3 / 4);
        let above = upper.first().copied().unwrap_or_default();
        oracle.delete_all(&upper)?;
        let found = notes.find_many_above(oracle, notes.one_in(5), &above)?;
        store_half(oracle, notes, &[], &found)
    }
}
