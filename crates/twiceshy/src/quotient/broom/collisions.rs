//! For tests of a broom filter: which keys collide, under which functions, and which the filter has told apart.

use super::filter::BroomFilter;
use super::known::Known;
use super::local::Local;
use super::storage::Storage;
use crate::error::PlanError;
use crate::hash::HashKey;
use crate::remote::{Key, Keys};
use std::cell::RefCell;

impl BroomFilter {
    /// For tests: the stored keys whose fingerprints a key matches, each with its level. Empty if the key matches nothing,
    /// or only a whole hash.
    pub fn collisions(&self, key: &[u8], keys: &dyn Keys) -> Result<Vec<(usize, Key)>, PlanError> {
        let known = Known::new(keys);
        self.local.spots(key).map(|spot| Ok((spot.level, self.local.owner(spot, &known)?))).collect()
    }

    /// For tests: the function that a key has now.
    pub fn function_of(&self, key: &[u8]) -> HashKey {
        self.local.function_of(key)
    }
}

impl<S: Storage> Local<S> {
    /// The function that a key has.
    pub(super) fn function_of(&self, key: &[u8]) -> HashKey {
        *self.functions.hash_key(self.functions.age(key))
    }
}

/// Two keys that the filter has told apart, since one matched the other's fingerprint: their level, and each with the function
/// that it had.
pub type Join = (usize, [(HashKey, Key); 2]);

thread_local! {
    /// `None` until somebody asks.
    static JOINS: RefCell<Option<Vec<Join>>> = const { RefCell::new(None) };
}

/// Notes that two keys were told apart: a query and the key that it was mistaken for, or a new key and the one that it matched.
pub(super) fn note_join(level: usize, keys: [(HashKey, Key); 2]) {
    JOINS.with_borrow_mut(|joins| {
        if let Some(joins) = joins {
            joins.push((level, keys));
        }
    });
}

/// For tests: the keys that broom filters of this thread have told apart since the last call, by mistakes, insertions and keys
/// that the frontier passed. Nothing is kept before the first call.
pub fn take_joins() -> Vec<Join> {
    JOINS.replace(Some(Vec::new())).unwrap_or_default()
}
