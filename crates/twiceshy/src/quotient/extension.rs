//! The extension filter: a false positive makes its key's fingerprint longer.

use super::block::Annex;
use super::local::{Marked, Probe};
use super::near::Near;
use super::numbers::{Block, Slot};
use super::options::{Coded, RuleSpec};
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::strand::Strand;
use crate::codes::{self, ESCAPE, ExtensionMark, Extensions as ExtensionCode, Mark, Marks, Zeros};
use crate::error::OptionsError;
use crate::kind::Kind;
use crate::packed::word::Word64;
use crate::persist::{LoadError, Reader, Writer};
use std::ops::Range;
use std::sync::Arc;

/// The extension filter (004 section 5 and C.4, the exAF): adapts as the broom filter does, on the family's table.
///
/// **Cost.** A slot takes the remainder and 3 bits. A look-up reads the code only if quotient and remainder match, one time
/// in 2^w, and only as far as that slot.
///
/// **Layout.** The remainder is the first w bits of the key's string: the lowest 24 bits of hash word 0, then the words 1, 2, …
/// A slot's extension is the bits that follow. The extensions of 64 slots share a code of 56 bits.
///
/// **Adapting.** The fingerprint of every colliding key is extended up to the first bit in which the query differs. A block
/// whose code overflows is reset and then learns about the query again. Remainders do not change, since an extension only
/// adds to them.
///
/// **Departure.** The paper's code spends two bits on each bit of an extension, so an extension of more than 15 bits would
/// not fit into an empty block, and its query would repeat forever. Here an extension may *skip* ten bits that owner and
/// query share, for ten bits of code, up to three times. A skip forgets the ten bits, so once in 2^10 adaptations an
/// earlier query may come back. If even that does not fit (some 25 shared bits after quotient and remainder, one mistake in
/// 30 million), the filter asks for another hash key: [`Backed::wants_rebuild`](crate::filter::Backed::wants_rebuild).
///
/// ```
/// use twiceshy::{quotient::ExtensionFilter, filter::Adapted, hash::HashKey, remote::ByHash};
///
/// let mut filter = ExtensionFilter::with_slots(1000, 4).build(HashKey::fixed(1), ByHash::new())?;
/// for key in 0..900u32 {
///     filter.insert(&key)?;
/// }
/// let mistake = (1000..u32::MAX).find(|query| filter.contains(query)).expect("one in twenty");
/// assert_eq!(filter.was_wrong(&mistake)?, Adapted::Fixed);
/// assert!(!filter.contains(&mistake), "once bitten");
/// # Ok::<(), twiceshy::Error>(())
/// ```
pub type ExtensionFilter = RankSelectFilter<Extensions>;

/// The rule of [`ExtensionFilter`].
#[derive(Clone, Debug)]
pub struct Extensions {
    zeros: Arc<Zeros>,
}

/// The options of an [`ExtensionFilter`] beyond the common ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtensionSpec;

impl Coded for ExtensionSpec {}

impl RuleSpec for ExtensionSpec {
    type Rule = Extensions;
    const KIND: Kind = Kind::Extension;

    fn rule(&self, _: u32) -> Result<Extensions, OptionsError> {
        Ok(Extensions { zeros: Arc::new(Zeros::new(&ExtensionCode)) })
    }

    fn write(_: &Extensions, _: &mut Writer<'_>) {}

    fn read(_: u32, _: &mut Reader) -> Result<Extensions, LoadError> {
        Ok(Extensions { zeros: Arc::new(Zeros::new(&ExtensionCode)) })
    }
}

/// The position of an extension's own bits in the string, after the remainder and the skipped bits.
fn begin(width: u32, skips: u32) -> u64 {
    u64::from(width + skips * ExtensionMark::MAX_LEN)
}

/// `len` bits of the string as an extension stores them: the first bit highest.
fn bits_of(key: &Strand<'_>, at: u64, len: u32) -> u32 {
    key.bits(at, len).reverse_bits().checked_shr(32 - len).unwrap_or(0)
}

impl Rule for Extensions {
    type Spec = ExtensionSpec;
}

impl Marking for Extensions {
    const LEARNS: bool = true;
    const ANNEX: Annex = Annex::Code;
    const REMAINDER_FOLLOWS_MARK: bool = false;

