//! The telescoping filter with plain selectors.

use super::block::Annex;
use super::local::{Marked, Probe, UNMARKED};
use super::near::Near;
use super::numbers::Slot;
use super::options::RuleSpec;
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::strand::Strand;
use super::telescoping::next_selector;
use crate::codes::{Mark, Marks};
use crate::error::OptionsError;
use crate::kind::Kind;
use crate::packed::word::Word64;
use crate::persist::{LoadError, Reader, Writer};
use std::ops::Range;

/// The telescoping filter with a byte for each slot's selector (004 section 6.2, the uTAF): shows what the code costs and
/// what its overflows do. A slot takes the remainder and 10.125 bits.
pub type PlainTelescopingFilter = RankSelectFilter<PlainSelectors>;

/// The rule of [`PlainTelescopingFilter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainSelectors;

/// The options of a [`PlainTelescopingFilter`] beyond the common ones: there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainTelescopingSpec;

impl RuleSpec for PlainTelescopingSpec {
    type Rule = PlainSelectors;
    const KIND: Kind = Kind::TelescopingPlain;

    fn rule(&self, _: u32) -> Result<PlainSelectors, OptionsError> {
        Ok(PlainSelectors)
    }

    fn write(_: &PlainSelectors, _: &mut Writer<'_>) {}

    fn read(_: u32, _: &mut Reader) -> Result<PlainSelectors, LoadError> {
        Ok(PlainSelectors)
    }
}

impl Rule for PlainSelectors {
    type Spec = PlainTelescopingSpec;
}

impl Marking for PlainSelectors {
    const LEARNS: bool = true;
    const ANNEX: Annex = Annex::Bytes;
    const REMAINDER_FOLLOWS_MARK: bool = true;

    fn tell_apart(&self, width: u32, owner: &Strand<'_>, query: &Strand<'_>, mark: Mark) -> Option<Mark> {
        next_selector(width, owner, query, mark)
    }

    fn remainder(&self, width: u32, key: &Strand<'_>, mark: Mark) -> u32 {
        key.remainder(width, mark.into())
    }

    fn is_mark(&self, mark: Mark) -> bool {
        mark <= u8::MAX.into()
    }

    fn encode(&self, _: &Marks) -> Option<u64> {
        None
    }

    fn decode(&self, _: u64) -> Marks {
        UNMARKED
    }

    #[inline(always)]
    fn glance<'k, W: Word64>(&self, table: &Marked, near: &Near, probe: Probe, _: impl FnOnce() -> Strand<'k>) -> bool {
        (table.is_taught && near.is_marked::<W>(&table.table.blocks)) | near.holds::<W>(table.reach, probe.remainder)
    }

    #[inline(always)]
    fn matches(&self, table: &Marked, run: Range<Slot>, key: &Strand<'_>) -> bool {
        let (blocks, width) = (&table.table.blocks, table.width());
        Marked::any_piece(run, |block, mut places| {
            let (remainders, selectors) = (blocks.remainders(block), blocks.mark_bytes(block));
            places.any(|at| remainders.get(at) == key.remainder(width, selectors[at as usize].into()))
        })
    }
}
