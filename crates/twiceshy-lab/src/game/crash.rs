//! What a filter forgets in a crash.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Finds n/8 mistakes, which the filter fixes; crashes the process, so that the filter is recovered from its remote;
/// names one of the mistakes.
///
/// *Why it wins.* The remote has the keys, but not what was learned about them. A filter that is recovered under the
/// same hash function makes every old mistake again.
pub(super) struct Crash;

impl Adversary for Crash {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let found = notes.find_many(oracle, notes.one_in(8))?;
        oracle.crash()?;
        Ok(notes.name(oracle, found))
    }
}
