//! Keys whose change is under way.

use std::collections::HashMap;
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
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// How often changes have begun (upper half), and the number of keys (lower half): nearly always 0.
    now: AtomicU64,
    keys: RwLock<HashMap<Key, usize>>,
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

    /// Stores the number of keys. Called under the lock of the keys.
    fn set(&self, keys: usize, begun: u64) {
        let before = self.now() / BEGUN * BEGUN;
        self.now.store(before.wrapping_add(begun) | (keys as u64).min(BEGUN - 1), Ordering::SeqCst);
    }

    pub(crate) fn enter(&self, keys: &[Key]) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.iter().for_each(|key| *held.entry(key.clone()).or_default() += 1);
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
}
