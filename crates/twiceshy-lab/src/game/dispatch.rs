//! From a filter's name to filters that can be attacked.

use super::anatomy::{Anatomy, divided};
use super::defender::{Answer, Defender, Pair, Recover, learning, seam, settled};
use super::{GameError, affordable};
use crate::replay::FilterName;
use std::sync::Arc;
use twiceshy::cuckoo::{self, CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Selectors, SwappingFilter};
use twiceshy::error::BuildError;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    self, BroomFilter, BroomOptions, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, RankSelectFilter,
    TelescopingFilter,
};
use twiceshy::remote::{ByHash, MemoryError, Remote};
use twiceshy::sizing::{cuckoo_rate, quotient_rate};

/// How to make one kind of filter in one size, again and again.
pub struct Recipe {
    /// The rate of keys never asked for in a full filter. It is below ε, since bits come whole.
    pub(super) static_rate: f64,
    /// Whether its keys take other hash functions, phase by phase.
    pub(super) has_phases: bool,
    /// What an adversary may know of it.
    pub(super) anatomy: Anatomy,
    /// An empty filter under a hash key.
    pub(super) build: Box<Build>,
}

type Build = dyn Fn(HashKey) -> Result<Box<dyn Defender>, GameError> + Sync;

impl Recipe {
    /// The recipe of the filter that a user gets who asks for so many keys and this rate.
    pub fn named(name: FilterName, keys: u64, rate: f64) -> Result<Recipe, GameError> {
        affordable(keys)?;
        let one_bit = Selectors::Equal { bits: 1 };
        match name {
            FilterName::Cuckoo => over_buckets(FullKeyFilter::options(keys, rate)?, keys, None, ByHash::new, settled),
            FilterName::Cyclic => {
                over_buckets(CyclicFilter::options(keys, rate)?, keys, Some(&one_bit), ByHash::new, learning)
            }
            FilterName::Swapping => {
                over_buckets(SwappingFilter::options(keys, rate)?, keys, None, ByHash::new, learning)
            }
            FilterName::Cuckooing => {
                over_buckets(CuckooingFilter::options(keys, rate)?, keys, None, ByHash::new, learning)
            }
            FilterName::Quotient => over_slots(QuotientFilter::options(keys, rate)?, keys, settled),
            FilterName::Telescoping => over_slots(TelescopingFilter::options(keys, rate)?, keys, learning),
            FilterName::TelescopingPlain => over_slots(PlainTelescopingFilter::options(keys, rate)?, keys, learning),
            FilterName::Extension => over_slots(ExtensionFilter::options(keys, rate)?, keys, learning),
            FilterName::Broom => Recipe::broom(BroomFilter::options(keys, rate)?, keys),
            FilterName::Bloom | FilterName::BlockedBloom | FilterName::CuckooCache | FilterName::BloomListed => {
                Err(no_removal(name))
            }
        }
    }

    /// A broom filter as the options have it, in games of this many keys.
    pub fn broom(options: BroomOptions, keys: u64) -> Result<Recipe, GameError> {
        let (slots, width) = options.geometry()?;
        let recover: Recover<BroomFilter, ByHash> = Arc::new(move |hash, remote| options.recover(hash, remote));
        let build = move |hash| {
            let mut remote = ByHash::new();
            let filter = options.build(hash, &mut remote).map_err(refused)?;
            Ok(Box::new(Pair::broom(filter, remote, recover.clone())) as Box<dyn Defender>)
        };
        Ok(Recipe { has_phases: true, ..Recipe::in_slots(keys, slots, width, Box::new(build)) })
    }

    /// The rate of keys never asked for, by the formula, in a filter that holds its keys.
    pub fn static_rate(&self) -> f64 {
        self.static_rate
    }

    fn in_slots(keys: u64, slots: u64, width: u32, build: Box<Build>) -> Recipe {
        let anatomy = Anatomy { tables: 1, buckets: slots, cells_per_bucket: 1, functions: 1, values: 1 << width };
        Recipe { static_rate: quotient_rate(keys as f64 / slots as f64, width), has_phases: false, anatomy, build }
    }
}

/// A full-key filter of the cuckoo family.
pub(super) fn over_buckets<S, R>(
    options: cuckoo::Options<S>,
    keys: u64,
    selectors: Option<&Selectors>,
    remote: fn() -> R,
    answer: Answer<FullKeyCuckoo<S::Rule>, R>,
) -> Result<Recipe, GameError>
where
    S: cuckoo::RuleSpec + Send + Sync + 'static,
    R: Remote<Error = MemoryError> + Clone + 'static,
{
    let (shape, width) = options.geometry()?;
    let again = options.clone();
    let recover: Recover<FullKeyCuckoo<S::Rule>, R> = Arc::new(move |_, remote| again.recover(remote));
    let build = move |hash| {
        let mut remote = remote();
        let filter = options.build(hash, &mut remote).map_err(refused)?;
        Ok(Box::new(Pair::new(filter, remote, answer, recover.clone())) as Box<dyn Defender>)
    };
    // What cannot be built is refused before any game, and before anything is worked out from it.
    drop(build(HashKey::fixed(0))?);
    let (functions, values) = divided(selectors, width)?;
    let anatomy = Anatomy {
        tables: shape.tables().into(),
        buckets: shape.buckets(),
        cells_per_bucket: shape.cells_per_bucket().into(),
        functions,
        values,
    };
    let load = keys as f64 / shape.cells() as f64;
    let static_rate = cuckoo_rate(load, values, anatomy.tables * anatomy.cells_per_bucket);
    Ok(Recipe { static_rate, has_phases: false, anatomy, build: Box::new(build) })
}

/// A filter of the quotient family.
pub(super) fn over_slots<S>(
    options: quotient::Options<S>,
    keys: u64,
    answer: Answer<RankSelectFilter<S::Rule>, ByHash>,
) -> Result<Recipe, GameError>
where
    S: quotient::RuleSpec + Send + Sync + 'static,
{
    let (slots, width) = options.geometry()?;
    let again = options.clone();
    let recover: Recover<RankSelectFilter<S::Rule>, ByHash> = Arc::new(move |_, remote| again.recover(remote));
    let build = move |hash| {
        let mut remote = ByHash::new();
        let filter = options.build(hash, &mut remote).map_err(refused)?;
        Ok(Box::new(Pair::new(filter, remote, answer, recover.clone())) as Box<dyn Defender>)
    };
    Ok(Recipe::in_slots(keys, slots, width, Box::new(build)))
}

fn refused(error: BuildError<MemoryError>) -> GameError {
    match error {
        BuildError::Options(error) => GameError::Options(error),
        error => seam(error),
    }
}

/// Why a rival cannot play.
pub(super) fn no_removal(name: FilterName) -> GameError {
    let others: Vec<&str> = FilterName::OURS.iter().map(|name| name.as_str()).collect();
    let others = others.join(", ");
    GameError::Setting(format!(
        "{name} cannot play, since the game may ask for removals and it has none: take {others}"
    ))
}
