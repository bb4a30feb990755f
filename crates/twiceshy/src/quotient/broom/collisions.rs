//! What tests must see of a broom filter: who is taken for whom, and under which functions.

use super::filter::BroomFilter;
use super::known::Known;
use crate::error::PlanError;
use crate::hash::HashKey;
use crate::remote::{Key, Keys};

impl BroomFilter {
    /// For tests: the stored keys whose fingerprints a key matches, each with its level. None where the key matches nothing, or a
    /// whole hash.
    pub fn collisions(&self, key: &[u8], keys: &dyn Keys) -> Result<Vec<(usize, Key)>, PlanError> {
        let known = Known::new(keys);
        self.local.spots(key).map(|spot| Ok((spot.level, self.local.owner(spot, &known)?))).collect()
    }

    /// For tests: the function that a key has now.
    pub fn function_of(&self, key: &[u8]) -> HashKey {
        *self.local.functions.hash_key(self.local.functions.age(key))
    }
}
