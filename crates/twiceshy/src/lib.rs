//! Membership filters that do not make the same mistake twice.
//!
//! A filter answers "is this key in the set?" from a few bits a key, so that most look-ups for absent keys never reach the
//! slow store that holds the set. Sometimes it says *present* for an absent key. An ordinary filter repeats that mistake
//! for ever; an [`Adaptive`](filter::Adaptive) one is told of it, and changes.
//!
//! * [`quotient`] and [`cuckoo`]: the filters. Begin with [`TelescopingFilter`](quotient::TelescopingFilter), or with
//!   [`CuckooFilter`](cuckoo::CuckooFilter) where nobody can tell whether an answer was wrong.
//! * [`filter`]: what they promise, one trait for each promise.
//! * [`remote`]: how a filter gets from a fingerprint to the keys behind it, in memory or in a store of yours.
//! * [`hash`], [`packed`], [`persist`], [`sizing`]: what they stand on.
//!
//! ```
//! use twiceshy::filter::{Adaptive, Backed, Filter};
//! use twiceshy::hash::HashKey;
//! use twiceshy::quotient::TelescopingFilter;
//! use twiceshy::remote::ByHash;
//!
//! let mut set = ByHash::new();
//! let mut filter = TelescopingFilter::options(1000, 0.01)?.build(HashKey::random()?, &mut set)?;
//! filter.insert(b"owl", &mut set)?;
//!
//! // The look-up takes no remote: it cannot touch the store.
//! if filter.contains(b"wren") {
//!     // The store said that there is no wren: the filter was wrong, and learns.
//!     filter.adapt(b"wren", &mut set)?;
//! }
//!
//! let mut file = Vec::new();
//! filter.save(&mut file)?;
//! assert!(TelescopingFilter::load(&mut file.as_slice())?.contains(b"owl"));
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
