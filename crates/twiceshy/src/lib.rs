//! Membership filters that do not make the same mistake twice.

pub mod cuckoo;
pub mod error;
pub mod filter;
pub mod hash;
pub mod packed;
pub mod persist;
pub mod remote;
mod rng;
pub mod sizing;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
