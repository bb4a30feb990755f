//! Workloads, models and experiments for the filters of `twiceshy`.

pub mod advise;
pub mod baseline;
pub mod broom;
pub mod experiment;
pub mod experiments;
pub mod fixed_set;
pub mod game;
pub mod guarded;
pub mod input;
pub mod interval;
pub mod models;
pub mod open;
pub mod paths;
pub mod replay;
pub mod report;
pub mod shared;
pub mod statistics;
pub mod torture;
pub mod uniform;
pub mod whittling;
pub mod workload;

/// The README's code is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
