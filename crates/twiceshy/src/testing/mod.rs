//! A remote that fails on command, every variant of a filter, and the operations that property tests and fuzzers share.
//!
//! Behind the feature `testing`, so that a store of your own can be put through the same mill.

mod faulty;
mod operations;
mod variant;

pub use faulty::{Fault, Faulty};
pub use operations::{Operation, decode, run, saved, statistics, stored};
pub use variant::Variant;
