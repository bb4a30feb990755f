//! The quotient family: one rank-and-select table, and for each filter what a slot keeps and how it adapts.
//!
//! | filter | fixes a false positive by | bits per slot besides the remainder | paper |
//! |---|---|---|---|
//! | [`QuotientFilter`] | nothing: the baseline | 2.125 | 004 section 5 |
//! | [`TelescopingFilter`] | the key's selector moves on to its next remainder | 3 | 004 sections 3 to 5, appendices B, C |
//! | [`PlainTelescopingFilter`] | the same, with a byte for each selector | 10.125 | 004 section 6.2 |
//! | [`ExtensionFilter`] | the key's fingerprint grows | 3 | 004 section 5, appendix C.4 |
//! | [`BroomFilter`] | the same, with two hash functions, ghosts and bounded operations | 5.125 | 001 sections 4 and 5 |

#[cfg(test)]
mod agree;
mod block;
mod broom;
mod deep;
mod edit;
mod extension;
mod local;
mod matching;
mod near;
mod numbers;
mod options;
mod owners;
mod plain;
mod plan;
mod rank_select;
mod rule;
mod save;
mod shift;
mod side;
mod stats;
mod strand;
mod table;
mod telescoping;
mod telescoping_plain;
#[cfg(test)]
mod twin;
mod validate;

pub use broom::{BroomFilter, BroomForm, BroomOptions, BroomStats};
pub(crate) use broom::{Edit as BroomEdit, Undo as BroomUndo, broom_order_words};
pub(crate) use edit::{Edit, Undo};
pub use extension::ExtensionFilter;
pub use options::Options;
pub use plain::QuotientFilter;
pub use stats::Stats;
pub use telescoping::{SelectorCode, TelescopingFilter};
pub use telescoping_plain::PlainTelescopingFilter;

// Building blocks of the types above, and items that only experiments need.
#[cfg(feature = "testing")]
#[doc(hidden)]
pub use broom::{BroomJoin, BroomRule, take_broom_joins};
#[doc(hidden)]
pub use extension::{ExtensionSpec, Extensions};
#[doc(hidden)]
pub use options::{Coded, RuleSpec};
#[doc(hidden)]
pub use plain::{PlainRemainders, QuotientSpec};
#[doc(hidden)]
pub use rank_select::RankSelectFilter;
#[doc(hidden)]
pub use rule::Rule;
#[doc(hidden)]
pub use telescoping::{Selectors, TelescopingSpec};
#[doc(hidden)]
pub use telescoping_plain::{PlainSelectors, PlainTelescopingSpec};
