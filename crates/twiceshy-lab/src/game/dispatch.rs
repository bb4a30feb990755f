//! From a filter's name to filters that can be attacked.

use super::GameError;
use super::defender::{Answer, Defender, Pair, learning, seam, settled};
use crate::replay::FilterName;
use twiceshy::cuckoo::{self, CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, SwappingFilter};
use twiceshy::error::BuildError;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    self, BroomFilter, BroomOptions, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, RankSelectFilter,
    TelescopingFilter,
};
use twiceshy::remote::{ByHash, InKeyOrder, MemoryError};
use twiceshy::sizing::{cuckoo_rate, quotient_rate};

/// How to make one kind of filter in one size, again and again.
pub struct Recipe {
    /// The rate of keys never asked for in a full filter. It is below ε, since bits come whole.
    pub(super) static_rate: f64,
    /// Whether its keys take other hash functions, phase by phase.
    pub(super) has_phases: bool,
    /// An empty filter under a hash key.
    pub(super) build: Box<Build>,
}

type Build = dyn Fn(HashKey) -> Result<Box<dyn Defender>, GameError> + Sync;

impl Recipe {
    /// The recipe of the filter that a user gets who asks for so many keys and this rate.
    pub fn named(name: FilterName, keys: u64, rate: f64) -> Result<Recipe, GameError> {
        match name {
            FilterName::Cuckoo => over_buckets(FullKeyFilter::options(keys, rate)?, keys, 0, settled),
            // One bit of a cell is the selector.
            FilterName::Cyclic => over_buckets(CyclicFilter::options(keys, rate)?, keys, 1, learning),
            FilterName::Swapping => over_buckets(SwappingFilter::options(keys, rate)?, keys, 0, learning),
            FilterName::Cuckooing => over_buckets(CuckooingFilter::options(keys, rate)?, keys, 0, learning),
            FilterName::Quotient => over_slots(QuotientFilter::options(keys, rate)?, keys, settled),
            FilterName::Telescoping => over_slots(TelescopingFilter::options(keys, rate)?, keys, learning),
            FilterName::TelescopingPlain => over_slots(PlainTelescopingFilter::options(keys, rate)?, keys, learning),
            FilterName::Extension => over_slots(ExtensionFilter::options(keys, rate)?, keys, learning),
            FilterName::Broom => Recipe::broom(BroomFilter::options(keys, rate)?, keys),
            FilterName::Bloom | FilterName::BlockedBloom | FilterName::CuckooCache | FilterName::BloomListed => Err(
                GameError::Setting(format!("{name} cannot play: it has no removal, which the game is free to ask for")),
            ),
        }
    }

    /// A broom filter as the options have it, in games of so many keys. Its remote also knows its keys in byte order.
    pub fn broom(options: BroomOptions, keys: u64) -> Result<Recipe, GameError> {
        let (slots, width) = options.geometry()?;
        let build = move |hash| {
            let mut remote = InKeyOrder::new();
            let filter = options.build(hash, &mut remote).map_err(refused)?;
            Ok(Box::new(Pair::broom(filter, remote)) as Box<dyn Defender>)
        };
        let static_rate = quotient_rate(keys as f64 / slots as f64, width);
        Ok(Recipe { static_rate, has_phases: true, build: Box::new(build) })
    }
}

/// A full-key filter of the cuckoo family.
fn over_buckets<S>(
    options: cuckoo::Options<S>,
    keys: u64,
    selector_bits: u32,
    answer: Answer<FullKeyCuckoo<S::Rule>, ByHash>,
) -> Result<Recipe, GameError>
where
    S: cuckoo::RuleSpec + Sync + 'static,
{
    let (shape, width) = options.geometry()?;
    let load = keys as f64 / shape.cells() as f64;
    // The first function's values, without the one that means empty.
    let values = (1 << (width - selector_bits)) - 1;
    let compared = u64::from(shape.tables()) * u64::from(shape.cells_per_bucket());
    let build = move |hash| {
        let mut remote = ByHash::new();
        let filter = options.build(hash, &mut remote).map_err(refused)?;
        Ok(Box::new(Pair::new(filter, remote, answer)) as Box<dyn Defender>)
    };
    let static_rate = cuckoo_rate(load, values, compared);
    Ok(Recipe { static_rate, has_phases: false, build: Box::new(build) })
}

/// A filter of the quotient family.
fn over_slots<S>(
    options: quotient::Options<S>,
    keys: u64,
    answer: Answer<RankSelectFilter<S::Rule>, ByHash>,
) -> Result<Recipe, GameError>
where
    S: quotient::RuleSpec + Sync + 'static,
{
    let (slots, width) = options.geometry()?;
    let build = move |hash| {
        let mut remote = ByHash::new();
        let filter = options.build(hash, &mut remote).map_err(refused)?;
        Ok(Box::new(Pair::new(filter, remote, answer)) as Box<dyn Defender>)
    };
    let static_rate = quotient_rate(keys as f64 / slots as f64, width);
    Ok(Recipe { static_rate, has_phases: false, build: Box::new(build) })
}

fn refused(error: BuildError<MemoryError>) -> GameError {
    match error {
        BuildError::Options(error) => GameError::Options(error),
        error => seam(error),
    }
}
