//! The rival of an adaptive filter: a plain filter with a cache of the keys it was wrong about.

use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// Keys per set of the cache. The least recently asked key is evicted.
const WAYS: usize = 8;

type Key = [u8; 16];

/// A store that caches absent keys, within a number of bytes.
///
/// The cache holds whole keys: shorter fingerprints could turn away stored keys that look alike. Only the keys' bytes
/// are counted, not the index that finds them, which favours the cache. All keys have the same length.
#[derive(Debug)]
pub struct AbsentCache<S> {
    store: S,
    hasher: RandomState,
    sets: Box<[Mutex<[Option<Key>; WAYS]>]>,
}

impl<S> AbsentCache<S> {
    /// A cache of `bytes` bytes, at least one set, in front of a store.
    pub fn new(store: S, bytes: u64) -> AbsentCache<S> {
        let sets = (bytes / (WAYS * size_of::<Key>()) as u64).max(1);
        AbsentCache { store, hasher: RandomState::new(), sets: (0..sets).map(|_| Mutex::new([None; WAYS])).collect() }
    }

    fn set(&self, key: &Key) -> &Mutex<[Option<Key>; WAYS]> {
        &self.sets[(self.hasher.hash_one(key) % self.sets.len() as u64) as usize]
    }

    /// `true` if a key is known to be absent. Marks it as recently asked.
    fn knows(&self, key: &Key) -> bool {
        let mut set = self.set(key).lock().unwrap_or_else(PoisonError::into_inner);
        match set.iter().position(|held| held.as_ref() == Some(key)) {
            Some(at) => {
                set[..=at].rotate_right(1);
                true
            }
            None => false,
        }
    }

    fn learn(&self, key: Key) {
        let mut set = self.set(&key).lock().unwrap_or_else(PoisonError::into_inner);
        set.rotate_right(1);
        set[0] = Some(key);
    }

    fn forget(&self, key: &Key) {
        let mut set = self.set(key).lock().unwrap_or_else(PoisonError::into_inner);
        set.iter_mut().filter(|held| held.as_ref() == Some(key)).for_each(|held| *held = None);
    }
}

impl<S: Store> Store for AbsentCache<S> {
    type Error = S::Error;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, S::Error> {
        let cached = Key::try_from(key).ok().filter(|_| space == Space::Values);
        if cached.is_some_and(|key| self.knows(&key)) {
            return Ok(None);
        }
        let answer = self.store.get(space, key)?;
        if let (None, Some(key)) = (&answer, cached) {
            self.learn(key);
        }
        Ok(answer)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), S::Error> {
        self.store.scan(space, from, found)
    }

    /// Removes inserted keys from the cache before and after the commit: a look-up in between may cache the old answer
    /// again.
    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<S::Error>> {
        let forget_all = || {
            let values = changes.iter().filter(|change| change.space == Space::Values);
            values.filter_map(|change| Key::try_from(change.key.as_slice()).ok()).for_each(|key| self.forget(&key));
        };
        forget_all();
        let committed = self.store.commit(changes, durability);
        forget_all();
        committed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guarded::key;
    use twiceshy_store::MemoryStore;

    #[test]
    fn a_set_keeps_its_latest_keys_and_drops_inserted_ones() {
        let cache = AbsentCache::new(MemoryStore::new(), 0);
        let get = |number: u64| cache.get(Space::Values, &key(number)).expect("memory");
        assert!((0..WAYS as u64).all(|number| get(number).is_none()));
        assert!((0..WAYS as u64).all(|number| cache.knows(&key(number))));
        assert!(cache.knows(&key(0)) && get(99).is_none());
        assert!(cache.knows(&key(0)) && cache.knows(&key(99)) && !cache.knows(&key(1)), "1 was asked least recently");
        let came = Change { space: Space::Values, key: key(99).to_vec(), value: Some(b"here".to_vec()) };
        cache.commit(&[came], Durability::Synced).expect("memory");
        assert_eq!(get(99).as_deref(), Some(&b"here"[..]));
    }
}
