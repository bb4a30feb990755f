//! The filter that is attacked.

use super::GameError;
use super::body::{Body, Plan};
use super::oracle::Key;
use crate::baseline::MistakeList;
use crate::replay::{RemoteName, has_room};
use crate::workload::keys::Keys;
use twiceshy::AdaptiveFilter;
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;

/// A filter with its remote, for the oracle: the functions of 001's Definition 1, re-keying, growth and recovery. A rival
/// may have no remote, and a list of its mistakes instead.
#[derive(Clone)]
pub(super) struct Defender {
    body: Body,
    /// The mistakes that it turns away.
    list: Option<MistakeList>,
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
#[derive(Clone, Copy, Debug, PartialEq)]
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
    pub(super) fn new(plan: &Plan, list: Option<MistakeList>, hash: HashKey) -> Result<Defender, GameError> {
        Ok(Defender {
            body: plan.build(hash)?,
            list,
            #[cfg(test)]
            left: None,
        })
    }

    /// The filter's answer.
    pub(super) fn says_present(&self, key: &Key) -> bool {
        self.body.contains(key) && !self.list.as_ref().is_some_and(|list| list.has(key))
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
            if self.says_present(&key) {
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
        let is_stored = self.body.insert(key)?;
        if let Some(list) = self.list.as_mut().filter(|_| is_stored) {
            list.forget(key);
        }
        Ok(is_stored)
    }

    /// Removes a key that is stored.
    pub(super) fn remove(&mut self, key: &Key) -> Result<(), GameError> {
        match self.body.ours_mut()?.0.remove(key)? {
            true => Ok(()),
            false => Err(GameError::Seam("a stored key was not found".into())),
        }
    }

    /// Tells the filter about a false positive. `None` if the filter does not learn.
    pub(super) fn adapt(&mut self, query: &Key) -> Result<Option<Adapted>, GameError> {
        if let Some(list) = &mut self.list {
            list.note(query);
            return Ok(Some(if list.has(query) { Adapted::Fixed } else { Adapted::StillPresent }));
        }
        match &mut self.body {
            Body::Ours(filter, _) if filter.filter().kind().learns() => Ok(Some(filter.was_wrong(query)?)),
            _ => Ok(None),
        }
    }

    /// `true` if the filter asks for another hash key.
    pub(super) fn wants_rebuild(&self) -> bool {
        matches!(&self.body, Body::Ours(filter, _) if filter.wants_rebuild())
    }

    /// Takes another hash key. `false` if the keys do not fit under it.
    pub(super) fn rekey(&mut self, hash: HashKey) -> Result<bool, GameError> {
        Ok(has_room(self.body.ours_mut()?.0.rekey(hash))?)
    }

    /// Grows to twice its cells. `false` if the keys do not fit.
    pub(super) fn grow(&mut self) -> Result<bool, GameError> {
        #[cfg(test)]
        if self.left.is_some() {
            return Ok(false);
        }
        let (filter, _) = self.body.ours_mut()?;
        let cells = filter.filter().cells();
        Ok(has_room(filter.grow(2 * cells))?)
    }

    /// The process crashes and loses the filter in memory, with its list of mistakes. Recovers the filter from the remote;
    /// `hash` is for filters that take a new hash key then. `false` if the keys do not fit; then the filter is unchanged.
    pub(super) fn crash(&mut self, hash: HashKey) -> Result<bool, GameError> {
        #[cfg(test)]
        if self.left.is_some() {
            return Ok(false);
        }
        if let Some(list) = &mut self.list {
            list.clear();
        }
        let (filter, options) = self.body.ours_mut()?;
        match options.recover(hash, filter.remote_mut()) {
            Ok((recovered, sequence)) => {
                let remote = std::mem::replace(filter.remote_mut(), RemoteName::ByHash.open());
                *filter = AdaptiveFilter::from_parts(recovered, sequence, remote)?;
                Ok(true)
            }
            outcome => Ok(has_room(outcome)?),
        }
    }

    /// Keys over cells.
    pub(super) fn load(&self) -> f64 {
        self.body.filter().load()
    }

    /// The filter's memory in bits.
    pub(super) fn local_bits(&self) -> u64 {
        self.body.local_bits() + self.list.as_ref().map_or(0, MistakeList::bits)
    }

    /// The filter's phase. `None` if its keys keep their hash function.
    pub(super) fn phase(&self) -> Option<Phase> {
        self.broom().map(|broom| Phase { ended: broom.phases(), part: broom.frontier().share() })
    }

    fn broom(&self) -> Option<&BroomFilter> {
        let Body::Ours(filter, _) = &self.body else { return None };
        let filter: &dyn std::any::Any = filter.filter();
        filter.downcast_ref()
    }
}
