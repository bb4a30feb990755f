//! Hostile remotes, an exact oracle, and the operations that property tests and fuzzers share.
//!
//! Behind the feature `testing`, so that a store of your own can be put through the same mill.

mod faulty;
mod operations;
mod subject;
mod through;

pub use faulty::{Faulty, Injected};
pub use operations::{Operation, decode, run};
pub use subject::{Subject, Variant, build};
