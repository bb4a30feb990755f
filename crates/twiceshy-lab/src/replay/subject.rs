//! A filter with its remote, as a trial drives it.

use super::ReplayError;
use super::work::{Counted, Work};
use twiceshy::cuckoo::CuckooFilter;
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
    fn wants_rebuild(&self) -> bool {
        false
    }

    /// Takes another hash key; `false` where the keys do not fit under it, or where the filter knows no keys.
    fn rekey(&mut self, _: HashKey) -> Result<bool, ReplayError> {
        Ok(false)
    }

    /// What the remote was asked; nothing of a filter without one.
    fn counts(&self) -> Counts {
        Counts::default()
    }

    /// What the filter did, as far as it keeps statistics.
    fn work(&self) -> Work {
        Work::default()
    }
}

/// What became of a false positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The filter does not learn.
    Static,
    Adapted(Adapted),
}

/// A filter of any family with its remote. Whether it learns is settled when it is made.
pub(super) struct Pair<F, R> {
    filter: F,
    remote: Counting<R>,
    answer: Answer<F, R>,
}

/// What is done about a false positive.
type Answer<F, R> = fn(&mut F, &[u8], &mut Counting<R>) -> Result<Outcome, ReplayError>;

impl<F: Backed, R: Remote> Pair<F, R> {
    /// A filter that adapts.
    pub(super) fn learning(filter: F, remote: Counting<R>) -> Pair<F, R>
    where
        F: Adaptive,
    {
        let answer: Answer<F, R> = |filter, query, remote| {
            let adapted = filter.adapt(query, remote).map_err(seam)?;
            Ok(Outcome::Adapted(adapted))
        };
        Pair { filter, remote, answer }
    }

    /// A filter that does not adapt: it asks the remote, as every false positive does, and learns nothing.
    pub(super) fn settled(filter: F, remote: Counting<R>) -> Pair<F, R> {
        let answer: Answer<F, R> = |filter, query, remote| {
            for place in filter.lookup(query).into_iter().flatten() {
                remote.candidates(&place, &mut |_| ()).map_err(seam)?;
            }
            Ok(Outcome::Static)
        };
        Pair { filter, remote, answer }
    }
}

fn seam(error: impl std::fmt::Display) -> ReplayError {
    ReplayError::Seam(error.to_string())
}

impl<F: Backed + Counted, R: Remote> Subject for Pair<F, R> {
    type Filter = F;

    fn filter(&self) -> &F {
        &self.filter
    }

    fn insert(&mut self, key: &[u8]) -> Result<bool, ReplayError> {
        match self.filter.insert(key, &mut self.remote) {
            Ok(_) => Ok(true),
            Err(InsertError::Full { .. }) => Ok(false),
            Err(error) => Err(seam(error)),
        }
    }

    fn wrong(&mut self, query: &[u8]) -> Result<Outcome, ReplayError> {
        (self.answer)(&mut self.filter, query, &mut self.remote)
    }

    fn wants_rebuild(&self) -> bool {
        self.filter.wants_rebuild()
    }

    fn rekey(&mut self, hash: HashKey) -> Result<bool, ReplayError> {
        match self.filter.rekey(hash, &mut self.remote) {
            Ok(()) => Ok(true),
            Err(RebuildError::Full { .. }) => Ok(false),
            Err(error) => Err(seam(error)),
        }
    }

    fn counts(&self) -> Counts {
        self.remote.counts()
    }

    fn work(&self) -> Work {
        self.filter.work()
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
}
