//! What tells the filters of the family apart: what a slot's mark means, and how marks are kept.

use super::block::Annex;
use super::local::Marked;
use super::options::RuleSpec;
use super::strand::Strand;
use crate::codes::{Mark, Marks};
use std::fmt;
use std::ops::Range;

/// A filter's rule. The rules are the library's own: what a mark means is part of the file format.
pub trait Rule: Clone + fmt::Debug + Send + Sync + Marking + 'static {
    /// The options that make such rules.
    type Spec: RuleSpec<Rule = Self> + Default;
}

/// The rule's inside.
pub trait Marking {
    /// Where marks are kept.
    const ANNEX: Annex;

    /// Whether the remainder depends on the mark: then a block that forgets its marks must learn its keys' first remainders.
    const REMAINDER_FOLLOWS_MARK: bool;

    /// The remainder that a slot with this mark holds for a key.
    fn remainder(&self, width: u32, key: &Strand<'_>, mark: Mark) -> u32;

    /// Whether the mark itself agrees with the key, beyond the remainder.
    fn agrees(&self, width: u32, key: &Strand<'_>, mark: Mark) -> bool {
        let _ = (width, key, mark);
        true
    }

    /// Whether such a mark can be.
    fn is_mark(&self, mark: Mark) -> bool;

    /// The marks of a block in 56 bits; `None` where they do not fit.
    fn encode(&self, marks: &Marks) -> Option<u64>;

    /// What [`Marking::encode`] made, for any number of 56 bits.
    fn decode(&self, code: u64) -> Marks;

    /// `true` if false positives can be fixed.
    const LEARNS: bool;

    /// The next mark for the key behind a slot under which the query is told from it; `None` if there is none.
    fn tell_apart(&self, width: u32, owner: &Strand<'_>, query: &Strand<'_>, mark: Mark) -> Option<Mark> {
        let _ = (width, owner, query, mark);
        None
    }

    /// `true` if a slot of the run matches the key: the inner loop of every look-up. Agrees with comparing each slot's mark
    /// and remainder one by one, and is faster.
    fn matches(&self, table: &Marked, run: Range<u64>, key: &Strand<'_>) -> bool;
}
