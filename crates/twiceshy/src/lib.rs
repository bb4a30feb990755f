//! Membership filters that do not make the same mistake twice.
//!
//! A filter answers "is this key in the set?" from a few bits per key, so that most look-ups for absent keys never reach the
//! slow store that holds the set. Sometimes it says *present* for an absent key. An ordinary filter repeats that mistake
//! every time; an adaptive one is told of it, and changes.
//!
//! ```
//! use twiceshy::AdaptiveFilter;
//!
//! let mut blocked = AdaptiveFilter::new(1_000, 0.01)?; // 1,000 keys, one mistake in a hundred
//! blocked.insert("203.0.113.9")?;
//! assert!(blocked.contains("203.0.113.9"));
//! if blocked.contains("198.51.100.1") {
//!     // The store says that it is not there. The filter was wrong, and learns.
//!     blocked.was_wrong("198.51.100.1")?;
//! }
//! # Ok::<(), twiceshy::Error>(())
//! ```
//!
//! * [`AdaptiveFilter`] owns a filter of any [`Kind`] and its keys. To put a filter in front of a store, use the crate
//!   `twiceshy-store`.
//! * [`CuckooFilter`] and [`QuotientFilter`] need no keys and never learn.
//! * [`memory`] keeps what was learned when a table grows, or when its hash key changes.
//! * [`quotient`] and [`cuckoo`] have every filter with its options, its costs and its paper.
//! * [`spot_check`] decides which *absent* answers are checked at the store all the same: for guards.
//! * [`filter`], [`plan`], [`growth`] and [`remote`] are for code that owns filter and keys itself: it plans a change,
//!   commits the plan's writes, and applies the plan.
//!
//! The public API is stable within a minor version, except for items that only experiments need. Those items say so.

pub use cuckoo::CuckooFilter;
pub use error::Error;
pub use filter::{Adapted, Backed, Filter};
pub use hash::HashKey;
pub use key::AsKey;
pub use kind::Kind;
pub use pair::AdaptiveFilter;
pub use quotient::QuotientFilter;

mod batch;
mod codes;
pub mod cuckoo;
pub mod error;
pub mod filter;
pub mod growth;
pub mod hash;
mod key;
mod kind;
pub mod memory;
#[doc(hidden)]
pub mod packed;
mod pair;
pub mod persist;
pub mod plan;
pub mod quotient;
pub mod remote;
mod rng;
#[doc(hidden)]
pub mod sizing;
pub mod spot_check;
#[doc(hidden)]
pub mod striped;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(feature = "count-words")]
pub mod touched;
#[cfg(not(feature = "count-words"))]
mod touched;
