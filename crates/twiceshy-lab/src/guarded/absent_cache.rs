//! The rival of an adaptive filter: a plain one, and a cache of the keys that it was wrong about.

use std::hash::{BuildHasher, RandomState};
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};
use twiceshy_store::{Change, CommitError, Durability, Space, Store};

/// How many keys a set of the cache holds: the one that was asked for the longest ago goes.
const WAYS: usize = 8;

type Key = [u8; 16];

/// A store that remembers keys which it does not hold, so many bytes of them.
///
/// It keeps whole keys: with less it would turn away stored keys that look alike. It is generous to itself: only the keys'
/// bytes are counted, not what finds them, and they are all of one length.
#[derive(Debug)]
pub struct AbsentCache<S> {
    store: S,
    hasher: RandomState,
    sets: Box<[Mutex<[Option<Key>; WAYS]>]>,
}

impl<S> AbsentCache<S> {
    /// A cache of so many bytes before a store; one set at least.
    pub fn new(store: S, bytes: u64) -> AbsentCache<S> {
        let sets = (bytes / (WAYS * size_of::<Key>()) as u64).max(1);
        AbsentCache { store, hasher: RandomState::new(), sets: (0..sets).map(|_| Mutex::new([None; WAYS])).collect() }
    }

    fn set(&self, key: &Key) -> &Mutex<[Option<Key>; WAYS]> {
        &self.sets[(self.hasher.hash_one(key) % self.sets.len() as u64) as usize]
    }

    /// Whether a key is known to be absent. It counts as asked for.
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

    /// Keys that come are forgotten before and after: a look-up meanwhile may learn the old answer again.
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
    fn a_cache_remembers_the_latest_of_a_set_and_forgets_what_comes() {
        let cache = AbsentCache::new(MemoryStore::new(), 0);
        let get = |number: u64| cache.get(Space::Values, &key(number)).expect("memory");
        assert!((0..WAYS as u64).all(|number| get(number).is_none()));
        assert!((0..WAYS as u64).all(|number| cache.knows(&key(number))));
        assert!(cache.knows(&key(0)) && get(99).is_none());
        assert!(
            cache.knows(&key(0)) && cache.knows(&key(99)) && !cache.knows(&key(1)),
            "1 was asked for the longest ago"
        );
        let came = Change { space: Space::Values, key: key(99).to_vec(), value: Some(b"here".to_vec()) };
        cache.commit(&[came], Durability::Synced).expect("memory");
        assert_eq!(get(99).as_deref(), Some(&b"here"[..]));
    }
}
