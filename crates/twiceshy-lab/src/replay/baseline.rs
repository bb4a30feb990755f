//! The baseline filters in a trial.

use super::drive::drive;
use super::names::FilterName;
use super::subject::{Outcome, Subject};
use super::{Progress, ReplayError, Report, Settings};
use crate::baseline::{Bits, BlockedBloom, Bloom, Hashed, WithMistakes};
use twiceshy::cuckoo::{FullKeyFilter, Search};
use twiceshy::error::{BuildError, InsertError, OptionsError};
use twiceshy::filter::{Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

/// A plain filter, with the remote that it needs to move keys.
struct Plain {
    filter: FullKeyFilter,
    remote: Mirror,
}

/// A baseline: how it stores a key, and how it handles a key that it was wrong about.
struct Rival<F> {
    filter: F,
    insert: fn(&mut F, &[u8]) -> Result<bool, ReplayError>,
    wrong: fn(&mut F, &[u8]),
}

/// The default bits of each cell that a list of mistakes takes.
const CACHE_BITS: u32 = 1;

pub(super) fn dispatch(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    let spec = &settings.filter;
    let bits = spec.bits;
    if !(2..=64).contains(&bits) {
        return Err(ReplayError::Setting(format!("the bits of a cell must be 2 to 64, not {bits}")));
    }
    let keys = |cells: u64| (settings.load * cells as f64) as u64;
    match spec.name {
        FilterName::Bloom => drive(settings, progress, |cells, hash| {
            let filter = Bloom::new(cells, bits, keys(cells), hash);
            Ok(Rival { filter, insert: put, wrong: |_, _| () })
        }),
        FilterName::BlockedBloom => drive(settings, progress, |cells, hash| {
            let filter = BlockedBloom::new(cells, bits, keys(cells), hash);
            Ok(Rival { filter, insert: put, wrong: |_, _| () })
        }),
        FilterName::BloomListed => drive(settings, progress, |cells, hash| {
            let filter = WithMistakes::new(Bloom::new(cells, bits, keys(cells), hash), None);
            let insert = |filter: &mut WithMistakes<Bloom>, key: &[u8]| put(filter.filter_mut(), key);
            Ok(Rival { filter, insert, wrong: WithMistakes::note })
        }),
        _ => drive(settings, progress, |cells, hash| {
            let cache = spec.cache_bits.unwrap_or(CACHE_BITS);
            let left = bits.checked_sub(cache).filter(|left| *left >= 2).ok_or_else(|| {
                ReplayError::Setting(format!(
                    "a list of {cache} bits per cell leaves less than 2 of {bits}: raise --bits or lower --cache-bits"
                ))
            })?;
            let filter =
                WithMistakes::new(plain(cells, left, spec.search(), hash)?, Some(cells * u64::from(cache) / 8));
            let insert = |filter: &mut WithMistakes<Plain>, key: &[u8]| filter.filter_mut().insert(key);
            Ok(Rival { filter, insert, wrong: WithMistakes::note })
        }),
    }
}

/// A Bloom filter takes every key.
fn put<B: Bits>(filter: &mut Hashed<B>, key: &[u8]) -> Result<bool, ReplayError> {
    filter.insert(key);
    Ok(true)
}

fn plain(cells: u64, bits: u32, search: Search, hash: HashKey) -> Result<Plain, ReplayError> {
    let mut remote = Mirror::new();
    let options = FullKeyFilter::with_cells(cells, bits).search(search);
    let filter = options.build(hash, &mut remote).map_err(|error| match error {
        BuildError::Options(error) => OptionsError::into(error),
        error => ReplayError::Seam(error.to_string()),
    })?;
    Ok(Plain { filter, remote })
}

impl Plain {
    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        match self.filter.insert(key, &mut self.remote) {
            Ok(_) => Ok(true),
            Err(InsertError::Full { .. }) => Ok(false),
            Err(error) => Err(ReplayError::Seam(error.to_string())),
        }
    }
}

impl Filter for Plain {
    fn contains(&self, key: &[u8]) -> bool {
        self.filter.contains(key)
    }

    fn len(&self) -> u64 {
        self.filter.len()
    }

    fn cells(&self) -> u64 {
        self.filter.cells()
    }

    fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }
}

/// The cost of a remote is not counted: it is only used to find room.
impl<F: Filter> Subject for Rival<F> {
    type Filter = F;

    fn filter(&self) -> &F {
        &self.filter
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        (self.insert)(&mut self.filter, key)
    }

    fn wrong(&mut self, query: &[u8]) -> Result<Outcome, ReplayError> {
        (self.wrong)(&mut self.filter, query);
        Ok(Outcome::Static)
    }
}
