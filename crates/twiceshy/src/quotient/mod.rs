//! The quotient family: one rank-and-select table, and for each filter what a slot keeps and how it adapts.
//!
//! | filter | fixes a false positive by | bits a slot beside the remainder | paper |
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
mod edit;
mod extension;
mod local;
mod matching;
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

#[cfg(feature = "testing")]
pub use broom::BroomRule;
pub use broom::{BroomFilter, BroomForm, BroomOptions, BroomStats};
pub(crate) use broom::{Edit as BroomEdit, Undo as BroomUndo};
pub(crate) use edit::{Edit, Undo};
pub use extension::{ExtensionFilter, ExtensionSpec, Extensions};
pub use options::{Coded, Options, RuleSpec};
pub use plain::{PlainRemainders, QuotientFilter, QuotientSpec};
pub use rank_select::RankSelectFilter;
pub use rule::Rule;
pub use stats::Stats;
pub use telescoping::{SelectorCode, Selectors, TelescopingFilter, TelescopingSpec};
pub use telescoping_plain::{PlainSelectors, PlainTelescopingFilter, PlainTelescopingSpec};