    /// The owner's extension up to the first bit in which the query differs. It is longer than the current one, since the
    /// query agrees with all of that. If it is too long, it skips ten bits at a time, and forgets those.
    fn tell_apart(&self, width: u32, owner: &Strand<'_>, query: &Strand<'_>, mark: Mark) -> Option<Mark> {
        let skipped = ExtensionMark::from_mark(mark)?.skips();
        (skipped..=ExtensionMark::MAX_SKIPS).find_map(|skips| {
            let at = begin(width, skips);
            let differs = |len: &u32| bits_of(owner, at, *len) != bits_of(query, at, *len);
            let len = (1..=ExtensionMark::MAX_LEN).find(differs)?;
            Some(ExtensionMark::new(skips, len, bits_of(owner, at, len))?.mark())
        })
    }

    fn remainder(&self, width: u32, key: &Strand<'_>, _: Mark) -> u32 {
        key.remainder(width, 0)
    }

    fn agrees(&self, width: u32, key: &Strand<'_>, mark: Mark) -> bool {
        // An invalid extension excludes no key.
        ExtensionMark::from_mark(mark)
            .is_none_or(|extension| bits_of(key, begin(width, extension.skips()), extension.len()) == extension.bits())
    }

    fn is_mark(&self, mark: Mark) -> bool {
        ExtensionMark::from_mark(mark).is_some()
    }

    fn encode(&self, marks: &Marks) -> Option<u64> {
        codes::encode(&ExtensionCode, marks)
    }

    fn decode(&self, code: u64) -> Marks {
        codes::decode(&ExtensionCode, code)
    }

    #[inline(always)]
    fn glance<'k, W: Word64>(&self, table: &Marked, near: &Near, probe: Probe, _: impl FnOnce() -> Strand<'k>) -> bool {
        near.holds::<W>(table.reach, probe.remainder)
    }

    #[inline(always)]
    fn confirm<'k>(&self, table: &Marked, near: &Near, probe: Probe, key: impl Fn() -> Strand<'k>) -> bool {
        let mut reader = None;
        (0..near.len()).any(|at| {
            near.remainder(table.reach, at) == probe.remainder
                && self.extension_matches(table, near.block(), near.place(at), &key(), &mut reader)
        })
    }

    #[inline(always)]
    fn matches(&self, table: &Marked, run: Range<Slot>, key: &Strand<'_>) -> bool {
        let width = table.width();
        let remainder = key.remainder(width, 0);
        Marked::any_piece(run, |block, places| {
            let remainders = table.table.blocks.remainders(block);
            let mut reader = None;
            places.into_iter().any(|at| {
                remainders.get(at) == remainder && self.extension_matches(table, block, at as usize, key, &mut reader)
            })
        })
    }
}

impl Extensions {
    /// `true` if the extension of a slot whose remainder has matched also matches.
    #[inline(always)]
    fn extension_matches<'a>(
        &'a self,
        table: &Marked,
        block: Block,
        at: usize,
        key: &Strand<'_>,
        reader: &mut Option<codes::Reader<'a, ExtensionCode>>,
    ) -> bool {
        let mark = match table.table.blocks.code(block) {
            0 => return true,
            code if code >= ESCAPE => match table.side.get(code) {
                Some(entry) => entry.marks[at],
                None => return true,
            },
            code => {
                let reader = reader.get_or_insert_with(|| codes::Reader::new(&ExtensionCode, &self.zeros, code));
                reader.mark(at)
            }
        };
        self.agrees(table.width(), key, mark)
    }
}
