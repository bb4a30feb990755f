//! What the game needs of a filter.

use super::GameError;
use super::oracle::Key;
use crate::workload::keys::Keys;
use std::sync::Arc;
use twiceshy::error::{BuildError, InsertError, RebuildError};
use twiceshy::filter::{Adapted, Adaptive, Backed, Removed};
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::Remote;

/// A filter with its remote, as the oracle drives it: the functions of 001's Definition 1, re-keying,
/// growth and recovery. A filter that is to be attacked needs this and a line in [`Recipe::named`](super::Recipe::named).
pub(super) trait Defender {
    /// What the filter answers from its own bits.
    fn says_present(&self, key: &Key) -> bool;

    /// Goes through absent keys by their numbers, beginning with `from`, and stops at the first that the filter calls
    /// present. Keys below `above` are passed over; at most `most` of the others are asked.
    fn seek(&self, keys: &Keys, above: &Key, from: u64, most: u64) -> Sought;

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

    /// Grows to twice its cells; `false` where the keys do not fit.
    fn grow(&mut self) -> Result<bool, GameError>;

    /// The process dies, and the filter in memory with it. It is recovered from the remote; the hash key is a new one, for
    /// filters that take one then. `false` where the keys do not fit, and then the filter is as it was.
    fn crash(&mut self, hash: HashKey) -> Result<bool, GameError>;

    /// Keys over cells.
    fn load(&self) -> f64;

    /// The same filter and remote once more.
    fn copy(&self) -> Box<dyn Defender>;

    /// The bits that the filter holds in memory.
    fn local_bits(&self) -> u64;

    /// Where the filter stands; `None` from one whose keys keep their hash function.
    fn phase(&self) -> Option<Phase>;
}

impl Clone for Box<dyn Defender> {
    fn clone(&self) -> Box<dyn Defender> {
        self.copy()
    }
}

/// What a search through absent keys came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sought {
    /// The key that the filter calls present.
    pub(super) found: Option<Key>,
    /// The number of the first key that was not looked at.
    pub(super) next: u64,
    /// How many keys were asked.
    pub(super) asked: u64,
}

/// Where a filter stands whose keys take another hash function one after another.
pub(super) struct Phase {
    /// How often all keys have done so.
    pub(super) ended: u64,
    /// The share of the keys that have done so since.
    pub(super) part: f64,
}

/// A filter over its remote. Whether it learns, and in phases, is settled when it is made.
#[derive(Clone)]
pub(super) struct Pair<F, R: Remote> {
    filter: F,
    remote: R,
    answer: Answer<F, R>,
    recover: Recover<F, R>,
    phase: fn(&F) -> Option<Phase>,
}

/// What is done about a false positive.
pub(super) type Answer<F, R> = fn(&mut F, &Key, &mut R) -> Result<Option<Adapted>, GameError>;

/// How a filter is made again from its remote, under another hash key where it takes one.
pub(super) type Recover<F, R> =
    Arc<dyn Fn(HashKey, &mut R) -> Result<F, BuildError<<R as Remote>::Error>> + Send + Sync>;

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
    pub(super) fn new(filter: F, remote: R, answer: Answer<F, R>, recover: Recover<F, R>) -> Pair<F, R> {
        Pair { filter, remote, answer, recover, phase: |_| None }
    }
}

impl<R: Remote> Pair<BroomFilter, R> {
    pub(super) fn broom(filter: BroomFilter, remote: R, recover: Recover<BroomFilter, R>) -> Pair<BroomFilter, R> {
        Pair {
            filter,
            remote,
            answer: learning,
            recover,
            phase: |filter| Some(Phase { ended: filter.phases(), part: filter.frontier().share() }),
        }
    }
}

pub(super) fn seam(error: impl std::fmt::Display) -> GameError {
    GameError::Seam(error.to_string())
}

/// How many keys a search looks at for each that it may ask, at most: few lie above a bound near the end.
const PASSED_OVER: u64 = 16;

impl<F: Backed + Clone + 'static, R: Remote + Clone + 'static> Defender for Pair<F, R> {
    fn says_present(&self, key: &Key) -> bool {
        self.filter.contains(key)
    }

    fn seek(&self, keys: &Keys, above: &Key, from: u64, most: u64) -> Sought {
        let end = from.saturating_add(most.saturating_mul(PASSED_OVER));
        // As numbers: comparing arrays of bytes is a call for each key.
        let above = u64::from_be_bytes(*above);
        let (mut next, mut asked) = (from, 0);
        while asked < most && next < end {
            let key = keys.absent(next);
            next += 1;
            if u64::from_be_bytes(key) < above {
                continue;
            }
            asked += 1;
            if self.filter.contains(&key) {
                return Sought { found: Some(key), next, asked };
            }
        }
        Sought { found: None, next, asked }
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

    fn grow(&mut self) -> Result<bool, GameError> {
        match self.filter.grow(2 * self.filter.cells(), &mut self.remote) {
            Ok(()) => Ok(true),
            Err(RebuildError::Full { .. }) => Ok(false),
            Err(error) => Err(seam(error)),
        }
    }

    fn crash(&mut self, hash: HashKey) -> Result<bool, GameError> {
        match (self.recover)(hash, &mut self.remote) {
            Ok(filter) => {
                self.filter = filter;
                Ok(true)
            }
            Err(BuildError::Rebuild(RebuildError::Full { .. })) => Ok(false),
            Err(error) => Err(seam(error)),
        }
    }

    fn load(&self) -> f64 {
        self.filter.load()
    }

    fn copy(&self) -> Box<dyn Defender> {
        Box::new(self.clone())
    }

    fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }

    fn phase(&self) -> Option<Phase> {
        (self.phase)(&self.filter)
    }
}
