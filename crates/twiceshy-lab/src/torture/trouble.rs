//! What stops an ordeal: a store that does wrong, or a machine that does not play along.

use super::Wrong;
use std::io;
use twiceshy_store::{Error, RedbError};

#[derive(Debug)]
pub(super) enum Trouble {
    /// The store did something wrong.
    Store(Wrong),
    /// The machine failed: a full disk, a missing right.
    Machine(io::Error),
}

impl Trouble {
    pub(super) fn answer(sentence: impl Into<String>) -> Trouble {
        Trouble::Store(Wrong::Answer(sentence.into()))
    }

    /// The same, with the damage named before it.
    pub(super) fn after(self, damage: &str) -> Trouble {
        match self {
            Trouble::Store(wrong) => Trouble::answer(format!("{damage}: {wrong}")),
            machine => machine,
        }
    }
}

impl From<Wrong> for Trouble {
    fn from(wrong: Wrong) -> Trouble {
        Trouble::Store(wrong)
    }
}

impl From<Error<RedbError>> for Trouble {
    fn from(error: Error<RedbError>) -> Trouble {
        Trouble::Store(error.into())
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Trouble {
        Trouble::Machine(error)
    }
}
