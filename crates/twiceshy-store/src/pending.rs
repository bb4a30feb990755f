//! Keys whose change is under way.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use twiceshy::remote::Key;

/// The keys that a commit adds or removes, from before the commit until it is in the filter. The filter's answer for them
/// is not reliable. There are at most as many as a batch has.
///
/// A look-up must check here *before* it asks the filter. If the key is not pending then, its change has not begun, or is
/// in the filter and the store already. But a change may begin between the two: all plans of a batch but the last are in
/// the filter before they are in the store, and are taken back if the commit fails. So an answer *absent* counts only if
/// [`Pending::now`] is the same before and after.
///
/// [`Pending::mark`] says whether a change of a key has begun since an earlier moment, even if it has ended: see
/// [`Queue`](crate::queue::Queue).
#[derive(Debug)]
pub(crate) struct Pending {
    /// How often changes have begun (upper half), and the number of keys (lower half): nearly always 0.
    now: AtomicU64,
    keys: RwLock<HashMap<Key, usize>>,
    /// How often changes have begun, of the keys with this hash.
    begun: Box<[AtomicU64]>,
    hasher: RandomState,
}

impl Default for Pending {
    fn default() -> Pending {
        let begun = (0..MARKS).map(|_| AtomicU64::new(0)).collect();
        Pending { now: AtomicU64::new(0), keys: RwLock::default(), begun, hasher: RandomState::new() }
    }
}

/// The number of marks. Keys with the same hash share one, so a look-up may take a change of another key for one of its own.
const MARKS: usize = 512;

/// A moment in the life of a key: see [`Pending::mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    of: usize,
    begun: u64,
}

/// One change more, in the upper half.
const BEGUN: u64 = 1 << 32;

impl Pending {
    /// A number that differs whenever a change has begun or ended.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    #[inline]
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.now() & (BEGUN - 1) != 0 && self.keys.read().unwrap_or_else(PoisonError::into_inner).contains_key(key)
    }

    /// Marks this moment for a key; `None` if a change of it is under way.
    pub(crate) fn mark(&self, key: &[u8]) -> Option<Mark> {
        let of = self.hasher.hash_one(key) as usize % MARKS;
        let begun = self.begun[of].load(Ordering::SeqCst);
        // In this order: a change that the mark includes is found here, unless it has ended.
        (!self.holds(key)).then_some(Mark { of, begun })
    }

    /// `true` if no change of a mark's key has begun since.
    pub(crate) fn is_unchanged(&self, mark: Mark) -> bool {
        self.begun[mark.of].load(Ordering::SeqCst) == mark.begun
    }

    /// Stores the number of keys. Called under the lock of the keys.
    fn set(&self, keys: usize, begun: u64) {
        let before = self.now() / BEGUN * BEGUN;
        self.now.store(before.wrapping_add(begun) | (keys as u64).min(BEGUN - 1), Ordering::SeqCst);
    }

    pub(crate) fn enter(&self, keys: &[Key]) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.iter().for_each(|key| *held.entry(key.clone()).or_default() += 1);
        self.set(held.len(), BEGUN);
        // Last: a thread that sees the new mark finds the key pending.
        for key in keys {
            self.begun[self.hasher.hash_one(&**key) as usize % MARKS].fetch_add(1, Ordering::SeqCst);
        }
    }

    /// The store has gone back to an earlier commit: any key may have changed.
    pub(crate) fn change_all(&self) {
        let held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        for begun in &self.begun {
            begun.fetch_add(1, Ordering::SeqCst);
        }
        self.set(held.len(), BEGUN);
    }

    /// The owners of the keys are unknown, but there is no filter, so every look-up goes to the store.
    pub(crate) fn clear(&self) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.clear();
        self.set(0, BEGUN);
    }

    pub(crate) fn leave(&self, keys: &[Key]) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        for key in keys {
            if let Some(times) = held.get_mut(key) {
                *times -= 1;
                if *times == 0 {
                    held.remove(key);
                }
            }
        }
        self.set(held.len(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_pending_until_every_change_of_it_has_ended() {
        let pending = Pending::default();
        let key = Key::from(&b"key"[..]);
        assert!(!pending.holds(&key));
        pending.enter(&[key.clone(), key.clone()]);
        pending.leave(std::slice::from_ref(&key));
        assert!(pending.holds(&key) && !pending.holds(b"other"));
        pending.leave(std::slice::from_ref(&key));
        pending.leave(std::slice::from_ref(&key));
        assert!(!pending.holds(&key));
    }

    #[test]
    fn a_mark_is_the_same_until_a_change_of_its_key_begins_and_there_is_none_while_one_is_under_way() {
        let pending = Pending::default();
        let keys: Vec<Key> = (0..100u8).map(|number| Key::from(&[number][..])).collect();
        let mark = pending.mark(&keys[0]).expect("no change has begun");
        assert!(pending.is_unchanged(mark));
        pending.enter(&keys);
        assert!(!pending.is_unchanged(mark));
        assert!(keys.iter().all(|key| pending.mark(key).is_none()));
        pending.leave(&keys);
        assert!(!pending.is_unchanged(mark), "it has changed all the same");
        let mark = pending.mark(&keys[0]).expect("the change has ended");
        pending.clear();
        assert!(pending.is_unchanged(mark));
        pending.change_all();
        assert!(!pending.is_unchanged(mark), "any key may have changed");
    }
}
