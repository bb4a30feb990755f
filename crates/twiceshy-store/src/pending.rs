//! Keys whose change is under way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use twiceshy::remote::Key;

/// The keys that a commit adds or removes, from before the commit until it is in the filter. The filter's answer for them
/// is not reliable. There are at most as many as a batch has.
///
/// A look-up must check here *before* it asks the filter. If the key is not pending then, its change has not begun, or is
/// in the filter already.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// The number of keys: nearly always 0.
    count: AtomicUsize,
    keys: RwLock<HashMap<Key, usize>>,
}

impl Pending {
    #[inline]
    pub(crate) fn holds(&self, key: &[u8]) -> bool {
        self.count.load(Ordering::SeqCst) != 0
            && self.keys.read().unwrap_or_else(PoisonError::into_inner).contains_key(key)
    }

    pub(crate) fn enter(&self, keys: &[Key]) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.iter().for_each(|key| *held.entry(key.clone()).or_default() += 1);
        self.count.store(held.len(), Ordering::SeqCst);
    }

    /// The owners of the keys are unknown, but there is no filter, so every look-up goes to the store.
    pub(crate) fn clear(&self) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.clear();
        self.count.store(0, Ordering::SeqCst);
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
        self.count.store(held.len(), Ordering::SeqCst);
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
