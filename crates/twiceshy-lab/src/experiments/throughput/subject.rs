//! A filter whose operations are timed.

use crate::baseline::Bloom;
use crate::experiment::TaskError;
use crate::fixed_set::FixedSet;
use crate::replay::{AnyFilter, FilterSpec, told};
use twiceshy::Kind;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;

/// How a filter is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Make {
    /// A filter of this project over its remote, with the bits of a remainder or cell.
    Ours(Kind, u32),
    /// The partial-key cuckoo filter, 2 tables with buckets of 4 cells, without a remote.
    PartialKey,
    /// A Bloom filter in the memory of the cells.
    Bloom,
}

impl Make {
    /// An empty filter of this many cells or slots. Those without a remote have cells of `bits` bits.
    pub(super) fn build(
        self,
        cells: u64,
        bits: u32,
        keys: u64,
        hash: HashKey,
        remote: FixedSet,
    ) -> Result<Subject, TaskError> {
        match self {
            Make::Ours(kind, bits) => {
                let options = FilterSpec::new(kind, bits).options(cells).ok_or_else(|| TaskError::new("a rival"))?;
                Ok(Subject::Ours(options.build(hash, remote).map_err(TaskError::new)?))
            }
            Make::PartialKey => {
                let options = CuckooFilter::with_cells(cells, bits).tables(2).cells_per_bucket(4);
                Ok(Subject::PartialKey(options.build(hash).map_err(TaskError::new)?))
            }
            Make::Bloom => Ok(Subject::Bloom(Bloom::new(cells, bits, keys, hash))),
        }
    }
}

/// The filter.
pub(super) enum Subject {
    Ours(AnyFilter<FixedSet>),
    PartialKey(CuckooFilter),
    Bloom(Bloom),
}

impl Subject {
    pub(super) fn insert(&mut self, key: &[u8]) -> Result<(), TaskError> {
        match self {
            Subject::Ours(filter) => drop(filter.insert(key).map_err(TaskError::new)?),
            Subject::PartialKey(filter) => filter.insert(key).map_err(TaskError::new)?,
            Subject::Bloom(filter) => filter.insert(key),
        }
        Ok(())
    }

    /// Removes a key, if the filter knows its keys.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<(), TaskError> {
        if let Subject::Ours(filter) = self {
            filter.remove(key).map_err(TaskError::new)?;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn contains(&self, key: &[u8]) -> bool {
        match self {
            Subject::Ours(filter) => filter.contains(key),
            Subject::PartialKey(filter) => filter.contains(key),
            Subject::Bloom(filter) => filter.contains(key),
        }
    }

    /// Tells the filter about a false positive. Those without a remote learn nothing from it.
    pub(super) fn was_wrong(&mut self, query: &[u8]) -> Result<(), TaskError> {
        if let Subject::Ours(filter) = self {
            told(filter, query).map_err(TaskError::new)?;
        }
        Ok(())
    }

    pub(super) fn local_bits(&self) -> u64 {
        match self {
            Subject::Ours(filter) => filter.local_bits(),
            Subject::PartialKey(filter) => filter.local_bits(),
            Subject::Bloom(filter) => filter.local_bits(),
        }
    }
}
