//! What a filter forgets when its process dies.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Finds n/8 mistakes, which the filter fixes; has the process die and the filter recovered from its remote; names one of
/// them.
///
/// *Why it wins.* The remote has the keys, not what was learned about them. A filter that is recovered under the same hash
/// function makes every old mistake again.
pub(super) struct Crash;

impl Adversary for Crash {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let found = notes.find_many(oracle, notes.one_in(8))?;
        oracle.crash()?;
        Ok(notes.name(oracle, found))
    }
}
