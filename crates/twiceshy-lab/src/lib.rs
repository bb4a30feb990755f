//! Workloads, models and experiments for the filters of `twiceshy`.

pub mod broom;
pub mod fixed_set;
pub mod game;
pub mod guarded;
pub mod interval;
pub mod models;
pub mod replay;
pub mod torture;
pub mod uniform;
pub mod whittling;
pub mod workload;
