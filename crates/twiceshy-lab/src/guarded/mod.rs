//! Measures a guard in front of a real store: look-ups of absent keys under friendly, skewed and hostile traffic, the
//! time to open, and the longest look-up while the filter grows.

mod absent_cache;
mod clock;
mod comparing;
mod delayed;
mod filled;
mod growing;
mod keys;
mod opening;
mod runs;
mod subject;
mod traffic;

pub use absent_cache::AbsentCache;
pub use comparing::{Comparison, Row, Settings, compare};
pub use delayed::Delayed;
pub use growing::{Growth, Waits, grow};
pub use keys::{key, value};
pub use opening::{Opening, open};
pub use runs::Spread;
pub use subject::Subject;
pub use traffic::Traffic;

use twiceshy_store::{Error, RedbError};

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardedError {
    /// The guarded store failed.
    #[error(transparent)]
    Guard(#[from] Error<RedbError>),
    /// The underlying store failed.
    #[error(transparent)]
    Store(#[from] RedbError),
    /// A folder or file could not be used.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Invalid settings.
    #[error("{0}")]
    Settings(&'static str),
    /// A look-up returned a wrong answer, so the measurement is worthless.
    #[error("a look-up returned a wrong answer")]
    Wrong,
    /// A thread that measured panicked.
    #[error("a measuring thread panicked")]
    Panicked,
}
