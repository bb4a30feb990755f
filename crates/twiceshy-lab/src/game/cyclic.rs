//! The attack on selectors that come round again.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;
use super::stubborn::stubborn;

/// 000 Theorem 9: asks a random key 2^s times, once for each fingerprint function of a cell. If it was wrong each time, it
/// is named; else another key is tried, up to c/ε^(2^s) of them.
///
/// *Why it wins.* A cell that does not match is left alone, and nothing else happens between the look-ups of a key: it will
/// not match that key again. So if the key was wrong 2^s times, one cell has matched it every time. Its selector has gone
/// through all functions and stands where it began, and the named key is wrong for certain, however many other cells
/// matched and moved on meanwhile. That is so as well where an owner could not be told and the cell stayed as it was.
///
/// *How many keys.* In the proof ε is the chance that two fingerprints agree, 1/v with v values, since there a table has
/// N = n cells; and so it is here, not the static rate, which is d·load times as much. Of d·load keys that a query meets one
/// agrees in all functions with probability d·load/v^(2^s): with c = 2 and 4×1 cells at 95 % the search fails once in e^7.6
/// = 2,000 games, whatever s and v. At s = 3 and 4 bits that is 8·10^9 keys: the bound on look-ups ends it.
///
/// *Departure.* A key that is right is not asked for the rest of its 2^s times: it would be right again.
pub(super) struct Cyclic;

impl Adversary for Cyclic {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let functions = notes.functions(notes.anatomy().functions, 2);
        let elements = notes.tactics().elements(notes.anatomy().values, functions);
        stubborn(oracle, notes, functions, elements).map(Named::one)
    }
}
