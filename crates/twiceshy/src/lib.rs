//! Membership filters that do not make the same mistake twice.
//!
//! A filter answers "is this key in the set?" from a few bits a key, so that most look-ups for absent keys never reach the
//! slow store that holds the set. Sometimes it says *present* for an absent key. An ordinary filter repeats that mistake
//! for ever; an [`AdaptiveFilter`] is told of it, and changes.
//!
//! * [`AdaptiveFilter`]: a filter with the keys behind its fingerprints, in memory or in a store of yours. Begin here.
//! * [`quotient`] and [`cuckoo`]: the filters, [`Kind`] by kind. [`CuckooFilter`](cuckoo::CuckooFilter) needs no keys, and
//!   does not learn: for sets where nobody can tell whether an answer was wrong.
//! * [`filter`]: what they promise, one trait for each promise. [`plan`], [`growth`]: for owners of a filter and its keys.
//! * [`remote`]: how a filter gets from a fingerprint to the keys behind it, in memory or in a store of yours.
//! * [`hash`], [`packed`], [`persist`], [`sizing`]: what they stand on.
//!
//! ```
//! use twiceshy::AdaptiveFilter;
//!
//! let mut filter = AdaptiveFilter::new(1_000, 0.01)?;
//! filter.insert("owl")?;
//!
//! // A look-up reads the filter's own bits, never the keys behind them.
//! if filter.contains("wren") {
//!     // The store said that there is no wren: the filter was wrong, and learns.
//!     filter.was_wrong("wren")?;
//! }
//!
//! let mut file = Vec::new();
//! filter.save(&mut file)?;
//! let (loaded, sequence) = filter.filter().kind().load(&mut file.as_slice())?;
//! let filter = AdaptiveFilter::from_parts(loaded, sequence, filter.into_remote())?;
//! assert!(filter.contains("owl"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use error::Error;
pub use key::AsKey;
pub use kind::Kind;
pub use pair::AdaptiveFilter;

mod codes;
pub mod cuckoo;
pub mod error;
pub mod filter;
pub mod growth;
pub mod hash;
mod key;
mod kind;
pub mod packed;
mod pair;
pub mod persist;
pub mod plan;
pub mod quotient;
pub mod remote;
mod rng;
pub mod sizing;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "count-words")]
pub mod touched;
#[cfg(not(feature = "count-words"))]
mod touched;
