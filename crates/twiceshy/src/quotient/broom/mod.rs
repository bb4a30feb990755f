//! The broom filter (001 sections 4 and 5), in both its forms.
//!
//! Strings of adaptivity bits for 64 slots (`strings`), a level of runs and strings with an undo journal (`level`, `level_file`),
//! whole hashes (`back_yard`) and which form has what (`shape`), the two hash functions and the frontier (`functions`), what is
//! remembered of removed keys (`ghosts`, `haunted`), all that together and what happens to fingerprints (`local`), the set as an
//! operation in progress knows it (`known`), an operation as a whole (`operate`), the frontier (`frontier`), a larger table
//! (`growing`), and the promises (`filter`).

mod back_yard;
mod filter;
mod frontier;
mod functions;
mod ghosts;
mod growing;
mod haunted;
mod known;
mod level;
mod level_file;
mod local;
mod operate;
mod options;
mod save;
mod shape;
mod stats;
mod strings;
mod validate;

pub use filter::BroomFilter;
pub use options::BroomOptions;
pub use shape::BroomForm;
pub use stats::Stats as BroomStats;
