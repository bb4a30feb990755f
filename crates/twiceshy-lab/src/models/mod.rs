//! What the papers predict: the rates that measurements are compared with.
//!
//! | module | what | paper |
//! |---|---|---|
//! | [`designs`] | static rate and bits a key of every filter | 002 to 004 |
//! | [`bloom`] | Bloom filters: classic, blocked, split blocks | 002 section 3 |
//! | [`cyclic`] | Cyclic under uniformly repeated queries | 003 sections 3.1 and 3.2 |
//! | [`flows`] | Cyclic with keys asked for at different rates | 003 section 3.1, its last paragraph |
//! | [`swapping`] | Swapping under uniformly repeated queries | 003 section 3.3 |
//! | [`cost`] | the cost of a mix of operations | 003 section 3 |
//! | [`thresholds`] | the load at which cuckoo tables are full | 002 section 2.2 |
//! | [`insertion`] | bounds on insertions | 002, Theorem 1 and Lemma 2 |
//! | [`cuckoo_graph`] | when an insertion fails, from the graph of the table | 002, Proposition 1 and Lemma 1 |
//! | [`components`] | the chance that the next insertion fails, from the same graph | 002, Theorem 1 |
//! | [`selectors`] | how far the selectors of a telescoping filter move, and what they cost | 004, Lemma 2 to Theorem 4 |

pub mod bloom;
pub mod components;
pub mod cost;
mod counts;
pub mod cuckoo_graph;
pub mod cyclic;
pub mod designs;
pub mod flows;
mod harmonic;
pub mod insertion;
mod laplace;
mod sampling;
pub mod selectors;
pub mod swapping;
pub mod thresholds;

pub use cyclic::{CyclicModel, EmptyCell, ModelError};
pub use sampling::Estimate;
pub use swapping::SwappingModel;
