//! One filter, several lives.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Finds n/16 mistakes each before a crash, before a growth, before another crash and after it. Names one of them, from
/// whatever time.
///
/// *Why it might win.* A filter that takes a new hash function when it is recovered or grows must never take the same one
/// twice. If the new one follows from what is on disk, and the process dies again before that is written, the second life
/// may begin with the function of the first. Then its mistakes are wrong once more.
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
