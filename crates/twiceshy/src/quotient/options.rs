//! The options of a filter of the quotient family.

use super::rank_select::{RankSelectFilter, new_local};
use super::rule::Rule;
use crate::error::{Error, OptionsError};
use crate::hash::HashKey;
use crate::kind::Kind;
use crate::pair::AdaptiveFilter;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::{Generation, Remote};
use crate::sizing;

/// The options of one kind of filter beyond the common [`Options`].
pub trait RuleSpec: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// The rule that these options make.
    type Rule: Rule;
    /// The kind of filter that they make.
    const KIND: Kind;

    /// The rule for remainders of this width, or why it is impossible.
    #[doc(hidden)]
    fn rule(&self, width: u32) -> Result<Self::Rule, OptionsError>;

    /// Saves the rule's parameters.
    #[doc(hidden)]
    fn write(rule: &Self::Rule, out: &mut Writer<'_>);

    /// Reads what [`RuleSpec::write`] wrote.
    #[doc(hidden)]
    fn read(width: u32, from: &mut Reader) -> Result<Self::Rule, LoadError>;
}

/// A kind whose marks share a code, which can overflow.
pub trait Coded: RuleSpec {}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Capacity { keys: u64, rate: f64 },
    Slots { slots: u64, width: u32 },
}

/// What to build: the size, and the kind's own options.
///
/// Every setting is checked in [`Options::build`]. An invalid one is refused with an error that names a valid one.
#[derive(Clone, Debug, PartialEq)]
pub struct Options<S> {
    size: Size,
    load: f64,
    side: u32,
    pub(crate) spec: S,
}

impl<S: RuleSpec> Options<S> {
    pub(crate) fn for_capacity(keys: u64, rate: f64, spec: S) -> Result<Self, OptionsError> {
        sizing::check_capacity(keys)?;
        sizing::check_rate(rate)?;
        Ok(Options { size: Size::Capacity { keys, rate }, ..Options::with_slots(0, 0, spec) })
    }

    pub(crate) fn with_slots(slots: u64, width: u32, spec: S) -> Self {
        Options { size: Size::Slots { slots, width }, load: sizing::QUOTIENT_LOAD, side: 0, spec }
    }

    /// The load that a capacity is planned for: 0.95 by default, at most 0.99. A higher load saves memory, but insertions
    /// move more slots.
    #[must_use]
    pub fn target_load(self, load: f64) -> Self {
        Options { load, ..self }
    }

    /// The resulting number of slots and remainder width.
    pub fn geometry(&self) -> Result<(u64, u32), OptionsError> {
        sizing::check_load(self.load)?;
        match self.size {
            Size::Slots { slots, width } => {
                sizing::check_width(width)?;
                sizing::check_slots(slots)?;
                Ok((slots, width))
            }
            Size::Capacity { keys, rate } => {
                let slots = sizing::quotient_slots(keys, self.load)?;
                let load = keys as f64 / slots as f64;
                let enough = |width: &u32| sizing::quotient_rate(load, *width) <= rate;
                Ok((slots, sizing::WIDTHS.clone().find(enough).ok_or(OptionsError::Rate(rate))?))
            }
        }
    }

    fn parts(&self) -> Result<(u64, u32, S::Rule), OptionsError> {
        let (slots, width) = self.geometry()?;
        Ok((slots, width, self.spec.rule(width)?))
    }

    /// The number of slots and the remainder width.
    pub(crate) fn size(&self) -> Result<(u64, u32), OptionsError> {
        self.geometry()
    }

    /// An empty filter for this generation of a remote.
    pub(crate) fn make(
        &self,
        hash: HashKey,
        generation: Generation,
    ) -> Result<RankSelectFilter<S::Rule>, OptionsError> {
        let (slots, width, rule) = self.parts()?;
        Ok(RankSelectFilter::over(new_local(slots, width, rule, self.side, hash, generation)?))
    }

    /// An empty filter over a remote that holds no set yet. The hash key determines all random choices.
    ///
    /// The remote must be ordered by hash. A mirror of cells is only for the cuckoo family.
    pub fn build<R: Remote>(
        &self,
        hash: HashKey,
        remote: R,
    ) -> Result<AdaptiveFilter<RankSelectFilter<S::Rule>, R>, Error> {
        AdaptiveFilter::over(Box::new(self.make(hash, Generation(0))?), remote)
    }

    /// A filter for the set that a remote already holds, under the hash key that the remote knows: after a crash, or if a
    /// saved filter was damaged. Scans the remote once, in order. The filter has learned nothing.
    pub fn recover<R: Remote>(&self, remote: R) -> Result<AdaptiveFilter<RankSelectFilter<S::Rule>, R>, Error> {
        AdaptiveFilter::recovered(|hash, generation| self.make(hash, generation).map(Box::new), remote)
    }
}

impl<S: Coded> Options<S> {
    /// Adds a side table for the marks of up to `blocks` blocks whose 56 bits have overflowed. Until it is full no block
    /// loses what it has learned; after that, blocks are reset as without it. There is none by default; `u32::MAX` means no
    /// limit. A filter has one block per 64 slots. An entry takes 136 bytes, 17 bits for each slot of the block, counted in
    /// [`Filter::local_bits`](crate::filter::Filter::local_bits).
    ///
    /// ```
    /// use twiceshy::{hash::HashKey, quotient::TelescopingFilter, remote::ByHash};
    ///
    /// let filter = TelescopingFilter::options(100_000, 0.01)?
    ///     .side_table(100)
    ///     .build(HashKey::random()?, ByHash::new())?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), twiceshy::Error>(())
    /// ```
    #[must_use]
    pub fn side_table(self, blocks: u32) -> Self {
        Options { side: blocks, ..self }
    }
}
