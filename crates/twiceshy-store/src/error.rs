//! What can go wrong with a guarded store.

use std::path::PathBuf;
use twiceshy::error::OptionsError;

/// Why an operation of a guarded store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E> {
    /// The store failed. Nothing was changed, but for what a batch has committed before.
    #[error("the store failed, and nothing was changed: {0}")]
    Store(#[source] E),
    /// The store's answer to a commit was lost. The next change finds out what became of it; until then the answers for its keys
    /// come from the store.
    #[error("the store's answer to a commit was lost, so it may have happened: look the key up to find out ({0})")]
    Unknown(#[source] E),
    /// The filter that was asked for cannot be.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The store or the snapshot beside it is of a newer version.
    #[error("{what} was written by a newer version of twiceshy ({found}; this one knows {known}): use that version")]
    Newer {
        /// Which of them.
        what: String,
        /// Its version.
        found: u16,
        /// The newest version that is known here.
        known: u16,
    },
    /// The store holds something, but its record of itself is missing or damaged.
    #[error("the store's record of itself is missing or damaged: restore the store from a copy")]
    Damaged,
    /// The filter needs a larger table than there is memory for, or than can be. Nothing was changed.
    #[error("the filter finds no room for its keys, and cannot grow: is there enough memory?")]
    NoRoom,
    /// There is no store, and none was to be made.
    #[error("there is no guarded store here: make one first")]
    NoStore,
    /// There is a store, and a new one was to be made.
    #[error("there is a guarded store here already: open it, or take another place")]
    IsThere,
    /// The store was made for another filter.
    #[error("the store was made for the filter {made}, and {asked} was asked for: open it without naming a filter")]
    OtherFilter {
        /// The store's.
        made: String,
        /// What was asked for.
        asked: String,
    },
    /// No thread for the filter's work.
    #[error("the operating system gave no thread for the filter's work: {0}")]
    NoThread(#[source] std::io::Error),
    /// No randomness for the hash key.
    #[error(transparent)]
    NoEntropy(#[from] twiceshy::hash::NoEntropy),
    /// The folder or the snapshot in it could not be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What.
        #[source]
        error: std::io::Error,
    },
}
