//! Keys whose change is under way.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock};
use twiceshy::remote::Key;

/// The keys that a commit brings or takes away, from before it is made until it is in the filter: for these the filter's
/// answer is not to be trusted. There are as many as one batch has.
///
/// Who looks a key up asks here *before* he asks the filter. If the key is not here then its change has not begun, or is in
/// the filter by now.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// How many there are: none, nearly always.
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

    /// Nobody knows whose they were: there is no filter, and every look-up goes to the store.
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
    fn a_key_is_pending_until_it_has_left_as_often_as_it_has_entered() {
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
