//! A guard over stores in memory.
//!
//! One program for all of it, because each program would compile the guard again. Nothing here opens a store that locks a file: a test
//! starts another process, and between fork and exec that process holds the locks of this one.

mod batches;
mod broom;
mod damaged_index;
mod durability;
mod faults;
mod metrics;
mod rekeying;
mod repair;
mod rolling;
mod serde;
mod snapshots;
mod stats;
mod taking_over;
mod threads;
