//! Eppstein's simplified cuckoo filter (002 section 3.1): no second hash function.
//!
//! It is a baseline and not an option of the library's [`CuckooFilter`](twiceshy::CuckooFilter): its table must be a power of
//! two, its keys never leave 2^f neighbouring buckets, and so it fills worse. Nobody who stores keys wants it.

use crate::workload::rng::Rng;
use twiceshy::hash::HashKey;

/// A cuckoo filter whose second bucket is the exclusive or of the first and the fingerprint.
///
/// *Paper.* 002 section 3.1, after D. Eppstein, *Cuckoo filter: Simplification and analysis*, 2016. Insertions are Algorithm 3
/// of 002: random kicks.
///
/// *Departures.* The fingerprint 0 means an empty cell, so there are 2^f − 1 others. A
/// failed insertion undoes its kicks. Cells are not packed: it is for measuring how full it gets, not for its memory.
#[derive(Clone, Debug)]
pub struct SimplifiedFilter {
    cells: Vec<u32>,
    buckets: u64,
    per_bucket: usize,
    bits: u32,
    kicks: u32,
    hash: HashKey,
    rng: Rng,
    keys: u64,
}

const EMPTY: u32 = 0;

impl SimplifiedFilter {
    /// A filter of `2^log_buckets` buckets of `per_bucket` cells with fingerprints of `bits` bits, 1 to 31. An insertion moves up
    /// to `kicks` keys.
    pub fn new(
        log_buckets: u32,
        per_bucket: usize,
        bits: u32,
        kicks: u32,
        hash: HashKey,
        seed: u64,
    ) -> SimplifiedFilter {
        let buckets = 1 << log_buckets;
        let cells = vec![EMPTY; buckets as usize * per_bucket];
        SimplifiedFilter { cells, buckets, per_bucket, bits, kicks, hash, rng: Rng::new(seed), keys: 0 }
    }

    /// The number of keys.
    pub fn len(&self) -> u64 {
        self.keys
    }

    /// `true` if the filter holds no key.
    pub fn is_empty(&self) -> bool {
        self.keys == 0
    }

    /// The number of cells.
    pub fn cells(&self) -> u64 {
        self.cells.len() as u64
    }

    /// The first bucket and the fingerprint.
    fn locate(&self, key: &[u8]) -> (u64, u32) {
        let words = self.hash.words(key);
        let values = (1u64 << self.bits) - 1;
        let fingerprint = 1 + ((u128::from(words.word(1)) * u128::from(values)) >> 64) as u32;
        (words.word(0) & (self.buckets - 1), fingerprint)
    }

    /// The other bucket of a fingerprint. If the table has fewer than 2^f buckets, the high bits do not count.
    fn other(&self, bucket: u64, fingerprint: u32) -> u64 {
        (bucket ^ u64::from(fingerprint)) & (self.buckets - 1)
    }

    fn bucket(&self, bucket: u64) -> std::ops::Range<usize> {
        let first = bucket as usize * self.per_bucket;
        first..first + self.per_bucket
    }

    fn put(&mut self, bucket: u64, fingerprint: u32) -> bool {
        let range = self.bucket(bucket);
        let free = self.cells[range].iter_mut().find(|cell| **cell == EMPTY);
        free.map(|cell| *cell = fingerprint).is_some()
    }

    /// `true` if the key may be in the set.
    pub fn contains(&self, key: &[u8]) -> bool {
        let (first, fingerprint) = self.locate(key);
        let holds = |bucket| self.cells[self.bucket(bucket)].contains(&fingerprint);
        holds(first) || holds(self.other(first, fingerprint))
    }

    /// Stores a key (Algorithm 3); `false`, and nothing is changed, if no room was found.
    pub fn insert(&mut self, key: &[u8]) -> bool {
        let (first, mut hold) = self.locate(key);
        let found = self.put(first, hold) || self.put(self.other(first, hold), hold) || {
            let mut at = first;
            let mut kicked = Vec::new();
            let found = (0..self.kicks).any(|_| {
                let cell = self.bucket(at).start + self.rng.below(self.per_bucket as u64) as usize;
                std::mem::swap(&mut self.cells[cell], &mut hold);
                kicked.push(cell);
                at = self.other(at, hold);
                self.put(at, hold)
            });
            if !found {
                kicked.iter().rev().for_each(|cell| std::mem::swap(&mut self.cells[*cell], &mut hold));
            }
            found
        };
        self.keys += u64::from(found);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(log_buckets: u32, per_bucket: usize, bits: u32) -> (SimplifiedFilter, u64) {
        let mut filter = SimplifiedFilter::new(log_buckets, per_bucket, bits, 500, HashKey::fixed(3), 4);
        let stored = (0u64..).find(|key| !filter.insert(&key.to_le_bytes())).expect("the table is finite");
        (filter, stored)
    }

    #[test]
    fn a_failed_insertion_loses_no_key() {
        for (per_bucket, bits) in [(1, 4), (2, 6), (4, 3), (4, 12)] {
            let (filter, stored) = filled(8, per_bucket, bits);
            assert!((0..stored).all(|key| filter.contains(&key.to_le_bytes())));
            assert_eq!(filter.len(), stored);
            assert_eq!(filter.cells.iter().filter(|cell| **cell != EMPTY).count() as u64, stored);
        }
    }

    #[test]
    fn fingerprints_as_wide_as_the_table_fill_it_to_more_than_90_percent() {
        let (filter, stored) = filled(12, 4, 16);
        assert!(stored as f64 > 0.9 * filter.cells() as f64, "{stored}");
    }

    #[test]
    fn keys_never_leave_the_block_of_their_fingerprints() {
        let filter = SimplifiedFilter::new(10, 4, 3, 500, HashKey::fixed(1), 1);
        for key in 0..1_000u64 {
            let (bucket, fingerprint) = filter.locate(&key.to_le_bytes());
            assert!((1..8).contains(&fingerprint));
            let other = filter.other(bucket, fingerprint);
            assert!(other != bucket && other / 8 == bucket / 8 && filter.other(other, fingerprint) == bucket);
        }
    }
}
