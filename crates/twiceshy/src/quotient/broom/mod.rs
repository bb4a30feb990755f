//! The broom filter (001 sections 4 and 5), in both forms. `docs/broom.md` has the rules and their proof.
//!
//! Fingerprints: the adaptivity bits of 64 slots (`strings`, `spilled`), a level of runs and strings (`level`,
//! `level_file`, `rests`), whole hashes (`back_yard`), the two forms (`shape`), fingerprints that no longer exist
//! (`ghosts`, `haunted`), and all these together (`prints`). Then the two hash functions and the frontier (`functions`),
//! and the changes to fingerprints (`local`, `rules`).
//!
//! All this is generic over a storage (`storage`): the filter's own, or that of a draft (`overlay`). An operation is
//! planned on a draft (`draft`), with the set as the operation sees it (`known`): insertions, removals and adaptations
//! (`plan`), the frontier (`frontier`), another table or hash key (`rebuild`). The result is an edit (`edit`, `edit_file`),
//! which the plan carries. `recover` builds a filter for an existing set, and `filter` has the public type.

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

#[cfg(feature = "testing")]
pub use collisions::{Join as BroomJoin, take_joins as take_broom_joins};
pub(crate) use edit::{Edit, Undo};
pub use filter::BroomFilter;
pub(crate) use functions::order_words as broom_order_words;
pub use options::BroomOptions;
#[cfg(feature = "testing")]
pub use rules::BroomRule;
pub use shape::BroomForm;
pub use stats::Stats as BroomStats;
