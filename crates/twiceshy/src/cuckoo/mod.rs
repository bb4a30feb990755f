//! The cuckoo family: one table, one kick path, and for each filter a fingerprint rule and a way to adapt.
//!
//! | filter | fixes a false positive by | default shape | paper |
//! |---|---|---|---|
//! | [`CuckooFilter`] | nothing; partial-key, needs no remote | 2×4 | 002 section 3 |
//! | [`FullKeyFilter`] | nothing; the papers' baseline | 4×1 | 003 section 2 |
//! | [`CyclicFilter`] | the cell's selector moves to the next fingerprint function | 4×1 | 003 sections 3.1, 3.2 |
//! | [`SwappingFilter`] | two keys of a bucket swap cells | 2×4 | 003 section 3.3 |
//! | [`CuckooingFilter`] | the key moves to its next table | 4×1 | 000 section 2.3 |
//! | [`RememberingFilter`] | the key moves to where no remembered query matches it | 2 windows of 2 cells | none |
//! | [`CuckooTable`] | it makes no mistakes: the exact hash table | any | 002 section 2 |

mod adapt;
mod chain;
mod cuckooing;
mod cyclic;
mod edit;
mod exceptions;
mod fingerprint;
mod full_key;
mod kicks;
mod local;
mod matching;
mod options;
mod owners;
mod partial_key;
mod placing;
mod plain;
mod planner;
mod remembering;
mod save;
mod search;
mod shape;
mod shortcut;
mod stats;
mod swapping;
mod table;
#[cfg(test)]
mod trials;
mod usual;
mod validate;

pub use cuckooing::{CuckooingFilter, Moves};
pub use cyclic::{CyclicFilter, Selectors};
pub(crate) use edit::{Edit, Undo};
pub use options::Options;
pub use partial_key::{CuckooFilter, CuckooOptions};
pub use plain::FullKeyFilter;
pub use remembering::RememberingFilter;
pub use search::Search;
pub use shape::Shape;
pub use stats::Stats;
pub use swapping::SwappingFilter;

// Building blocks of the types above, and items that only experiments need.
#[doc(hidden)]
pub use cuckooing::{Cuckooing, CuckooingSpec};
#[doc(hidden)]
pub use cyclic::{Cyclic, CyclicSpec, MAX_FUNCTIONS};
#[doc(hidden)]
pub use fingerprint::{Choice, Function, Rule, Values};
#[doc(hidden)]
pub use full_key::FullKeyCuckoo;
#[doc(hidden)]
pub use options::RuleSpec;
#[doc(hidden)]
pub use plain::{Plain, PlainSpec};
#[doc(hidden)]
pub use remembering::{Remembering, RememberingSpec};
#[doc(hidden)]
pub use shape::{ShapeError, Spot};
#[doc(hidden)]
pub use swapping::{Swapping, SwappingSpec};
#[doc(hidden)]
pub use table::{CuckooTable, Insertion, TableFull, Walk};
