//! The false-positive rates of Bloom filters, as baselines.
//!
//! A Bloom filter of m bits sets k of them for each key. A blocked one picks a block for each key and sets all k in it,
//! so that a look-up touches one cache line; blocks have unequal numbers of keys, which costs some accuracy. A split
//! block sets one bit in each of its words, which suits vector instructions.

use super::counts::PositiveCount;

/// A classic filter with `functions` k hash functions and `bits_per_key` b: `(1 − e^(−k/b))^k`, for many keys.
///
/// 002 section 3 recommends k = log₂(1/ε), which is the best k if the bits per key are k/ln 2.
///
/// ```
/// use twiceshy_lab::models::bloom::classic_rate;
///
/// // Ten bits a key and seven functions: 0.8 %.
/// assert_eq!(format!("{:.5}", classic_rate(10.0, 7)), "0.00819");
/// ```
pub fn classic_rate(bits_per_key: f64, functions: u32) -> f64 {
    let k = f64::from(functions);
    (-(-k / bits_per_key).exp_m1()).powf(k)
}

/// The number of functions with the lowest [`classic_rate`], one or more.
pub fn best_functions(bits_per_key: f64) -> u32 {
    let near = (bits_per_key * std::f64::consts::LN_2).floor().max(1.0) as u32;
    let rate = |functions| classic_rate(bits_per_key, functions);
    if rate(near + 1) < rate(near) { near + 1 } else { near }
}

/// A filter of blocks of `block_bits` bits in which each key sets `functions` independent bits. The number of keys in a
/// block is Poisson, and for each number the distribution of the set bits is exact.
///
/// The usual estimate takes the mean of these bits to the power of k. It is 1.5 % too low for 512 bits, k = 8 and ten
/// bits per key, since the variation between blocks with the same number of keys counts too.
pub fn blocked_rate(block_bits: u32, functions: u32, bits_per_key: f64) -> f64 {
    let bits = f64::from(block_bits);
    let keys = PositiveCount::poisson(bits / bits_per_key);
    // The probabilities that 0, 1, … bits are set, draw by draw.
    let mut set = vec![0.0; block_bits as usize + 1];
    set[0] = 1.0;
    let mut rates = Vec::new();
    for _ in 0..=keys.last() {
        let shares = set.iter().enumerate().map(|(bits_set, chance)| chance * power(bits_set as f64 / bits, functions));
        rates.push(shares.sum::<f64>());
        (0..functions).for_each(|_| draw(&mut set));
    }
    keys.iter().map(|(keys, chance)| chance * rates[keys as usize]).sum()
}

/// One more bit of a block is set, unless it was set before.
fn draw(set: &mut [f64]) {
    let bits = (set.len() - 1) as f64;
    for number in (1..set.len()).rev() {
        set[number] = set[number] * (number as f64 / bits) + set[number - 1] * ((bits - number as f64 + 1.0) / bits);
    }
    set[0] = 0.0;
}

/// A filter of blocks of `words` words of `word_bits` bits; each key sets one bit in each word of its block. The number
/// of keys in a block is Poisson.
///
/// The split block filters of Parquet and Impala have 8 words of 32 bits.
///
/// ```
/// use twiceshy_lab::models::bloom::split_block_rate;
///
/// assert_eq!(format!("{:.4}", split_block_rate(8, 32, 10.0)), "0.0126");
/// ```
pub fn split_block_rate(words: u32, word_bits: u32, bits_per_key: f64) -> f64 {
    let keys = PositiveCount::poisson(f64::from(words) * f64::from(word_bits) / bits_per_key);
    let unset = (-1.0 / f64::from(word_bits)).ln_1p();
    keys.iter().map(|(keys, chance)| chance * power(-(keys * unset).exp_m1(), words)).sum()
}

