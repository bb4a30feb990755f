//! Who attacks, by the names that the command takes.

use super::GameError;
use super::delete_reinsert::DeleteReinsert;
use super::fresh::Fresh;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::repeat::Repeat;
use super::rounds::Rounds;
use std::fmt;
use std::str::FromStr;

/// A way to play.
pub(super) trait Adversary: Sync {
    /// Plays one game and names a key. Naming is not asking: the filter is not told.
    fn play(&self, oracle: &mut Oracle, notes: &mut Notes) -> Result<Key, GameError>;
}

/// An adversary that the lab knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdversaryName {
    /// Asks nothing, and names a key at random.
    Fresh,
    /// Asks the mistakes that it found again and again.
    Repeat,
    /// The attack in rounds of 001 section 6.1.
    Rounds,
    /// The timing attack of 001 section 4.3.
    DeleteReinsert,
}

impl AdversaryName {
    /// All names.
    pub const ALL: [AdversaryName; 4] =
        [AdversaryName::Fresh, AdversaryName::Repeat, AdversaryName::Rounds, AdversaryName::DeleteReinsert];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            AdversaryName::Fresh => "fresh",
            AdversaryName::Repeat => "repeat",
            AdversaryName::Rounds => "rounds",
            AdversaryName::DeleteReinsert => "delete-reinsert",
        }
    }

    /// The adversary of this name.
    pub(super) fn adversary(self) -> &'static dyn Adversary {
        match self {
            AdversaryName::Fresh => &Fresh,
            AdversaryName::Repeat => &Repeat,
            AdversaryName::Rounds => &Rounds,
            AdversaryName::DeleteReinsert => &DeleteReinsert,
        }
    }
}

impl fmt::Display for AdversaryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for AdversaryName {
    type Err = String;

    fn from_str(text: &str) -> Result<AdversaryName, String> {
        let known = || AdversaryName::ALL.map(AdversaryName::as_str).join(", ");
        AdversaryName::ALL
            .into_iter()
            .find(|name| name.as_str() == text)
            .ok_or_else(|| format!("there is no adversary `{text}` here: {}", known()))
    }
}
