//! What a filter forgets when it grows.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Finds n/8 mistakes, which the filter fixes; makes it grow to twice its cells; names one of them.
///
/// *Why it wins.* A larger table is filled from the keys, without what was learned from mistakes. Under the same hash
/// function a mistake shares all bits of the old fingerprint with its key, and one more bit agrees by chance half the
/// time.
pub(super) struct Growth;

impl Adversary for Growth {
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        let found = notes.find_many(oracle, notes.one_in(8))?;
        oracle.grow()?;
        Ok(notes.name(oracle, found))
    }
}
