//! A set of byte strings in insertion order.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

/// Distinct keys in the order of their first insertion, packed end to end.
///
/// A key costs its own bytes and about 20 more: its end in the arena, and its number in a hash table that compares
/// against the arena, so no key is kept twice.
///
/// ```
/// use twiceshy_lab::workload::key_set::KeySet;
///
/// let mut keys = KeySet::default();
/// assert!(keys.insert(b"pear"));
/// assert!(keys.insert(b"fig"));
/// assert!(!keys.insert(b"pear"));
/// assert!(keys.iter().eq([&b"pear"[..], &b"fig"[..]]));
/// ```
#[derive(Clone, Default)]
pub struct KeySet {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    numbers: HashTable<usize>,
    hasher: RandomState,
}

impl KeySet {
    /// Adds a key; `false` if it was there already. Constant time on average.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        let before = self.len();
        self.number(key) == before
    }

    /// The number of a key in insertion order, counted from 0. Adds the key if it was not there.
    pub fn number(&mut self, key: &[u8]) -> usize {
        let hash = self.hasher.hash_one(key);
        let Self { bytes, ends, numbers, hasher } = self;
        if let Some(number) = numbers.find(hash, |&number| key_at(bytes, ends, number) == key) {
            return *number;
        }
        bytes.extend_from_slice(key);
        ends.push(bytes.len());
        numbers.insert_unique(hash, ends.len() - 1, |&number| hasher.hash_one(key_at(bytes, ends, number)));
        ends.len() - 1
    }

    /// `true` if the key is in the set.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.number_of(key).is_some()
    }

    /// The number of a key in insertion order, counted from 0; `None` if it is not in the set.
    pub fn number_of(&self, key: &[u8]) -> Option<usize> {
        let equal = |&number: &usize| key_at(&self.bytes, &self.ends, number) == key;
        self.numbers.find(self.hasher.hash_one(key), equal).copied()
    }

    /// The key with number `number` in insertion order, counted from 0.
    pub fn get(&self, number: usize) -> Option<&[u8]> {
        (number < self.len()).then(|| key_at(&self.bytes, &self.ends, number))
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// `true` if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The keys in insertion order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|number| key_at(&self.bytes, &self.ends, number))
    }

    /// Keeps the first `len` keys and frees the memory of the others.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        self.ends.truncate(len);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.numbers.retain(|number| *number < len);
        self.ends.shrink_to_fit();
        self.bytes.shrink_to_fit();
        let Self { bytes, ends, numbers, hasher } = self;
        numbers.shrink_to_fit(|&number| hasher.hash_one(key_at(bytes, ends, number)));
    }
}

impl std::fmt::Debug for KeySet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "KeySet({} keys, {} bytes)", self.len(), self.bytes.len())
    }
}

fn key_at<'a>(bytes: &'a [u8], ends: &[usize], number: usize) -> &'a [u8] {
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    #[test]
    fn a_set_agrees_with_a_list_of_first_occurrences_before_and_after_truncation() {
        let mut rng = Rng::new(77);
        let mut set = KeySet::default();
        let mut list: Vec<Vec<u8>> = Vec::new();
        for _ in 0..3_000 {
            // Short keys over two letters: many repetitions, the empty key and prefixes of other keys among them.
            let key: Vec<u8> = (0..rng.below(10)).map(|_| rng.below(2) as u8).collect();
            assert_eq!(set.insert(&key), !list.contains(&key));
            if !list.contains(&key) {
                list.push(key);
            }
        }
        for keep in [list.len() + 5, list.len(), 100, 1, 0] {
            set.truncate(keep);
            let kept = &list[..keep.min(list.len())];
            assert!(set.iter().eq(kept));
            assert_eq!(set.is_empty(), kept.is_empty());
            for key in &list {
                assert_eq!(set.contains(key), kept.contains(key));
            }
        }
    }

    #[test]
    fn a_truncated_set_takes_new_keys() {
        let mut set = KeySet::default();
        for key in [b"a", b"b", b"c"] {
            set.insert(key);
        }
        set.truncate(1);
        assert!(set.insert(b"c"));
        assert_eq!(set.get(1), Some(&b"c"[..]));
        assert_eq!(set.get(2), None);
    }
}
