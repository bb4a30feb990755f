//! What can go wrong with a guarded store.

use std::path::PathBuf;
use std::sync::Arc;
use twiceshy::error::OptionsError;

/// What helps a guard that has no rows to repair itself from.
pub(crate) const ADOPT: &str =
    "if a guard beside a store is damaged, delete its folder, open it again and call `Beside::adopt`";

/// Why an operation of a guarded store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error<E> {
    /// The store failed. Nothing was changed, except for earlier commits of the same batch.
    #[error("the store failed, and nothing was changed: {0}")]
    Store(#[source] E),
    /// The store's answer to a commit was lost. The next change finds out whether it happened. Until then the answers for
    /// its keys come from the store.
    #[error("the store's answer to a commit was lost, so it may have happened: look the key up to find out ({0})")]
    Unknown(#[source] E),
    /// The requested filter is not possible.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The store or its snapshot was written by a newer version.
    #[error("{what} was written by a newer version of twiceshy ({found}; this one knows {known}): use that version")]
    Newer {
        /// The store or the snapshot.
        what: String,
        /// Its version.
        found: u16,
        /// The newest version that is known here.
        known: u16,
    },
    /// The store is not empty, but its state record is missing or damaged.
    #[error(
        "the store's state record is missing or damaged: run `twiceshy check --repair`, or call `Guard::repair`; {}",
        ADOPT
    )]
    Damaged,
    /// The store has values, and nothing else that a guard would have written. Nothing was changed.
    #[error(
        "the store has entries that no guard wrote: take them over with `Options::take_over`, or use an empty store \
         (if it was guarded before, run `twiceshy check --repair`)"
    )]
    NotGuarded,
    /// The store's index does not match its keys: an entry is damaged or missing. Nothing was changed. Look-ups are answered
    /// by the store; changes fail until the index is repaired.
    #[error("the store's index is damaged: run `twiceshy check --repair`, or call `Guard::repair`; {}", ADOPT)]
    Inconsistent,
    /// A value has a wrong checksum: its bytes have changed in the store.
    #[error("the value of the key {key} is damaged: insert it again, or remove it")]
    DamagedValue {
        /// The beginning of the key, with bytes that are not printable as escapes.
        key: String,
    },
    /// The key is longer than the store's [`longest_key`](crate::Store::longest_key) allows. Nothing was changed.
    #[error("the key has {len} bytes, and this store takes keys of up to {longest}")]
    KeyTooLong {
        /// The length of the key.
        len: usize,
        /// The length of the longest key that can be inserted.
        longest: usize,
    },
    /// The store was opened for reading.
    #[error("the store was opened for reading, so it cannot be changed")]
    ReadOnly,
    /// The guard was closed before its filter was rebuilt. The store is intact, and the next open rebuilds the filter.
    #[error("the store was closed while its filter was being rebuilt: open it again")]
    Interrupted,
    /// The filter needs a larger table than memory or the format allows. Nothing was changed.
    #[error("the filter is full and cannot grow: there may not be enough memory")]
    NoRoom,
    /// There is no store, and the options do not create one.
    #[error("there is no guarded store here: create one first")]
    NoStore,
    /// There is a store already, and the options ask for a new one.
    #[error("a guarded store exists here already: open it, or use another path")]
    IsThere,
    /// The store was created with another filter.
    #[error("the store was created with the filter {made}, not {asked}: open it without naming a filter")]
    OtherFilter {
        /// The store's filter.
        made: String,
        /// The requested filter.
        asked: String,
    },
    /// The folder belongs to a guard beside a store.
    #[error("this guard stands beside a store and has its keys alone: open it with `Guard::beside`; {}", ADOPT)]
    IsBeside,
    /// The folder belongs to a guard that owns its store.
    #[error("this guard owns its store: open it with `Guard::open`, or use another folder for a guard beside a store")]
    IsOwned,
    /// The commit that several tickets shared failed: the message of its error.
    #[error("{0}")]
    Shared(Arc<str>),
    /// The guard was closed. A ticket counts as open.
    #[error("the guard was closed: open it again")]
    Closed,
    /// A thread could not be started.
    #[error("the operating system gave no thread for the filter's work: {0}")]
    NoThread(#[source] std::io::Error),
    /// The operating system gave no random bytes for the hash key.
    #[error(transparent)]
    NoEntropy(#[from] twiceshy::hash::NoEntropy),
    /// The folder or the snapshot in it could not be read or written.
    #[error("{}: {error}", .path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The error.
        #[source]
        error: std::io::Error,
    },
}
