//! The broom filter (001 sections 4 and 5), in both its forms. `docs/broom.md` has the rules and why they keep the promise.
//!
//! Strings of adaptivity bits for 64 slots (`strings`, `spilled`), a level of runs and strings (`level`, `level_file`, `rests`), whole
//! hashes (`back_yard`) and which form has what (`shape`), what is remembered of fingerprints that are no more (`ghosts`, `haunted`),
//! all these together (`prints`); the two hash functions and the frontier (`functions`), and what happens to fingerprints (`local`,
//! `rules`).
//!
//! All this is written over a storage (`storage`): the filter's own, or that of a draft (`overlay`). An operation is planned on a draft
//! (`draft`), with the set as it knows it (`known`): insertions, removals and adaptations (`plan`), the frontier (`frontier`), another
//! table or hash key (`rebuild`). What comes of it is an edit (`edit`, `edit_file`), which the plan carries. Then
//! there are a filter for a set that is there (`recover`), and the promises (`filter`).

mod back_yard;
mod bit_string;
#[cfg(feature = "testing")]
mod collisions;
mod draft;
mod edit;
mod edit_file;
#[cfg(test)]
mod edit_tests;
mod few;
mod filter;
mod frontier;
mod functions;
mod ghosts;
mod haunted;
mod known;
mod level;
mod level_file;
mod local;
mod options;
mod overlay;
mod plan;
mod prints;
mod rebuild;
mod recover;
mod rests;
mod rules;
mod save;
mod shape;
mod spilled;
mod stats;
mod storage;
mod strings;
mod tables;
mod validate;

pub(crate) use edit::{Edit, Undo};
pub use filter::BroomFilter;
pub use options::BroomOptions;
#[cfg(feature = "testing")]
pub use rules::BroomRule;
pub use shape::BroomForm;
pub use stats::Stats as BroomStats;
