//! Filters of other crates, each made for the same keys at the nearest rate to 1/256 that it offers, and used as its
//! documentation shows.

use crate::laps::Laps;
use crate::subject::{Contestant, Fill, Filled, Subject, Task};
use anyhow::anyhow;
use fastbloom::BloomFilter;
use foldhash::fast::FixedState;
use scalable_cuckoo_filter::ScalableCuckooFilter;
use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasher;
use xorf::{BinaryFuse8, Filter as _};

/// The peer that others are compared with.
pub const NAMED_PEER: &str = "qfilter";

const RATE: f64 = 1.0 / 256.0;

/// The whole number of bits for each key at which a split block Bloom filter comes nearest to the rate.
const SPLIT_BLOCK_BITS: usize = 13;

/// The same hash function for all that leave the choice to the user.
fn fast_hash() -> FixedState {
    FixedState::with_seed(7)
}

/// All peers.
pub fn all() -> Vec<Contestant> {
    let peer = |name: &str, hash: &'static str, fill: Fill| Contestant { name: name.into(), ours: false, hash, fill };
    vec![
        peer(NAMED_PEER, "foldhash", Box::new(qfilter)),
        peer("fastbloom", "foldhash", Box::new(fast_bloom)),
        peer("fastbloom-siphash", "SipHash-1-3", Box::new(fast_bloom_siphash)),
        peer("cuckoofilter", "SipHash-1-3", Box::new(cuckoo_filter)),
        peer("scalable_cuckoo_filter", "SipHash-1-3", Box::new(scalable_cuckoo_filter)),
        peer("xorf", "MurmurHash3's finalizer", Box::new(binary_fuse)),
        peer("sbbf-rs-safe", "foldhash", Box::new(split_block)),
        peer("hashbrown", "foldhash", Box::new(exact_set)),
    ]
}

fn qfilter(task: Task<'_>) -> anyhow::Result<Filled> {
    let mut filter = qfilter::Filter::new(task.count(), RATE).map_err(|why| anyhow!("qfilter: {why}"))?;
    let laps = Laps::fill(task.keys, |key| filter.insert(key).map(drop)).map_err(|why| anyhow!("qfilter: {why}"))?;
    Ok(Filled::plain(laps, filter))
}

impl Subject for qfilter::Filter {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        qfilter::Filter::contains(self, key)
    }

    fn bits(&self) -> u64 {
        (self.memory_usage() + size_of::<Self>()) as u64 * 8
    }

    /// Its capacity is 19 in 20 of its slots, rounded up.
    fn cells(&self) -> Option<u64> {
        Some(self.capacity() * 20 / 19)
    }
}

fn fast_bloom(task: Task<'_>) -> anyhow::Result<Filled> {
    Ok(bloom(task, BloomFilter::with_false_pos(RATE).hasher(fast_hash()).expected_items(task.keys.len())))
}

fn fast_bloom_siphash(task: Task<'_>) -> anyhow::Result<Filled> {
    Ok(bloom(task, BloomFilter::with_false_pos(RATE).seed(&7).expected_items(task.keys.len())))
}

fn bloom<S: BuildHasher + 'static>(task: Task<'_>, mut filter: BloomFilter<S>) -> Filled {
    let laps = fill(task, |key| {
        filter.insert(&key);
    });
    Filled::plain(laps, filter)
}

impl<S: BuildHasher> Subject for BloomFilter<S> {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        BloomFilter::contains(self, &key)
    }

    fn bits(&self) -> u64 {
        (size_of_val(self.as_slice()) + size_of::<Self>()) as u64 * 8
    }
}

/// Its fingerprints have 8 bits, so its rate is about eight times as high. A full one drops a random key: such errors are
/// passed over here, and the lost keys are counted when all are looked up.
fn cuckoo_filter(task: Task<'_>) -> anyhow::Result<Filled> {
    let mut filter = cuckoofilter::CuckooFilter::<DefaultHasher>::with_capacity(task.cells() as usize);
    let laps = fill(task, |key| drop(filter.add(&key)));
    Ok(Filled::plain(laps, EightBits { filter, cells: task.cells().next_power_of_two() }))
}

struct EightBits {
    filter: cuckoofilter::CuckooFilter<DefaultHasher>,
    cells: u64,
}

impl Subject for EightBits {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains(&key)
    }

    fn bits(&self) -> u64 {
        self.filter.memory_usage() as u64 * 8
    }

    fn cells(&self) -> Option<u64> {
        Some(self.cells)
    }
}

fn scalable_cuckoo_filter(task: Task<'_>) -> anyhow::Result<Filled> {
    let mut filter = ScalableCuckooFilter::<u64>::new(task.cells() as usize, RATE);
    let laps = fill(task, |key| filter.insert(&key));
    Ok(Filled::plain(laps, filter))
}

impl Subject for ScalableCuckooFilter<u64> {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        ScalableCuckooFilter::contains(self, &key)
    }

    fn bits(&self) -> u64 {
        ScalableCuckooFilter::bits(self) + size_of::<Self>() as u64 * 8
    }

    fn cells(&self) -> Option<u64> {
        Some(self.capacity() as u64)
    }
}

/// Static: it is made of all keys at once.
fn binary_fuse(task: Task<'_>) -> anyhow::Result<Filled> {
    let (laps, filter) = Laps::once(|| BinaryFuse8::try_from(task.keys));
    Ok(Filled::plain(laps, filter.map_err(|why| anyhow!("xorf: {why}"))?))
}

impl Subject for BinaryFuse8 {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        xorf::Filter::contains(self, &key)
    }

    fn bits(&self) -> u64 {
        (self.len() + size_of::<Self>()) as u64 * 8
    }
}

/// It takes hashes and leaves the function to its user.
fn split_block(task: Task<'_>) -> anyhow::Result<Filled> {
    let mut subject =
        SplitBlock { filter: sbbf_rs_safe::Filter::new(SPLIT_BLOCK_BITS, task.keys.len()), hash: fast_hash() };
    let laps = fill(task, |key| {
        subject.filter.insert_hash(subject.hash.hash_one(key));
    });
    Ok(Filled::plain(laps, subject))
}

struct SplitBlock {
    filter: sbbf_rs_safe::Filter,
    hash: FixedState,
}

impl Subject for SplitBlock {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        self.filter.contains_hash(self.hash.hash_one(key))
    }

    fn bits(&self) -> u64 {
        (self.filter.as_bytes().len() + size_of::<Self>()) as u64 * 8
    }
}

/// Not a filter: the keys themselves, in a hash set. It makes no mistakes.
fn exact_set(task: Task<'_>) -> anyhow::Result<Filled> {
    let mut set = hashbrown::HashSet::<u64>::with_capacity(task.keys.len());
    let laps = fill(task, |key| {
        set.insert(key);
    });
    Ok(Filled::plain(laps, set))
}

impl Subject for hashbrown::HashSet<u64> {
    #[inline(always)]
    fn contains(&self, key: u64) -> bool {
        hashbrown::HashSet::contains(self, &key)
    }

    fn bits(&self) -> u64 {
        (self.allocation_size() + size_of::<Self>()) as u64 * 8
    }

    /// The buckets: a table for n keys has the power of two from 8n/7 on.
    fn cells(&self) -> Option<u64> {
        Some((self.capacity() as u64 * 8).div_ceil(7).next_power_of_two())
    }
}

/// Inserts all keys by an operation that does not fail.
fn fill(task: Task<'_>, mut insert: impl FnMut(u64)) -> Laps {
    let filled = Laps::fill(task.keys, |key| {
        insert(key);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(laps) = filled;
    laps
}
