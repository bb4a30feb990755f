//! A remote that fails on command, every variant of a filter, and the operations that property tests and fuzzers share.
//!
//! Available with the feature `testing`, so that other stores can be tested in the same way.

mod faulty;
mod operations;
mod variant;

pub use faulty::{Fault, Faulty};
pub use operations::{Operation, decode, run, saved, statistics, stored};
pub use variant::Variant;
