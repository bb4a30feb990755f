//! The filters whose operations are timed.

use crate::baseline::Bloom;
use crate::experiment::TaskError;
use crate::fixed_set::FixedSet;
use crate::replay::{AnyFilter, told};
use twiceshy::Kind;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::Filter;

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

/// What is timed. A trait, so that each filter has its own loops and pays for no choice between filters in them.
pub(super) trait Timed {
    fn insert(&mut self, key: &[u8]) -> Result<(), TaskError>;

    /// Removes a key, if the filter knows its keys.
    fn remove(&mut self, _: &[u8]) -> Result<(), TaskError> {
        Ok(())
    }

    fn contains(&self, key: &[u8]) -> bool;

    /// Tells the filter about a false positive. Those without a remote learn nothing from it.
    fn was_wrong(&mut self, _: &[u8]) -> Result<(), TaskError> {
        Ok(())
    }

    fn local_bits(&self) -> u64;
}

impl Timed for AnyFilter<FixedSet> {
    fn insert(&mut self, key: &[u8]) -> Result<(), TaskError> {
        self.insert(key).map(drop).map_err(TaskError::new)
    }

    fn remove(&mut self, key: &[u8]) -> Result<(), TaskError> {
        self.remove(key).map(drop).map_err(TaskError::new)
    }

    fn contains(&self, key: &[u8]) -> bool {
        self.contains(key)
    }

    fn was_wrong(&mut self, query: &[u8]) -> Result<(), TaskError> {
        told(self, query).map(drop).map_err(TaskError::new)
    }

    fn local_bits(&self) -> u64 {
        self.local_bits()
    }
}

impl Timed for CuckooFilter {
    fn insert(&mut self, key: &[u8]) -> Result<(), TaskError> {
        self.insert(key).map_err(TaskError::new)
    }

    fn contains(&self, key: &[u8]) -> bool {
        Filter::contains(self, key)
    }

    fn local_bits(&self) -> u64 {
        Filter::local_bits(self)
    }
}

impl Timed for Bloom {
    fn insert(&mut self, key: &[u8]) -> Result<(), TaskError> {
        self.insert(key);
        Ok(())
    }

    fn contains(&self, key: &[u8]) -> bool {
        Filter::contains(self, key)
    }

    fn local_bits(&self) -> u64 {
        Filter::local_bits(self)
    }
}
