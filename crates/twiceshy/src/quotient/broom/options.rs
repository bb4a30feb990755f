//! The options of a broom filter.

use super::filter::{BroomFilter, Reclaim, new_local};
use super::functions::Functions;
use super::rules::{BroomRule, Rules};
use super::shape::{BroomForm, Shape, static_rate};
use crate::error::{Error, OptionsError};
use crate::hash::HashKey;
use crate::pair::AdaptiveFilter;
use crate::remote::{Generation, Remote};
use crate::sizing;

/// The options of a [`BroomFilter`]. Every setting is checked in [`BroomOptions::build`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BroomOptions {
    size: Size,
    form: Option<BroomForm>,
    reclaim: Reclaim,
    rules: Rules,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Size {
    Capacity { keys: u64, rate: f64 },
    Slots { slots: u64, width: u32 },
}

/// The load that a broom filter is planned for.
const LOAD: f64 = 0.95;

/// `true` if c keys may move for each extension. A key that moves is extended, or extends another, with probability ε: with
/// more than 1/ε keys the debt would grow without end.
pub(super) fn reclaims(c: u32, width: u32) -> bool {
    c == 3 || (3..=64).contains(&c) && u64::from(c) <= 1 << (width - 1)
}

impl BroomFilter {
    /// A filter for this many keys, at this sustained false-positive rate.
    pub fn options(keys: u64, rate: f64) -> Result<BroomOptions, OptionsError> {
        sizing::check_capacity(keys)?;
        sizing::check_rate(rate)?;
        Ok(BroomOptions::of(Size::Capacity { keys, rate }))
    }

    /// A filter of `slots` slots with remainders of `width` bits.
    pub fn with_slots(slots: u64, width: u32) -> BroomOptions {
        BroomOptions::of(Size::Slots { slots, width })
    }
}

impl BroomOptions {
    fn of(size: Size) -> BroomOptions {
        BroomOptions { size, form: None, reclaim: Reclaim { c: 3, by_rebuild: false }, rules: Rules::default() }
    }

    /// The number of keys that take the new hash function for each extension of a fingerprint: 3 to 64, at most 2^(bits −
    /// 1). The default is 3 (with removals, 4.3 needs more than 2).
    #[must_use]
    pub fn reclaim(self, c: u32) -> Self {
        BroomOptions { reclaim: Reclaim { c, ..self.reclaim }, ..self }
    }

    /// The amortised way to reclaim bits (4.2): no key moves until there was an extension for every c keys. Then the filter
    /// [wants a rebuild](crate::filter::Backed::wants_rebuild), and another hash key drops all bits at once. Look-ups are
    /// the same. The work is done at another time, and adaptivity bits pile up until then. An adversary then wins with
    /// probability at most 1.4·ε if the owner re-keys as soon as it is asked to, and more if it waits.
    #[must_use]
    pub fn reclaim_by_rebuild(self) -> Self {
        BroomOptions { reclaim: Reclaim { by_rebuild: true, ..self.reclaim }, ..self }
    }

    /// The form, instead of the one that follows from the width of remainders.
    #[must_use]
    pub fn form(self, form: BroomForm) -> Self {
        BroomOptions { form: Some(form), ..self }
    }

    /// For tests only: a filter that breaks one of its rules. A loaded filter keeps them all.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn without(self, rule: super::rules::BroomRule) -> Self {
        BroomOptions { rules: self.rules.without(rule), ..self }
    }

    /// The resulting number of slots in the first level, and the remainder width.
    pub fn geometry(&self) -> Result<(u64, u32), OptionsError> {
        match self.size {
            Size::Slots { slots, width } => {
                sizing::check_width(width)?;
                sizing::check_slots(slots)?;
                Ok((slots, width))
            }
            Size::Capacity { keys, rate } => {
                let slots = sizing::quotient_slots(keys, LOAD)?;
                let enough = |width: &u32| static_rate(slots, keys, *width, self.form) <= rate;
                Ok((slots, sizing::WIDTHS.clone().find(enough).ok_or(OptionsError::Rate(rate))?))
            }
        }
    }

    fn parts(&self) -> Result<(u64, u32, Reclaim), OptionsError> {
        let (slots, width) = self.geometry()?;
        match reclaims(self.reclaim.c, width) {
            true => Ok((slots, width, self.reclaim)),
            false => Err(OptionsError::Bound(
                "the number of keys moved for each extension must be 3 to 64, and at most 2^(bits − 1)",
            )),
        }
    }

    /// The number of slots and the remainder width.
    pub(crate) fn size(&self) -> Result<(u64, u32), OptionsError> {
        self.geometry()
    }

    /// An empty filter whose functions derive from this hash key, for this generation of a remote.
    pub(crate) fn make(&self, hash: HashKey, generation: Generation) -> Result<BroomFilter, OptionsError> {
        let (slots, width, reclaim) = self.parts()?;
        let functions = Functions::begin(hash, generation, slots);
        let local = new_local(Shape::new(slots, width, self.form), self.rules, functions)?;
        Ok(BroomFilter::over(local, reclaim))
    }

    /// `true` unless a test has switched the rule off.
    pub(super) fn takes_new_functions(&self) -> bool {
        self.rules.keep(BroomRule::NewFunctions)
    }

    /// An empty filter over a remote by hash that holds no set yet.
    pub fn build<R: Remote>(&self, hash: HashKey, remote: R) -> Result<AdaptiveFilter<BroomFilter, R>, Error> {
        AdaptiveFilter::over(Box::new(self.make(hash, Generation(0))?), remote)
    }
}
