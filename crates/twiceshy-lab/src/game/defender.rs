//! The filter that is attacked.

use super::GameError;
use super::oracle::Key;
use crate::replay::{AnyFilter, AnyRemote, Make, RemoteName, has_room};
use crate::workload::keys::Keys;
use std::sync::Arc;
use twiceshy::AdaptiveFilter;
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;

/// A filter with its remote, for the oracle: the functions of 001's Definition 1, re-keying, growth and recovery.
#[derive(Clone)]
pub(super) struct Defender {
    filter: AnyFilter,
    options: Arc<dyn Make<AnyRemote>>,
    /// For a test: takes this many more keys, then is full. Neither grows nor is recovered.
    #[cfg(test)]
    pub(super) left: Option<u32>,
}

/// The result of a search through absent keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sought {
    /// The key that the filter calls present.
    pub(super) found: Option<Key>,
    /// The number of the next key to look at.
    pub(super) next: u64,
    /// How many keys were asked for.
    pub(super) asked: u64,
}

/// The phase of a filter whose keys take another hash function one by one.
pub(super) struct Phase {
    /// How often all keys have moved on.
    pub(super) ended: u64,
    /// The share of the keys that have moved on since.
    pub(super) part: f64,
}

/// The most keys that a search looks at for each that it may ask for: few lie above a bound near the end.
const PASSED_OVER: u64 = 16;

impl Defender {
    /// An empty filter under a hash key.
    pub(super) fn new(
        options: &Arc<dyn Make<AnyRemote>>,
        hash: HashKey,
        remote: RemoteName,
    ) -> Result<Defender, GameError> {
        let filter = options.build(hash, remote.open())?;
        Ok(Defender {
            filter,
            options: Arc::clone(options),
            #[cfg(test)]
            left: None,
        })
    }

    /// The filter's answer.
    pub(super) fn says_present(&self, key: &Key) -> bool {
        self.filter.contains(key)
    }

    /// Asks for absent keys by their numbers, from `from` on, and stops at the first that the filter calls present. Skips
    /// keys below `above`; asks for at most `most` of the others.
    pub(super) fn seek(&self, keys: &Keys, above: &Key, from: u64, most: u64) -> Sought {
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

    /// Stores a key that is not stored. `false` if there is no room.
    pub(super) fn insert(&mut self, key: &Key) -> Result<bool, GameError> {
        #[cfg(test)]
        if let Some(left) = &mut self.left {
            let Some(fewer) = left.checked_sub(1) else { return Ok(false) };
            *left = fewer;
        }
        Ok(has_room(self.filter.insert(key))?)
    }

    /// Removes a key that is stored.
    pub(super) fn remove(&mut self, key: &Key) -> Result<(), GameError> {
        match self.filter.remove(key)? {
            true => Ok(()),
            false => Err(GameError::Seam("a stored key was not found".into())),
        }
    }

    /// Tells the filter about a false positive. `None` if the filter does not learn.
    pub(super) fn adapt(&mut self, query: &Key) -> Result<Option<Adapted>, GameError> {
        match self.filter.filter().kind().learns() {
            true => Ok(Some(self.filter.was_wrong(query)?)),
            false => Ok(None),
        }
    }

    /// `true` if the filter asks for another hash key.
    pub(super) fn wants_rebuild(&self) -> bool {
        self.filter.wants_rebuild()
    }

    /// Takes another hash key. `false` if the keys do not fit under it.
    pub(super) fn rekey(&mut self, hash: HashKey) -> Result<bool, GameError> {
        Ok(has_room(self.filter.rekey(hash))?)
    }

    /// Grows to twice its cells. `false` if the keys do not fit.
    pub(super) fn grow(&mut self) -> Result<bool, GameError> {
        #[cfg(test)]
        if self.left.is_some() {
            return Ok(false);
        }
        let cells = self.filter.filter().cells();
        Ok(has_room(self.filter.grow(2 * cells))?)
    }

    /// The process crashes and loses the filter in memory. Recovers it from the remote; `hash` is for filters that take a
    /// new hash key then. `false` if the keys do not fit; then the filter is unchanged.
    pub(super) fn crash(&mut self, hash: HashKey) -> Result<bool, GameError> {
        #[cfg(test)]
        if self.left.is_some() {
            return Ok(false);
        }
        match self.options.recover(hash, self.filter.remote_mut()) {
            Ok((filter, sequence)) => {
                let remote = std::mem::replace(self.filter.remote_mut(), RemoteName::ByHash.open());
                self.filter = AdaptiveFilter::from_parts(filter, sequence, remote)?;
                Ok(true)
            }
            outcome => Ok(has_room(outcome)?),
        }
    }

    /// Keys over cells.
    pub(super) fn load(&self) -> f64 {
        self.filter.filter().load()
    }

    /// The filter's memory in bits.
    pub(super) fn local_bits(&self) -> u64 {
        self.filter.local_bits()
    }

    /// The filter's phase. `None` if its keys keep their hash function.
    pub(super) fn phase(&self) -> Option<Phase> {
        let filter: &dyn std::any::Any = self.filter.filter();
        let broom: &BroomFilter = filter.downcast_ref()?;
        Some(Phase { ended: broom.phases(), part: broom.frontier().share() })
    }
}