fn power(base: f64, exponent: u32) -> f64 {
    base.powf(f64::from(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    const KEYS: usize = 200_000;
    const ASKED: u32 = 2_000_000;

    /// The share of fresh hashes that a filter of KEYS others reports present, within four standard deviations.
    fn assert_rate(expected: f64, bits: usize, contains: impl Fn(u64) -> bool) {
        let rng = &mut Rng::new(99);
        let found = (0..ASKED).filter(|_| contains(rng.word())).count() as f64 / f64::from(ASKED);
        let deviation = (expected * (1.0 - expected) / f64::from(ASKED)).sqrt();
        // The actual fill of this one filter adds about a relative 1/√bits for each function.
        let luck = expected * 8.0 / (bits as f64).sqrt();
        assert!((found - expected).abs() < 4.0 * (deviation + luck), "{found} for {expected}");
    }

    fn hashes() -> impl Iterator<Item = u64> {
        let mut rng = Rng::new(1);
        (0..KEYS).map(move |_| rng.word())
    }

    #[test]
    fn fastbloom_has_the_classic_rate() {
        for (bits_per_key, functions) in [(8, 4), (10, 7), (12, 8)] {
            let bits = bits_per_key * KEYS;
            let mut filter = fastbloom::BloomFilter::with_num_bits(bits).seed(&1).hashes(functions);
            hashes().for_each(|hash| {
                filter.insert_hash(hash);
            });
            let bits_per_key = filter.num_bits() as f64 / KEYS as f64;
            assert_rate(classic_rate(bits_per_key, functions), bits, |hash| filter.contains_hash(hash));
        }
    }

    #[test]
    fn sbbf_has_the_rate_of_eight_words_of_32_bits() {
        for bits_per_key in [8, 10, 16] {
            let mut filter = sbbf_rs_safe::Filter::new(bits_per_key, KEYS);
            hashes().for_each(|hash| {
                filter.insert_hash(hash);
            });
            let bits = filter.as_bytes().len() * 8;
            let expected = split_block_rate(8, 32, bits as f64 / KEYS as f64);
            assert_rate(expected, bits, |hash| filter.contains_hash(hash));
        }
    }

    /// The bits of a hash in a block of 512, nine bits of the scrambled word each.
    fn in_block(hash: u64) -> impl Iterator<Item = usize> {
        let mut rng = Rng::new(hash);
        (0..8).map(move |_| rng.below(512) as usize)
    }

    #[test]
    fn a_simulated_filter_of_512_bit_blocks_has_the_blocked_rate_and_not_the_rate_of_the_mean() {
        let blocks = KEYS * 10 / 512;
        let mut filter = vec![[false; 512]; blocks];
        let block = |hash: u64| ((u128::from(hash) * blocks as u128) >> 64) as usize;
        hashes().for_each(|hash| in_block(hash).for_each(|bit| filter[block(hash)][bit] = true));
        let bits_per_key = (blocks * 512) as f64 / KEYS as f64;
        let expected = blocked_rate(512, 8, bits_per_key);
        assert_rate(expected, blocks * 512, |hash| in_block(hash).all(|bit| filter[block(hash)][bit]));
        assert!(expected > 1.1 * classic_rate(bits_per_key, 8), "{expected}");
    }

    #[test]
    fn one_block_with_few_keys_has_the_counted_rate() {
        // Two bits, one function: with one key half of the queries match, with two 3/4, with i keys 1 − 2^−i.
        let expected: f64 = PositiveCount::poisson(4.0).iter().map(|(i, chance)| chance * (1.0 - (-i).exp2())).sum();
        assert!((blocked_rate(2, 1, 0.5) - expected).abs() < 1e-12);
        assert!((split_block_rate(1, 2, 0.5) - expected).abs() < 1e-12);
        // A block as large as the filter is a classic filter but for the Poisson number of keys.
        assert!((blocked_rate(1 << 12, 3, 8.0) / classic_rate(8.0, 3) - 1.0).abs() < 0.02);
    }

    #[test]
    fn no_other_number_of_functions_has_a_lower_rate_than_the_best() {
        for bits in 1..=40 {
            let best = best_functions(bits.into());
            let rate = |functions| classic_rate(bits.into(), functions);
            assert!((1..=60).all(|functions| rate(best) <= rate(functions)), "{bits}: {best}");
        }
    }
}
