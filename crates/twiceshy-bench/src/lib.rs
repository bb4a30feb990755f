//! Every filter of twiceshy beside filters of other crates, in one run: the same keys, the same process, one thread.
//!
//! [`ours`], [`peers`] and [`floor`] are what is measured, [`subject`] is what they have in common, [`measure`] measures,
//! and [`row`] is the outcome, which [`table`] and [`picture`] show. `docs/bench.md` says how to run it and what the figures
//! mean.

pub mod floor;
pub mod keys;
pub mod laps;
pub mod measure;
pub mod numbers;
pub mod ours;
pub mod peers;
pub mod picture;
mod prefetch;
pub mod remote;
pub mod row;
pub mod sizes;
pub mod subject;
pub mod table;
