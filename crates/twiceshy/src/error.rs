//! What can go wrong, one type for each kind of operation.

use crate::remote::CommitError;

/// What can go wrong between a filter and its remote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeamError<E> {
    /// The remote failed. Neither side has changed.
    #[error("the remote failed, and nothing was changed: {0}")]
    Remote(#[source] E),
    /// The answer to a commit was lost.
    #[error(
        "the answer to a commit was lost: call `resolve` before the next change; until then every key is present ({0})"
    )]
    Unknown(#[source] E),
    /// An earlier commit's outcome is still unknown.
    #[error("an earlier commit's outcome is unknown: call `resolve` first")]
    InDoubt,
    /// The remote is at another commit than the filter.
    #[error("the filter is at commit {filter}, the remote at {remote}: rebuild the filter from the remote")]
    OutOfStep {
        /// The filter's last commit.
        filter: u64,
        /// The remote's last commit.
        remote: u64,
    },
    /// Some key of the remote has no cell in the filter.
    #[error("the filter and the remote hold different sets: rebuild the filter from the remote")]
    Disagree,
}

impl<E> SeamError<E> {
    pub(crate) fn out_of_step(filter: u64, remote: u64) -> SeamError<E> {
        SeamError::OutOfStep { filter, remote }
    }
}

/// Why an insertion failed. The filter and the remote are as they were, unless an answer was lost
/// ([`SeamError::Unknown`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError<E> {
    /// There is no room for one more key.
    #[error("the filter is full with {keys} keys in {cells} cells: grow it, or finish the growth that has begun")]
    Full {
        /// The keys in it.
        keys: u64,
        /// The cells that it has.
        cells: u64,
    },
    /// The remote failed or disagrees.
    #[error(transparent)]
    Seam(#[from] SeamError<E>),
}

/// Why a rebuild failed. The old table answers as before, unless an answer was lost ([`SeamError::Unknown`]).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebuildError<E> {
    /// The keys do not fit into the new table.
    #[error("{keys} keys or more do not fit into {cells} cells: take more cells")]
    Full {
        /// The keys to be brought over, as many as are known.
        keys: u64,
        /// The cells of the new table.
        cells: u64,
    },
    /// The new table cannot be.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// No rebuild has begun.
    #[error("no rebuild has begun: call `begin_grow` or `begin_rekey` first")]
    NotBegun,
    /// The remote failed or disagrees.
    #[error(transparent)]
    Seam(#[from] SeamError<E>),
}

/// Why a filter could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError<E> {
    /// The options cannot work together.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The remote holds a set already.
    #[error("the remote holds a set already: use `recover` to build a filter for it")]
    RemoteInUse,
    /// A filter of the quotient family was given a remote that mirrors cells.
    #[error("this filter needs a remote ordered by hash, not a mirror of cells: use `ByHash` or a store's index")]
    NeedsRemoteByHash,
    /// The remote holds no set that this kind of filter could be built for.
    #[error(
        "the remote holds no set of {expected} order(s), which this filter needs: build a new one and insert the keys"
    )]
    NothingToRecover {
        /// The orders that the filter needs.
        expected: u8,
    },
    /// Its keys do not fit.
    #[error(transparent)]
    Rebuild(#[from] RebuildError<E>),
    /// The remote failed.
    #[error(transparent)]
    Seam(#[from] SeamError<E>),
}

/// Options that cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// The tables, buckets or cells.
    #[error(transparent)]
    Shape(#[from] crate::cuckoo::ShapeError),
    /// The width of a cell.
    #[error("{0} bits: a cell or a remainder may have 2 to 32")]
    Width(u32),
    /// No key, or too many.
    #[error("room for {0} keys: 1 to 2^35 are possible")]
    Capacity(u64),
    /// A rate outside what cells can give.
    #[error("a false-positive rate of {0}: above 0 and below 1, and not under about 1e-9, is possible")]
    Rate(f64),
    /// Slots that cannot be.
    #[error("{0} slots: 1 to 2^36 are possible")]
    Slots(u64),
    /// A load that tables do not reach.
    #[error("a load of {0}: above 0 and up to 0.99 is possible")]
    Load(f64),
    /// Selectors and fingerprints do not fit into the cell.
    #[error("{0}")]
    Selector(String),
    /// A bound that leaves nothing to do.
    #[error("{0}")]
    Bound(&'static str),
    /// The cells cannot be allocated.
    #[error("{cells} cells of {width} bits cannot be allocated: take fewer cells, or a higher false-positive rate")]
    Memory {
        /// The number of cells.
        cells: u64,
        /// Their width.
        width: u32,
    },
}

impl<E> From<CommitError<E>> for SeamError<E> {
    fn from(error: CommitError<E>) -> SeamError<E> {
        match error {
            CommitError::Failed(error) => SeamError::Remote(error),
            CommitError::Unknown(error) => SeamError::Unknown(error),
            CommitError::OutOfStep { wanted, found } => {
                SeamError::OutOfStep { filter: wanted.saturating_sub(1), remote: found }
            }
        }
    }
}
