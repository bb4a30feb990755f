//! The subjects of the comparison.

use serde::Serialize;
use std::fmt;
use twiceshy_store::{Adapt, Kind};

/// What is in front of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Nothing.
    Bare,
    /// A quotient filter that never learns.
    Plain,
    /// The same, with a cache of the keys it was wrong about; together as large as the adaptive filter.
    PlainAndCache,
    /// A telescoping filter that learns from every mistake: the default of a guard.
    Adaptive,
    /// A telescoping filter that learns when it pays off.
    Sparing,
}

impl Subject {
    /// All of them.
    pub const ALL: [Subject; 5] =
        [Subject::Bare, Subject::Plain, Subject::PlainAndCache, Subject::Adaptive, Subject::Sparing];

    /// The filter of the store it is measured on.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Subject::Bare | Subject::Plain | Subject::PlainAndCache => Kind::Quotient,
            Subject::Adaptive | Subject::Sparing => Kind::Telescoping,
        }
    }

    pub(crate) fn adapt(self) -> Adapt {
        match self {
            Subject::Bare | Subject::Plain | Subject::PlainAndCache => Adapt::Never,
            Subject::Adaptive => Adapt::default(),
            Subject::Sparing => Adapt::WhenItPays,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Subject::Bare => "no filter",
            Subject::Plain => "plain",
            Subject::PlainAndCache => "plain + cache",
            Subject::Adaptive => "adaptive",
            Subject::Sparing => "sparing",
        })
    }
}
