//! The plain quotient filter: the baseline that does not learn.

use super::block::Annex;
use super::local::{Marked, Probe, UNMARKED};
use super::near::Near;
use super::numbers::Slot;
use super::options::RuleSpec;
use super::rank_select::RankSelectFilter;
use super::rule::{Marking, Rule};
use super::strand::Strand;
use crate::batch;
use crate::codes::{Mark, Marks};
use crate::error::{Error, OptionsError};
use crate::hash::HashKey;
use crate::key::AsKey;
use crate::kind::Kind;
use crate::packed::word::Word64;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::Generation;
use std::ops::Range;

/// The rank-and-select quotient filter (004 section 5): the family's table, without learning.
///
/// **Cost.** A slot takes the remainder and 2.125 bits. A look-up computes one hash word (two for remainders of more than 24
/// bits). It touches the metadata of two blocks and the remainders of one run, two or three neighbouring cache lines. An insertion
/// moves the slots between its run and the next free one. The remote gets one entry, and is told of no move.
///
/// **Rate.** 1 − exp(−load · 2^−w) with remainders of w bits.
///
/// **Without keys.** The filter never adapts, so it needs no remote to answer and to insert. It then stores equal
/// fingerprints once, so it has no removal, and it cannot grow:
///
/// ```
/// use twiceshy::QuotientFilter;
///
/// let mut filter = QuotientFilter::new(1_000, 0.01)?;
/// filter.insert("owl")?;
/// assert!(filter.contains("owl"));
/// # Ok::<(), twiceshy::Error>(())
/// ```
///
/// **With keys.** [`QuotientFilter::options`] and [`build`](super::Options::build) put it over a remote, with removal and
/// growth.
pub type QuotientFilter = RankSelectFilter<PlainRemainders>;

impl QuotientFilter {
    /// A filter without keys for `keys` keys at this false-positive rate, under a random hash key.
    pub fn new(keys: u64, rate: f64) -> Result<QuotientFilter, Error> {
        QuotientFilter::keyless(keys, rate, HashKey::random()?)
    }

    /// The same under a given hash key: for tests and experiments.
    pub fn keyless(keys: u64, rate: f64, hash: HashKey) -> Result<QuotientFilter, Error> {
        Ok(QuotientFilter::options(keys, rate)?.make(hash, Generation(0))?)
    }

    /// Inserts a key into a filter without keys. `false` if its fingerprint is stored already, by this key or another.
    pub fn insert<K: AsKey + ?Sized>(&mut self, key: &K) -> Result<bool, Error> {
        let key = key.as_key();
        let key = key.as_ref();
        let (word, probe) = self.local.probe(key);
        if self.local.finds(probe, key) {
            return Ok(false);
        }
        self.bring_at(probe, word)?;
        Ok(true)
    }

    /// Inserts several keys into a filter without keys. After an error the first ones are in.
    pub fn insert_batch<K: AsKey>(&mut self, keys: &[K]) -> Result<(), Error> {
        batch::with_bytes(keys, |keys| {
            for group in keys.chunks(batch::GROUP) {
                group.iter().for_each(|key| self.local.prefetch(key));
                group.iter().try_for_each(|key| self.insert(*key).map(drop))?;
            }
            Ok(())
        })
    }

    /// What [`QuotientFilter::contains`] says of each key, several times as fast in a large filter.
    pub fn contains_batch<K: AsKey>(&self, keys: &[K]) -> Vec<bool> {
        batch::answers(self, keys)
    }

    /// `true` if the key may be in the set; `false` if it is not.
    #[inline]
    pub fn contains<K: AsKey + ?Sized>(&self, key: &K) -> bool {
        self.local.contains(key.as_key().as_ref())
    }
}

/// The rule of [`QuotientFilter`]: a slot always keeps its key's first remainder.
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
    fn glance<'k, W: Word64>(&self, table: &Marked, near: &Near, probe: Probe, _: impl FnOnce() -> Strand<'k>) -> bool {
        near.holds::<W>(table.reach, probe.remainder)
    }

    #[inline(always)]
    fn matches(&self, table: &Marked, run: Range<Slot>, key: &Strand<'_>) -> bool {
        let remainder = key.remainder(table.width(), 0);
        Marked::any_piece(run, |block, mut places| {
            let remainders = table.table.blocks.remainders(block);
            places.any(|at| remainders.get(at) == remainder)
        })
    }
}
