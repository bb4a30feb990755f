//! Errors.

use crate::hash::NoEntropy;
use crate::remote::{CommitError, RemoteError};

/// Why an operation could not be planned. Nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is no room for one more key.
    #[error("the filter is full with {keys} keys in {cells} cells: grow it, or finish the growth that has begun")]
    Full {
        /// The number of keys.
        keys: u64,
        /// The number of cells.
        cells: u64,
    },
    /// The keys could not be read.
    #[error("the remote could not be read, and nothing was changed: {0}")]
    Keys(#[source] RemoteError),
    /// The options of a new table are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// No rebuild has begun within the filter. Most filters never have one: they are rebuilt by filling a
    /// [successor](crate::filter::Backed::successor).
    #[error("no rebuild has begun within this filter")]
    NotRebuilding,
    /// The filter rebuilds itself, so it cannot be filled as a successor.
    #[error("this filter has no successor to fill: it rebuilds itself")]
    NoSuccessor,
    /// Some key of the remote has no cell in the filter.
    #[error("the filter and the remote hold different sets: rebuild the filter from the remote")]
    Disagree,
}

impl From<RemoteError> for PlanError {
    fn from(error: RemoteError) -> PlanError {
        PlanError::Keys(error)
    }
}

/// The plan was made for another filter, or before another change. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plan was made for another state of the filter: make a new one")]
pub struct StalePlan;

/// Why an operation of an [`AdaptiveFilter`](crate::AdaptiveFilter) failed.
///
/// Filter and remote are unchanged, except after [`Error::Unknown`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no room for one more key, or for all keys in a new table.
    #[error(
        "no room for more than {keys} keys in {cells} cells: build a larger filter from all keys, or, if it has a remote, grow it"
    )]
    Full {
        /// The keys that the filter holds.
        keys: u64,
        /// The cells of the table that is full.
        cells: u64,
    },
    /// The remote failed. Neither side has changed.
    #[error("the remote failed, and nothing was changed: {0}")]
    Remote(#[source] RemoteError),
    /// The answer to a commit was lost.
    #[error("the answer to a commit was lost: call `resolve` before the next change ({0})")]
    Unknown(#[source] RemoteError),
    /// An earlier commit's outcome is still unknown.
    #[error("an earlier commit's outcome is unknown: call `resolve` first")]
    InDoubt,
    /// Filter and remote are at different commits.
    #[error("the filter is at commit {filter}, the remote at {remote}: rebuild the filter from the remote")]
    OutOfStep {
        /// The filter's last commit.
        filter: u64,
        /// The remote's last commit.
        remote: u64,
    },
    /// The remote is at the filter's commit number, but is not its remote: it has other hash keys, or its last commit was made
    /// by another filter.
    #[error("this is not the filter's remote: use its own, or rebuild the filter from this one")]
    OtherRemote,
    /// Some key of the remote has no cell in the filter.
    #[error("the filter and the remote hold different sets: rebuild the filter from the remote")]
    Disagree,
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The remote already holds a set.
    #[error("the remote already holds a set: use `recover` to build a filter for it")]
    RemoteInUse,
    /// A filter of the quotient family was given a remote that mirrors cells.
    #[error("this filter needs a remote ordered by hash, not a mirror of cells: use `ByHash` or a store's index")]
    NeedsRemoteByHash,
    /// The remote holds no set that fits this kind of filter.
    #[error(
        "the remote holds no set of {expected} order(s), which this filter needs: build a new one and insert the keys"
    )]
    NothingToRecover {
        /// The number of orders that the filter needs.
        expected: u8,
    },
    /// No rebuild has begun, or it was given up because the new table was full.
    #[error("no rebuild has begun: call `begin_grow` or `begin_rekey` first")]
    NotRebuilding,
    /// The operating system gave no random bytes for a hash key.
    #[error(transparent)]
    NoEntropy(#[from] NoEntropy),
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Error {
        match error {
            PlanError::Full { keys, cells } => Error::Full { keys, cells },
            PlanError::Keys(error) => Error::Remote(error),
            PlanError::Options(error) => Error::Options(error),
            PlanError::NotRebuilding | PlanError::NoSuccessor => Error::NotRebuilding,
            PlanError::Disagree => Error::Disagree,
        }
    }
}

impl From<StalePlan> for Error {
    fn from(_: StalePlan) -> Error {
        Error::Disagree
    }
}

impl From<CommitError> for Error {
    fn from(error: CommitError) -> Error {
        match error {
            CommitError::Failed(error) => Error::Remote(error),
            CommitError::Unknown(error) => Error::Unknown(error),
            CommitError::OtherHistory => Error::OtherRemote,
            CommitError::OutOfStep { wanted, found } => {
                Error::OutOfStep { filter: wanted.saturating_sub(1), remote: found }
            }
        }
    }
}

/// Invalid options.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// Invalid tables, buckets or cells.
    #[error(transparent)]
    Shape(#[from] crate::cuckoo::ShapeError),
    /// Invalid width of a cell.
    #[error("a cell or remainder must have 2 to 32 bits, not {0}")]
    Width(u32),
    /// Invalid capacity.
    #[error("the capacity must be 1 to 2^35 keys, not {0}")]
    Capacity(u64),
    /// A rate that cells cannot provide.
    #[error("the false-positive rate must be between 1e-9 and 1, not {0}")]
    Rate(f64),
    /// Invalid number of slots.
    #[error("a table must have 1 to 2^36 slots, not {0}")]
    Slots(u64),
    /// A load that tables cannot reach.
    #[error("the load must be above 0 and at most 0.99, not {0}")]
    Load(f64),
    /// Selectors and fingerprints do not fit into the cell.
    #[error("{0}")]
    Selector(String),
    /// An invalid bound.
    #[error("{0}")]
    Bound(&'static str),
    /// The cells cannot be allocated.
    #[error("{cells} cells of {width} bits cannot be allocated: use fewer cells, or a higher false-positive rate")]
    Memory {
        /// The number of cells.
        cells: u64,
        /// Their width.
        width: u32,
    },
}
