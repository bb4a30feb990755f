//! The extension filter: a false positive makes its key's fingerprint longer.

use super::block::Annex;
use super::local::Marked;
use super::options::{Coded, RuleSpec};
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::strand::Strand;
use crate::codes::{self, ESCAPE, ExtensionMark, Extensions as ExtensionCode, Mark, Marks, Zeros};
use crate::error::OptionsError;
use crate::kind::Kind;
use crate::persist::{LoadError, Reader, Writer};
use std::ops::Range;
use std::sync::Arc;

/// The extension filter (004 section 5 and C.4, the exAF): the broom filter's way to adapt, on the family's table.
///
/// **Cost.** A slot takes the remainder and 3 bits. A look-up reads the code only where quotient and remainder have
/// matched, one in 2^w, and only as far as that slot.
///
/// **Layout.** The remainder is the first w bits of the string of hash words 1, 2, …; a slot's extension is the bits that
/// follow. The extensions of 64 slots share a code of 56 bits.
///
/// **Adapting.** The fingerprint of every key that collides is extended up to the first bit in which the query differs. A
/// block whose code overflows is reset and then learns about the query again; remainders stay as they are, since an
/// extension only adds to them.
///
/// **Departure.** The paper's code spends two bits on each bit of an extension, so that one of more than 15 bits would not
/// fit into an empty block and its query would come back for ever. Here an extension may *skip* ten bits that owner and query
/// share, for ten bits of code, up to three times. A skip forgets the ten bits, so once in 2^10 adaptations an earlier query
/// may come back. Only where even that does not fit (some 25 shared bits behind quotient and
/// remainder, one mistake in 30 million) the filter asks for another hash key:
/// [`Backed::wants_rebuild`](crate::filter::Backed::wants_rebuild).
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

/// Where an extension's own bits begin in the string, behind the remainder and what it skips.
fn begin(width: u32, skips: u32) -> u64 {
    u64::from(width + skips * ExtensionMark::MAX_LEN)
}

/// `len` bits of the string as an extension has them: the first one highest.
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

    /// The owner's extension up to the first bit in which the query differs: longer than it is now, since the query agrees
    /// with all of that. What would be too long skips ten bits at a time, and forgets those.
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
        // What is no extension excludes nobody.
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
    fn matches(&self, table: &Marked, run: Range<u64>, key: &Strand<'_>) -> bool {
        let width = table.width();
        let remainder = key.remainder(width, 0);
        Marked::any_piece(run, |block, slots| {
            let remainders = table.table.blocks.remainders(block);
            let mut reader = None;
            slots.into_iter().any(|slot| {
                remainders.get(slot) == remainder && self.extension_matches(table, block, slot, key, &mut reader)
            })
        })
    }
}

impl Extensions {
    /// Whether the extension of a slot whose remainder has matched does so too. Rare enough to stay out of the loop.
    #[inline(never)]
    fn extension_matches<'a>(
        &'a self,
        table: &Marked,
        block: u64,
        slot: u64,
        key: &Strand<'_>,
        reader: &mut Option<codes::Reader<'a, ExtensionCode>>,
    ) -> bool {
        let mark = match table.table.blocks.code(block) {
            0 => return true,
            code if code >= ESCAPE => match table.side.get(code) {
                Some(entry) => entry.marks[slot as usize],
                None => return true,
            },
            code => {
                let reader = reader.get_or_insert_with(|| codes::Reader::new(&ExtensionCode, &self.zeros, code));
                reader.mark(slot as usize)
            }
        };
        self.agrees(table.width(), key, mark)
    }
}
