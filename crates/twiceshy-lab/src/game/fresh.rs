//! The single-query adversary of 001's Definition 2.

use super::GameError;
use super::adversary::Adversary;
use super::named::Named;
use super::notes::Notes;
use super::oracle::Oracle;

/// Asks nothing and names a key that was never asked: it wins at the filter's static rate, whatever the filter learns.
pub(super) struct Fresh;

impl Adversary for Fresh {
    fn play(&self, _: &mut Oracle, notes: &mut Notes) -> Result<Named, GameError> {
        Ok(Named::one(notes.fresh()))
    }
}
