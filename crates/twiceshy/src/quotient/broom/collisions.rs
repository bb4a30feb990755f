//! What tests must see of a broom filter: who is taken for whom, and under which functions.

use super::filter::BroomFilter;
use super::known::Known;
use crate::error::SeamError;
use crate::hash::HashKey;
use crate::remote::{Key, Remote};

impl BroomFilter {
    /// For tests: the stored keys whose fingerprints a key matches, each with its level. None where the key matches nothing, or a
    /// whole hash.
    pub fn collisions<R: Remote>(&self, key: &[u8], remote: &R) -> Result<Vec<(usize, Key)>, SeamError<R::Error>> {
        let known = Known::new(remote);
        self.local.spots(key).map(|spot| Ok((spot.level, self.local.owner(spot, &known)?))).collect()
    }

    /// For tests: the function that a key has now.
    pub fn function_of(&self, key: &[u8]) -> HashKey {
        *self.local.functions.hash_key(self.local.functions.age(key))
    }
}
