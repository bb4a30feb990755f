//! What distinguishes the filters of the family: what a slot's mark means, and how marks are stored.

use super::block::Annex;
use super::local::{Marked, Probe};
use super::near::Near;
use super::numbers::Slot;
use super::options::RuleSpec;
use super::strand::Strand;
use crate::codes::{Mark, Marks};
use crate::packed::word::Word64;
use std::fmt;
use std::ops::Range;

/// A filter's rule. Only this library implements it: what a mark means is part of the file format.
pub trait Rule: Clone + fmt::Debug + Send + Sync + Marking + 'static {
    /// The options that make such rules.
    type Spec: RuleSpec<Rule = Self> + Default;
}

/// The methods of a rule.
pub trait Marking {
    /// Where marks are stored.
    const ANNEX: Annex;

    /// `true` if the remainder depends on the mark: then a block that loses its marks needs its keys' first remainders.
    const REMAINDER_FOLLOWS_MARK: bool;

    /// The remainder that a slot with this mark holds for a key.
    fn remainder(&self, width: u32, key: &Strand<'_>, mark: Mark) -> u32;

    /// `true` if the mark itself agrees with the key, beyond the remainder.
    fn agrees(&self, width: u32, key: &Strand<'_>, mark: Mark) -> bool {
        let _ = (width, key, mark);
        true
    }

    /// `true` if the mark is valid.
    fn is_mark(&self, mark: Mark) -> bool;

    /// The marks of a block in 56 bits; `None` if they do not fit.
    fn encode(&self, marks: &Marks) -> Option<u64>;

    /// Decodes any number of 56 bits; the inverse of [`Marking::encode`].
    fn decode(&self, code: u64) -> Marks;

    /// `true` if false positives can be fixed.
    const LEARNS: bool;

    /// The next mark that distinguishes the slot's owner from the query; `None` if no mark does.
    fn tell_apart(&self, width: u32, owner: &Strand<'_>, query: &Strand<'_>, mark: Mark) -> Option<Mark> {
        let _ = (width, owner, query, mark);
        None
    }

    /// `true` if [`Marking::glance`] asks which blocks have deep marks.
    const HAS_DEEP: bool = false;

    /// `true` if [`Marking::glance`] does not know what a slot with this mark holds, in a table that compares this number of
    /// remainders at a glance.
    fn is_deep(&self, glanced: u32, mark: Mark) -> bool {
        let _ = (glanced, mark);
        false
    }

    /// `false` if no slot of a short run matches the key with this probe. May be wrongly `true` in a table that has learned
    /// something. Must not branch on what was loaded from the table: see [`near`](super::near).
    fn glance<'k, W: Word64>(
        &self,
        table: &Marked,
        near: &Near,
        probe: Probe,
        key: impl FnOnce() -> Strand<'k>,
    ) -> bool;

    /// `true` if a slot of a short run matches the key with this probe, for which a glance was `true`.
    fn confirm<'k>(&self, table: &Marked, near: &Near, probe: Probe, key: impl Fn() -> Strand<'k>) -> bool {
        let _ = probe;
        self.matches(table, near.run(), &key())
    }

    /// `true` if a slot of the run matches the key: the inner loop of every look-up. Agrees with comparing each slot's mark
    /// and remainder one by one, but is faster.
    fn matches(&self, table: &Marked, run: Range<Slot>, key: &Strand<'_>) -> bool;
}
