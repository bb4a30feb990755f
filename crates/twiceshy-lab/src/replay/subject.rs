//! A filter with its remote, as a trial drives it.

use super::ReplayError;
use twiceshy::cuckoo::{CuckooFilter, FullKeyCuckoo, Rule, Stats};
use twiceshy::error::{InsertError, RebuildError};
use twiceshy::filter::{Adapted, Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::remote::{Counting, Counts, Remote};

/// What a trial needs of a filter.
pub(super) trait Subject {
    type Filter: Filter;

    fn filter(&self) -> &Self::Filter;

    /// Stores a key; `false` where there is no room.
    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError>;

    /// Hears that a query was a false positive.
    fn wrong(&mut self, query: &[u8]) -> Result<Outcome, ReplayError>;

    /// Whether an adaptation passed its bound since the last rebuild.
    fn wants_rebuild(&self) -> bool;

    /// Takes another hash key; `false` where the keys do not fit under it.
    fn rekey(&mut self, hash: HashKey) -> Result<bool, ReplayError>;

    fn counts(&self) -> Counts;

    fn stats(&self) -> Stats;
}

/// What became of a false positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The filter does not learn.
    Static,
    Adapted(Adapted),
}

/// An adaptive filter.
pub(super) struct Learning<F, R> {
    pub(super) filter: F,
    pub(super) remote: Counting<R>,
}

/// A full-key filter that does not adapt.
pub(super) struct Settled<F, R> {
    pub(super) filter: F,
    pub(super) remote: Counting<R>,
}

fn insert<F: Backed, R: Remote>(filter: &mut F, key: &[u8], remote: &mut R) -> Result<bool, ReplayError> {
    match filter.insert(key, remote) {
        Ok(_) => Ok(true),
        Err(InsertError::Full { .. }) => Ok(false),
        Err(error) => Err(seam(error)),
    }
}

fn rekey<F: Backed, R: Remote>(filter: &mut F, hash: HashKey, remote: &mut R) -> Result<bool, ReplayError> {
    match filter.rekey(hash, remote) {
        Ok(()) => Ok(true),
        Err(RebuildError::Full { .. }) => Ok(false),
        Err(error) => Err(seam(error)),
    }
}

fn seam(error: impl std::fmt::Display) -> ReplayError {
    ReplayError::Seam(error.to_string())
}

impl<Q: Rule, R: Remote> Subject for Learning<FullKeyCuckoo<Q>, R>
where
    FullKeyCuckoo<Q>: Adaptive,
{
    type Filter = FullKeyCuckoo<Q>;

    fn filter(&self) -> &Self::Filter {
        &self.filter
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        insert(&mut self.filter, key, &mut self.remote)
    }

    fn wrong(&mut self, query: &[u8]) -> Result<Outcome, ReplayError> {
        self.filter.adapt(query, &mut self.remote).map(Outcome::Adapted).map_err(seam)
    }

    fn wants_rebuild(&self) -> bool {
        self.filter.wants_rebuild()
    }

    fn rekey(&mut self, hash: HashKey) -> Result<bool, ReplayError> {
        rekey(&mut self.filter, hash, &mut self.remote)
    }

    fn counts(&self) -> Counts {
        self.remote.counts()
    }

    fn stats(&self) -> Stats {
        self.filter.stats()
    }
}

impl<Q: Rule, R: Remote> Subject for Settled<FullKeyCuckoo<Q>, R> {
    type Filter = FullKeyCuckoo<Q>;

    fn filter(&self) -> &Self::Filter {
        &self.filter
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        insert(&mut self.filter, key, &mut self.remote)
    }

    /// Asks the remote, as every false positive does, and learns nothing.
    fn wrong(&mut self, query: &[u8]) -> Result<Outcome, ReplayError> {
        for place in self.filter.lookup(query).into_iter().flatten() {
            self.remote.candidates(&place, &mut |_| ()).map_err(seam)?;
        }
        Ok(Outcome::Static)
    }

    fn wants_rebuild(&self) -> bool {
        false
    }

    fn rekey(&mut self, hash: HashKey) -> Result<bool, ReplayError> {
        rekey(&mut self.filter, hash, &mut self.remote)
    }

    fn counts(&self) -> Counts {
        self.remote.counts()
    }

    fn stats(&self) -> Stats {
        self.filter.stats()
    }
}

impl Subject for CuckooFilter {
    type Filter = CuckooFilter;

    fn filter(&self) -> &CuckooFilter {
        self
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        Ok(CuckooFilter::insert(self, key).is_ok())
    }

    fn wrong(&mut self, _: &[u8]) -> Result<Outcome, ReplayError> {
        Ok(Outcome::Static)
    }

    fn wants_rebuild(&self) -> bool {
        false
    }

    /// It knows no keys: the trial fills another one.
    fn rekey(&mut self, _: HashKey) -> Result<bool, ReplayError> {
        Ok(false)
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}
