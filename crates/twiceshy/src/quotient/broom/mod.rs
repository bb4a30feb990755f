//! The broom filter (001 sections 4 and 5), in the form for small remainders (5.3).
//!
//! Strings of adaptivity bits for 64 slots (`strings`), a level of runs and strings with an undo journal (`level`), the two
//! hash functions and the frontier (`functions`), what is remembered of removed keys (`ghosts`), the two levels together and
//! what happens to fingerprints (`local`), the set as an operation in progress knows it (`known`), an operation as a
//! whole (`operate`), the frontier (`frontier`), a larger table (`growing`), and the promises (`filter`).

mod filter;
mod frontier;
mod functions;
mod ghosts;
mod growing;
mod known;
mod level;
mod local;
mod operate;
mod options;
mod save;
mod stats;
mod strings;
mod validate;

pub use filter::BroomFilter;
pub use options::BroomOptions;
pub use stats::Stats as BroomStats;
