//! Streams of queries for experiments: generated ones, reproducible from a seed, and recorded traces.
//!
//! Nothing here keeps a list of the queries, except [`held`](held::Held) streams. A generated workload takes constant memory (003 section 4.1, Zipf laws,
//! and [FireHose's two](firehose) of 004 section 6.1). [Synthetic flows](flows) and a [trace](trace::Trace) take memory
//! for their distinct keys (003 section 4.2, 000 section 4). A [split](split::Split) decides which keys are stored and
//! which are asked for.

mod capture;
pub mod distribution;
pub mod firehose;
pub mod flows;
pub mod folder;
pub mod held;
pub mod key_set;
pub mod keys;
mod named;
pub mod permutation;
pub mod recorded_data;
pub mod recording;
pub mod rng;
pub mod split;
pub mod trace;
pub mod trace_error;
pub mod zipf;

pub use distribution::{Distribution, Queries};
pub use named::{Workload, WorkloadError};
