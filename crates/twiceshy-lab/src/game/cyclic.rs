//! The attack on cyclic selectors.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;
use super::stubborn::stubborn;

/// 000 Theorem 9: asks a random key 2^s times, once for each fingerprint function of a cell. If it was wrong each time,
/// it is named. Otherwise another key is tried, up to c/ε^(2^s) keys.
///
/// *Why it wins.* A cell that does not match is not changed, and nothing else happens between the look-ups of a key, so
/// that cell will not match the key later. So if the key was wrong 2^s times, one cell has matched it every time. Its
/// selector has gone through all functions and is back where it began, so the named key is certainly wrong, however
/// many other cells matched and moved on meanwhile. The same holds if an owner could not be determined and the cell did
/// not change.
///
/// *How many keys.* In the proof ε is the probability that two fingerprints agree, 1/v with v values, since a table
/// there has N = n cells. The same ε is used here, not the static rate, which is d·load times as large. Of the d·load
/// keys that a query meets, one agrees in all functions with probability d·load/v^(2^s). With c = 2 and 4×1 cells at 95
/// % the search fails once in e^7.6 = 2,000 games, for any s and v. At s = 3 and 4 bits that is 8·10^9 keys, so the
/// bound on look-ups ends the search.
///
/// *Departure.* After a correct answer a key is not asked again: the answer would be the same.
pub(super) struct Cyclic;

impl Adversary for Cyclic {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let functions = notes.functions(notes.anatomy().functions, 2);
        let elements = notes.tactics().elements(notes.anatomy().values, functions);
        stubborn(oracle, notes, functions, elements).map(Named::one)
    }
}
