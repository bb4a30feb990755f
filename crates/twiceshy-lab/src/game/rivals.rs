//! The sizes and rates of rivals in games.

use super::GameError;
use crate::models::bloom::{best_functions, classic_rate, split_block_rate};
use crate::replay::FilterName;

/// The default bits of each cell that a list of mistakes takes.
pub(super) const CACHE_BITS: u32 = 1;

/// The rate of a full Bloom filter for keys never asked before.
pub(super) fn bloom_rate(name: FilterName, bits_per_key: f64) -> f64 {
    match name {
        FilterName::BlockedBloom => split_block_rate(8, 32, bits_per_key),
        _ => classic_rate(bits_per_key, best_functions(bits_per_key)),
    }
}

/// The fewest whole bits a key with at most this rate.
pub(super) fn bloom_bits(name: FilterName, rate: f64) -> Result<u32, GameError> {
    (2..=64).find(|bits| bloom_rate(name, f64::from(*bits)) <= rate).ok_or_else(|| {
        GameError::Setting(format!("{name} needs more than 64 bits a key for a rate of {rate}: raise --fpr"))
    })
}
