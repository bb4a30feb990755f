//! The plain quotient filter: the baseline that does not learn.

use super::block::Annex;
use super::local::{Marked, UNMARKED};
use super::options::RuleSpec;
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::strand::Strand;
use crate::codes::{Mark, Marks};
use crate::error::OptionsError;
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, Writer};
use std::ops::Range;

/// The rank-and-select quotient filter (004 section 5): the family's table, and nothing learned.
///
/// **Cost.** A slot takes the remainder and 2.125 bits. A look-up for an absent key reads hash word 0 and, where its
/// quotient is occupied, word 1; it touches the block's metadata and the remainders of one run, one or two cache lines. An
/// insertion moves the slots between its run and the next free one; the remote gets one entry, and hears of no move.
///
/// **Rate.** 1 − exp(−load · 2^−w) with remainders of w bits.
///
/// ```
/// use twiceshy::{quotient::QuotientFilter, hash::HashKey, remote::ByHash};
///
/// let mut filter = QuotientFilter::options(1000, 0.01)?.build(HashKey::random()?, ByHash::new())?;
/// assert!(filter.insert("owl")?, "it is new");
/// assert!(filter.contains("owl"));
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type QuotientFilter = RankSelectFilter<PlainRemainders>;

/// The rule of [`QuotientFilter`]: a slot keeps its key's first remainder for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainRemainders;

/// The options of a [`QuotientFilter`] beyond the common ones: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuotientSpec;

impl RuleSpec for QuotientSpec {
    type Rule = PlainRemainders;
    const KIND: Kind = Kind::Quotient;

    fn rule(&self, _: u32) -> Result<PlainRemainders, OptionsError> {
        Ok(PlainRemainders)
    }

    fn write(_: &PlainRemainders, _: &mut Writer<'_>) {}

    fn read(_: u32, _: &mut Reader) -> Result<PlainRemainders, LoadError> {
        Ok(PlainRemainders)
    }
}

impl Rule for PlainRemainders {
    type Spec = QuotientSpec;
}

impl Marking for PlainRemainders {
    const LEARNS: bool = false;
    const ANNEX: Annex = Annex::Nothing;
    const REMAINDER_FOLLOWS_MARK: bool = false;

    fn remainder(&self, width: u32, key: &Strand<'_>, _: Mark) -> u32 {
        key.remainder(width, 0)
    }

    fn is_mark(&self, mark: Mark) -> bool {
        mark == 0
    }

    fn encode(&self, marks: &Marks) -> Option<u64> {
        (*marks == UNMARKED).then_some(0)
    }

    fn decode(&self, _: u64) -> Marks {
        UNMARKED
    }

    #[inline(always)]
    fn matches(&self, table: &Marked, run: Range<u64>, key: &Strand<'_>) -> bool {
        let remainder = key.remainder(table.width(), 0);
        Marked::any_piece(run, |block, mut slots| {
            let remainders = table.table.blocks.remainders(block);
            slots.any(|slot| remainders.get(slot) == remainder)
        })
    }
}
