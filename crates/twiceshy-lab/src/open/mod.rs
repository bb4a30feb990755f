//! A lab for others: measure a filter or a workload of one's own beside those of this project.
//!
//! [`Rival`] is what a filter must be able to do, [`Foreign`] makes one for each trial, and [`Traffic`] is a workload. A
//! [`OpenContest`] takes any number of both, and is an [`Experiment`](crate::experiment::Experiment) like those of the papers:
//! [`run`](crate::experiment::run) measures it in independent trials, and [`draw`](crate::report::draw) makes the report.
//! In each trial all filters have the same keys and the same queries. See `examples/foreign_filter.rs`.

mod contest;
mod rival;
mod traffic;

pub use contest::OpenContest;
pub use rival::{Foreign, Refused, Rival, Room};
pub use traffic::{Draw, Drawn, ForeignTraffic, KeyStream, Traffic, TrafficError, Uniform};
