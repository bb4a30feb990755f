//! Bloom filters from other crates, with this project's keyed hash.

use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;

/// A bit table that sets and tests the bits of a hash.
pub trait Bits {
    /// An empty filter of about `bits` bits, optimal for `keys` keys.
    fn new(bits: u64, keys: u64) -> Self;

    /// Sets the bits of a hash.
    fn set(&mut self, hash: u64);

    /// `true` if all bits of a hash are set.
    fn are_set(&self, hash: u64) -> bool;

    /// The bits in memory.
    fn count(&self) -> u64;
}

/// A Bloom filter with a keyed hash. Keys cannot be removed, and its mistakes stay mistakes.
#[derive(Clone, Debug)]
pub struct Hashed<B> {
    bits: B,
    hash: HashKey,
    cells: u64,
    keys: u64,
}

/// The classic Bloom filter, from the crate `fastbloom`: k bits anywhere.
pub type Bloom = Hashed<fastbloom::BloomFilter>;

/// A blocked Bloom filter, from the crate `sbbf-rs-safe`: eight bits within 256, one cache line per look-up.
pub type BlockedBloom = Hashed<sbbf_rs_safe::Filter>;

impl<B: Bits> Hashed<B> {
    /// An empty filter in the memory of `cells` cells of `bits` bits, optimal for `keys` keys.
    pub fn new(cells: u64, bits: u32, keys: u64, hash: HashKey) -> Hashed<B> {
        Hashed { bits: B::new(cells.saturating_mul(bits.into()), keys), hash, cells, keys: 0 }
    }

    /// Stores a key.
    pub fn insert(&mut self, key: &[u8]) {
        self.bits.set(self.hash.words(key).word(0));
        self.keys += 1;
    }
}

impl<B: Bits> Filter for Hashed<B> {
    fn contains(&self, key: &[u8]) -> bool {
        self.bits.are_set(self.hash.words(key).word(0))
    }

    fn len(&self) -> u64 {
        self.keys
    }

    /// The number of cells that its memory is counted in.
    fn cells(&self) -> u64 {
        self.cells
    }

    fn local_bits(&self) -> u64 {
        self.bits.count()
    }
}

impl Bits for fastbloom::BloomFilter {
    fn new(bits: u64, keys: u64) -> Self {
        fastbloom::BloomFilter::with_num_bits(bits.max(1) as usize).expected_items(keys.max(1) as usize)
    }

    fn set(&mut self, hash: u64) {
        self.insert_hash(hash);
    }

    fn are_set(&self, hash: u64) -> bool {
        self.contains_hash(hash)
    }

    fn count(&self) -> u64 {
        self.num_bits() as u64
    }
}

impl Bits for sbbf_rs_safe::Filter {
    fn new(bits: u64, _: u64) -> Self {
        sbbf_rs_safe::Filter::new(bits as usize, 1)
    }

    fn set(&mut self, hash: u64) {
        self.insert_hash(hash);
    }

    fn are_set(&self, hash: u64) -> bool {
        self.contains_hash(hash)
    }

    fn count(&self) -> u64 {
        self.as_bytes().len() as u64 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::keys::Keys;

    /// The share of absent keys that a filter of `bits` bits per key calls present.
    fn rate<B: Bits>(bits: u32) -> f64 {
        let keys = Keys::new(20_000, 400_000, 5).expect("few keys");
        let mut filter = Hashed::<B>::new(20_000, bits, 20_000, HashKey::fixed(1));
        keys.stored_keys().for_each(|key| filter.insert(&key));
        assert!(keys.stored_keys().all(|key| filter.contains(&key)));
        let used = filter.local_bits() as f64 / 20_000.0;
        assert!((used - f64::from(bits)).abs() < 0.02, "{used} bits a key");
        (0..400_000).filter(|number| filter.contains(&keys.absent(*number))).count() as f64 / 400_000.0
    }

    #[test]
    fn bloom_filters_have_the_rates_of_their_formulas() {
        // (1 - e^(-k/m))^k: 0.0216 at 8 bits with k = 6, 0.0031 at 12 with k = 8.
        let classic = [8, 12].map(rate::<fastbloom::BloomFilter>);
        assert!((0.020..0.024).contains(&classic[0]) && (0.0027..0.0036).contains(&classic[1]), "{classic:?}");
        // Keys are not spread evenly over blocks, which hurts a filter more the fewer bits it has.
        let blocked = [8, 12].map(rate::<sbbf_rs_safe::Filter>);
        assert!((0.024..0.040).contains(&blocked[0]) && (0.004..0.009).contains(&blocked[1]), "{blocked:?}");
    }
}
