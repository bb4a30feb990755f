//! What the papers predict: the rates that an experiment's measurements are held against.
//!
//! [`static_rate`] for keys that were never asked for before, [`cyclic`] for the Cyclic adaptive cuckoo filter under
//! uniformly repeated queries (003 sections 3.1 and 3.2), [`flows`] for the same filter where keys are asked for at
//! different rates, [`selectors`] for how far the hash selectors of a telescoping
//! filter move and what they cost (004, Lemma 2 to Theorem 4).

mod counts;
pub mod cyclic;
pub mod flows;
mod harmonic;
mod laplace;
mod sampling;
pub mod selectors;
pub mod static_rate;
pub mod swapping;

pub use cyclic::{CyclicModel, EmptyCell, ModelError};
pub use sampling::Estimate;
pub use swapping::SwappingModel;
