//! Errors.

use crate::engine::EngineError;
use crate::names::Shard;
use twiceshy::error::OptionsError;
use twiceshy::hash::NoEntropy;

/// Why an operation of a shared guard failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is no set in the engine.
    #[error("there is no set here: create one first")]
    NoSet,
    /// The set was dropped, and another one was made under its name. This guard has ended.
    #[error("the set was made anew: open it again")]
    MadeAnew,
    /// There is a set in the engine already.
    #[error("there is a set here already: open it, or use another name")]
    Exists,
    /// The options of a new set are invalid.
    #[error("{0}")]
    Options(String),
    /// The engine cannot promise what was asked of the set.
    #[error("this engine may lose what it has committed, so a set in it cannot be exact: choose `Within`")]
    TooWeak,
    /// The key is longer than the engine's index can hold.
    #[error("the key has {len} bytes: this engine's index holds keys of up to {longest}")]
    KeyTooLong {
        /// Its length.
        len: usize,
        /// The length of the longest key.
        longest: usize,
    },
    /// The value is longer than the engine takes in one transaction.
    #[error("the value has {len} bytes: this engine holds values of up to {longest}")]
    ValueTooLong {
        /// Its length.
        len: usize,
        /// The length of the longest value.
        longest: usize,
    },
    /// The insertion took so long that others took this process for dead and closed its announcement. Nothing was written.
    #[error("this process was silent for so long that its announcement was closed, and nothing was written: try again")]
    Overtaken,
    /// The values of the set are elsewhere.
    #[error("the values of this set are not in the engine: use `announce` and `retire`")]
    Beside,
    /// The values of the set are in the engine.
    #[error("the values of this set are in the engine: use `insert` and `remove`")]
    Owned,
    /// This process does not follow the shard of the key, so it cannot change it.
    #[error("this process does not follow shard {}, so it cannot change it: open the set with that shard", .0.0)]
    NotFollowed(Shard),
    /// The guard has ended.
    #[error("the guard has been closed")]
    Closed,
    /// The set could not be changed because others were always faster.
    #[error("others changed the set {0} times in a row before this change could be made: try again")]
    Contended(u32),
    /// The set could not be checked because others changed it meanwhile.
    #[error("others changed the set {0} times while it was checked: let them pause, or try again")]
    Moving(u32),
    /// The filter could not be changed.
    #[error("the filter could not be changed: {0}")]
    Filter(String),
}

impl From<OptionsError> for Error {
    fn from(error: OptionsError) -> Error {
        Error::Options(error.to_string())
    }
}

impl From<NoEntropy> for Error {
    fn from(error: NoEntropy) -> Error {
        Error::Options(error.to_string())
    }
}
