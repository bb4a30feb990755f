//! Who attacks, by the names that the command takes.

use super::GameError;
use super::cyclic::Cyclic;
use super::delete_reinsert::DeleteReinsert;
use super::fresh::Fresh;
use super::notes::Notes;
use super::oracle::{Key, Oracle};
use super::repeat::Repeat;
use super::rounds::Rounds;
use super::swapping::Swapping;
use super::unfixable::Unfixable;
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
    /// Seeks a key that is wrong under all functions of a cell: 000 Theorem 9.
    Cyclic,
    /// Seeks a key that is wrong in whatever order a bucket's keys stand: 000 Theorem 10.
    Swapping,
    /// The birthday attack of 000 Theorem 12.
    Unfixable,
}

impl AdversaryName {
    /// All names.
    pub const ALL: [AdversaryName; 7] = [
        AdversaryName::Fresh,
        AdversaryName::Repeat,
        AdversaryName::Rounds,
        AdversaryName::DeleteReinsert,
        AdversaryName::Cyclic,
        AdversaryName::Swapping,
        AdversaryName::Unfixable,
    ];

    /// The name as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            AdversaryName::Fresh => "fresh",
            AdversaryName::Repeat => "repeat",
            AdversaryName::Rounds => "rounds",
            AdversaryName::DeleteReinsert => "delete-reinsert",
            AdversaryName::Cyclic => "cyclic",
            AdversaryName::Swapping => "swapping",
            AdversaryName::Unfixable => "unfixable",
        }
    }

    /// Whether it names a key that it has searched for, or gives up: it minds the [`Tactics`](super::Tactics), and the
    /// report says how the search went.
    pub fn searches(self) -> bool {
        matches!(self, AdversaryName::Cyclic | AdversaryName::Swapping | AdversaryName::Unfixable)
    }

    /// The adversary of this name.
    pub(super) fn adversary(self) -> &'static dyn Adversary {
        match self {
            AdversaryName::Fresh => &Fresh,
            AdversaryName::Repeat => &Repeat,
            AdversaryName::Rounds => &Rounds,
            AdversaryName::DeleteReinsert => &DeleteReinsert,
            AdversaryName::Cyclic => &Cyclic,
            AdversaryName::Swapping => &Swapping,
            AdversaryName::Unfixable => &Unfixable,
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
