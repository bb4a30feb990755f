//! What the papers predict: the rates that an experiment's measurements are held against.
//!
//! [`static_rate`] for keys that were never asked for before, [`cyclic`] for the Cyclic adaptive cuckoo filter under
//! uniformly repeated queries (003 sections 3.1 and 3.2).

mod counts;
pub mod cyclic;
mod harmonic;
mod laplace;
pub mod static_rate;

pub use cyclic::{CyclicModel, EmptyCell, ModelError};
