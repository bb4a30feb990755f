//! One filter across crashes and growth.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Finds n/16 mistakes each before a crash, before a growth, before another crash and after it. Names any of them.
///
/// *Why it might win.* A filter that takes a new hash function when it is recovered or grows must never take the same
/// one twice. If the new one follows from what is on disk, and the process crashes again before that is written, the
/// filter may start again with an old function. Then its old mistakes are wrong again.
pub(super) struct Lives;

impl Adversary for Lives {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let mut found = Vec::new();
        for end_of_life in [Oracle::crash, Oracle::grow, Oracle::crash, |_: &mut Oracle| Ok(())] {
            found.extend(notes.find_many(oracle, notes.one_in(16))?);
            end_of_life(oracle)?;
        }
        Ok(notes.name(oracle, found))
    }
}
