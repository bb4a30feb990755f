//! How much a memory may hold.

/// The bounds of a [`Memory`](super::Memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// At most one query for this many stored keys, but always room for 1,024; 0 remembers nothing.
    pub keys_per_query: u64,
    /// The most queries of one key.
    pub per_key: u32,
    /// The longest query that is remembered, and the longest key that it may be remembered for, in bytes.
    pub longest: usize,
    /// The bytes of a query and its key, on average: longer ones leave room for fewer.
    pub usual: u64,
}

/// Room for this many queries, however few keys there are.
const ALWAYS: u64 = 1_024;

impl Default for Limits {
    /// One query for four keys, 8 for each, of at most 1,024 bytes and on average 128 with its key.
    fn default() -> Limits {
        Limits { keys_per_query: 4, per_key: 8, longest: 1_024, usual: 128 }
    }
}

impl Limits {
    /// Remembers nothing.
    pub const OFF: Limits = Limits { keys_per_query: 0, per_key: 0, longest: 0, usual: 0 };

    /// At most one query for this many stored keys; 0 remembers nothing.
    #[must_use]
    pub fn one_for(keys: u64) -> Limits {
        if keys == 0 { Limits::OFF } else { Limits { keys_per_query: keys, ..Limits::default() } }
    }

    /// At most this many queries of one key.
    #[must_use]
    pub fn per_key(self, per_key: u32) -> Limits {
        Limits { per_key, ..self }
    }

    /// `true` if nothing is remembered.
    pub fn is_off(&self) -> bool {
        self.keys_per_query == 0 || self.per_key == 0
    }

    /// The most queries with this many stored keys.
    pub fn most(&self, keys: u64) -> u64 {
        if self.is_off() { 0 } else { (keys / self.keys_per_query).max(ALWAYS) }
    }

    /// The most bytes of all queries and their keys, with this many stored keys.
    pub fn most_bytes(&self, keys: u64) -> u64 {
        self.most(keys).saturating_mul(self.usual)
    }

    /// `true` if this query may be remembered for this key.
    pub(super) fn allow(&self, key: &[u8], query: &[u8]) -> bool {
        !self.is_off() && key != query && key.len().max(query.len()) <= self.longest
    }
}
