//! The baseline filters and the filters from outside, in a trial.

use super::names::FilterName;
use super::spec::RemoteName;
use super::subject::{Entered, Ours};
use super::{FilterSpec, ReplayError, Settings};
use crate::baseline::{Bits, BlockedBloom, Bloom, Hashed, WithMistakes};
use crate::open::{Refused, Rival, Room};
use twiceshy::Kind;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::Filter as _;
use twiceshy::hash::HashKey;

/// The default bits of each cell that a list of mistakes takes.
const CACHE_BITS: u32 = 1;

/// The rival that the settings name, without keys.
pub(super) fn entered(settings: &Settings, cells: u64, hash: HashKey) -> Result<Entered, ReplayError> {
    Ok(Entered::new(settings.filter.title(), rival(settings, cells, hash)?, cells))
}

/// The memory that a filter from outside may take.
pub(super) fn room(settings: &Settings, cells: u64, hash: HashKey) -> Room {
    Room {
        keys: (settings.load * cells as f64).round() as u64,
        bits: cells.saturating_mul(settings.filter.bits.into()),
        seed: hash.words(b"seed").word(0),
    }
}

fn rival(settings: &Settings, cells: u64, hash: HashKey) -> Result<Box<dyn Rival>, ReplayError> {
    let spec = &settings.filter;
    let bits = spec.bits;
    let keys = (settings.load * cells as f64) as u64;
    match spec.name {
        FilterName::Ours(_) => {
            let (tables, per_bucket) = spec.buckets();
            let options = CuckooFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_bucket);
            Ok(Box::new(options.search(spec.search()).build(hash)?))
        }
        _ if !(2..=64).contains(&bits) => {
            Err(ReplayError::Setting(format!("the bits of a cell must be 2 to 64, not {bits}")))
        }
        FilterName::Foreign => {
            let nothing = || ReplayError::Setting("a filter from outside needs the function that makes it".into());
            let foreign = spec.foreign.as_ref().ok_or_else(nothing)?;
            let failed = |why: Refused| ReplayError::Rival { filter: foreign.name().into(), why: why.to_string() };
            foreign.build(room(settings, cells, hash)).map_err(failed)
        }
        FilterName::Bloom => Ok(Box::new(Bloom::new(cells, bits, keys, hash))),
        FilterName::BlockedBloom => Ok(Box::new(BlockedBloom::new(cells, bits, keys, hash))),
        FilterName::BloomListed => Ok(Box::new(WithMistakes::new(Bloom::new(cells, bits, keys, hash), None))),
        FilterName::CuckooCache => {
            let cache = spec.cache_bits.unwrap_or(CACHE_BITS);
            let plain = bits.checked_sub(cache).filter(|left| *left >= 2).map(|left| FilterSpec {
                name: Kind::FullKey.into(),
                bits: left,
                remote: RemoteName::Mirror,
                ..spec.clone()
            });
            let plain = plain.map(|plain| Ours::new(&plain, cells, hash)).transpose()?.flatten();
            let plain = plain.ok_or_else(|| {
                ReplayError::Setting(format!(
                    "a list of {cache} bits per cell leaves less than 2 of {bits}: raise --bits or lower --cache-bits"
                ))
            })?;
            Ok(Box::new(WithMistakes::new(plain, Some(cells * u64::from(cache) / 8))))
        }
    }
}

/// A Bloom filter takes every key.
impl<B: Bits + Send> Rival for Hashed<B> {
    fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
        Hashed::insert(self, key);
        Ok(())
    }

    fn contains(&self, key: &[u8]) -> bool {
        twiceshy::filter::Filter::contains(self, key)
    }

    fn bits(&self) -> u64 {
        self.local_bits()
    }
}

impl<F: Rival> Rival for WithMistakes<F> {
    fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
        self.forget(key);
        self.filter_mut().insert(key)
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.filter().contains(key) && !self.is_noted(key)
    }

    fn was_wrong(&mut self, query: &[u8]) -> Result<(), Refused> {
        self.note(query);
        Ok(())
    }

    fn bits(&self) -> u64 {
        self.filter().bits() + self.list_bits()
    }
}

impl Rival for CuckooFilter {
    fn insert(&mut self, key: &[u8]) -> Result<(), Refused> {
        CuckooFilter::insert(self, key).map(drop).map_err(|_| Refused::Full)
    }

    fn contains(&self, key: &[u8]) -> bool {
        twiceshy::filter::Filter::contains(self, key)
    }

    fn bits(&self) -> u64 {
        self.local_bits()
    }
}
