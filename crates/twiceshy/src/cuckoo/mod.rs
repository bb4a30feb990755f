//! The cuckoo family: one table, one kick path, and for each filter a fingerprint rule and a way to adapt.
//!
//! | filter | fixes a false positive by | default shape | paper |
//! |---|---|---|---|
//! | [`CuckooFilter`] | nothing; partial-key, needs no remote | 2×4 | 002 section 3 |
//! | [`FullKeyFilter`] | nothing; the papers' baseline | 4×1 | 003 section 2 |
//! | [`CyclicFilter`] | the cell's selector moves to the next fingerprint function | 4×1 | 003 sections 3.1, 3.2 |
//! | [`SwappingFilter`] | two keys of a bucket change places | 2×4 | 003 section 3.3 |
//! | [`CuckooingFilter`] | the key moves to its next table | 4×1 | 000 section 2.3 |
//! | [`CuckooTable`] | it makes no mistakes: the exact hash table | any | 002 section 2 |

mod adapt;
mod cuckooing;
mod cyclic;
mod edit;
mod fingerprint;
mod full_key;
mod local;
mod matching;
mod options;
mod owners;
mod partial_key;
mod placing;
mod plain;
mod planner;
mod save;
mod search;
mod shape;
mod stats;
mod swapping;
mod table;
#[cfg(test)]
mod trials;
mod validate;

pub use cuckooing::{Cuckooing, CuckooingFilter, CuckooingSpec, Moves};
pub use cyclic::{Cyclic, CyclicFilter, CyclicSpec, MAX_FUNCTIONS, Selectors};
pub(crate) use edit::{Edit, Undo};
pub use fingerprint::{Function, Rule, Values};
pub use full_key::FullKeyCuckoo;
pub use options::{Options, RuleSpec};
pub use partial_key::{CuckooFilter, CuckooOptions};
pub use plain::{FullKeyFilter, Plain, PlainSpec};
pub use search::Search;
pub use shape::{Shape, ShapeError, Spot};
pub use stats::Stats;
pub use swapping::{Swapping, SwappingFilter, SwappingSpec};
pub use table::{CuckooTable, Insertion, TableFull};
