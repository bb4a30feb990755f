//! What a guard is worth before a real store, measured: look-ups of absent keys under friendly, skewed and hostile traffic, the
//! time to open, and the longest look-up while the filter grows.

mod absent_cache;
mod clock;
mod comparing;
mod delayed;
mod filled;
mod growing;
mod keys;
mod opening;
mod subject;
mod traffic;

pub use absent_cache::AbsentCache;
pub use comparing::{Comparison, Row, Settings, compare};
pub use delayed::Delayed;
pub use growing::{Growth, Waits, grow};
pub use keys::{key, value};
pub use opening::{Opening, open};
pub use subject::Subject;
pub use traffic::Traffic;

use twiceshy_store::{Error, RedbError};

/// Why a measurement was given up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardedError {
    /// The guarded store failed.
    #[error(transparent)]
    Guard(#[from] Error<RedbError>),
    /// The store itself did.
    #[error(transparent)]
    Store(#[from] RedbError),
    /// A folder or file could not be used.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Settings that measure nothing.
    #[error("{0}")]
    Settings(&'static str),
    /// A key was not where it belongs: the measurement would be worthless.
    #[error("a look-up was answered wrongly")]
    Wrong,
    /// A thread that measured panicked.
    #[error("a measuring thread panicked")]
    Panicked,
}
