//! What the game needs of a filter.

use super::GameError;
use super::oracle::Key;
use twiceshy::error::{InsertError, RebuildError};
use twiceshy::filter::{Adapted, Adaptive, Backed, Removed};
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::Remote;

/// A filter with its remote, as the oracle drives it: the functions of 001's Definition 1, and re-keying. A filter that is
/// to be attacked needs this and a line in [`Recipe::named`](super::Recipe::named).
pub(super) trait Defender {
    /// What the filter answers from its own bits.
    fn says_present(&self, key: &Key) -> bool;

    /// Stores a key that is not stored; `false` where there is no room.
    fn insert(&mut self, key: &Key) -> Result<bool, GameError>;

    /// Takes out a key that is stored.
    fn remove(&mut self, key: &Key) -> Result<(), GameError>;

    /// Hears that a query was a false positive; `None` from a filter that does not learn.
    fn adapt(&mut self, query: &Key) -> Result<Option<Adapted>, GameError>;

    /// Whether the filter asks for another hash key.
    fn wants_rebuild(&self) -> bool;

    /// Takes another hash key; `false` where the keys do not fit under it.
    fn rekey(&mut self, hash: HashKey) -> Result<bool, GameError>;

    /// The bits that the filter holds in memory.
    fn local_bits(&self) -> u64;

    /// Where the filter stands; `None` from one whose keys keep their hash function.
    fn phase(&self) -> Option<Phase<'_>>;
}

/// Where a filter stands whose keys take another hash function one after another, in byte order.
pub(super) struct Phase<'a> {
    /// How often all keys have done so.
    pub(super) ended: u64,
    /// The last key that has done so since.
    pub(super) frontier: Option<&'a [u8]>,
}

/// A filter over its remote. Whether it learns, and in phases, is settled when it is made.
pub(super) struct Pair<F, R> {
    filter: F,
    remote: R,
    answer: Answer<F, R>,
    phase: fn(&F) -> Option<Phase<'_>>,
}

/// What is done about a false positive.
pub(super) type Answer<F, R> = fn(&mut F, &Key, &mut R) -> Result<Option<Adapted>, GameError>;

/// The answer of a filter that adapts.
pub(super) fn learning<F: Adaptive, R: Remote>(
    filter: &mut F,
    query: &Key,
    remote: &mut R,
) -> Result<Option<Adapted>, GameError> {
    filter.adapt(query, remote).map(Some).map_err(seam)
}

/// The answer of a filter that does not.
pub(super) fn settled<F, R>(_: &mut F, _: &Key, _: &mut R) -> Result<Option<Adapted>, GameError> {
    Ok(None)
}

impl<F: Backed, R: Remote> Pair<F, R> {
    pub(super) fn new(filter: F, remote: R, answer: Answer<F, R>) -> Pair<F, R> {
        Pair { filter, remote, answer, phase: |_| None }
    }
}

impl<R: Remote> Pair<BroomFilter, R> {
    pub(super) fn broom(filter: BroomFilter, remote: R) -> Pair<BroomFilter, R> {
        Pair {
            filter,
            remote,
            answer: learning,
            phase: |filter| Some(Phase { ended: filter.phases(), frontier: filter.frontier() }),
        }
    }
}

pub(super) fn seam(error: impl std::fmt::Display) -> GameError {
    GameError::Seam(error.to_string())
}

impl<F: Backed, R: Remote> Defender for Pair<F, R> {
    fn says_present(&self, key: &Key) -> bool {
        self.filter.contains(key)
    }

    fn insert(&mut self, key: &Key) -> Result<bool, GameError> {
        match self.filter.insert(key, &mut self.remote) {
            Ok(_) => Ok(true),
            Err(InsertError::Full { .. }) => Ok(false),
            Err(error) => Err(seam(error)),
        }
    }

    fn remove(&mut self, key: &Key) -> Result<(), GameError> {
        match self.filter.remove(key, &mut self.remote).map_err(seam)? {
            Removed::Gone | Removed::LeftOrphan => Ok(()),
            Removed::NotStored => Err(GameError::Seam("a stored key was not found".into())),
        }
    }

    fn adapt(&mut self, query: &Key) -> Result<Option<Adapted>, GameError> {
        (self.answer)(&mut self.filter, query, &mut self.remote)
    }

    fn wants_rebuild(&self) -> bool {
        self.filter.wants_rebuild()
    }

    fn rekey(&mut self, hash: HashKey) -> Result<bool, GameError> {
        match self.filter.rekey(hash, &mut self.remote) {
            Ok(()) => Ok(true),
            Err(RebuildError::Full { .. }) => Ok(false),
            Err(error) => Err(seam(error)),
        }
    }

    fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }

    fn phase(&self) -> Option<Phase<'_>> {
        (self.phase)(&self.filter)
    }
}
