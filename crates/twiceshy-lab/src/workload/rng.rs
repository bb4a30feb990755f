//! The source of randomness for workloads and simulations: small, seeded, the same on every platform.

/// Scrambles 64 bits so that every input bit reaches every output bit; a bijection.
///
/// It is the output step of splitmix64, which this crate also uses as a keyless mixer.
pub(crate) fn scramble(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// The splitmix64 sequence, which turns one seed into as many state words as needed.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        scramble(self.0)
    }
}

/// A seeded pseudo-random generator: xoshiro256\*\* by Blackman and Vigna, 32 bytes of state, about a nanosecond per
/// word.
///
/// The algorithm is implemented here rather than taken from a crate, so that a recorded seed gives the same queries
/// after every upgrade. It is not cryptographic: never use it to key a filter.
///
/// ```
/// use twiceshy_lab::workload::rng::Rng;
///
/// let mut dice = Rng::new(7);
/// let throws: Vec<u64> = (0..5).map(|_| dice.below(6) + 1).collect();
/// assert!(throws.iter().all(|throw| (1..=6).contains(throw)));
/// assert_eq!(Rng::new(7).word(), Rng::new(7).word());
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// The generator of a seed. Any seed is valid, including zero.
    pub fn new(seed: u64) -> Self {
        let mut words = SplitMix(seed);
        Self { state: std::array::from_fn(|_| words.next()) }
    }

    /// One of many unrelated generators of the same seed. Give each use of randomness in a trial its own `label`.
    pub fn stream(seed: u64, label: u64) -> Self {
        Self::new(seed ^ scramble(label.wrapping_add(0x6A09_E667_F3BC_C909)))
    }

    /// The next 64 random bits.
    pub fn word(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        b.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A uniform number in `0..bound`, without bias; 0 if `bound` is 0.
    ///
    /// A multiplication picks the number; the few words that would favour some numbers are drawn again (Lemire's
    /// method). A division is needed only with probability `bound` / 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = u128::from(self.word()) * u128::from(bound);
            let (number, fraction) = ((product >> 64) as u64, product as u64);
            if fraction >= bound || fraction >= bound.wrapping_neg() % bound.max(1) {
                return number;
            }
        }
    }

    /// Shuffles a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// A number in `[0, 1)`: a multiple of 2^-53, each equally likely.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 * (-53f64).exp2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeding_and_stepping_agree_with_the_published_reference_outputs() {
        let mut words = SplitMix(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(std::array::from_fn(|_| words.next()), expected);

        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [11_520, 0, 1_509_978_240, 1_215_971_899_390_074_240, 1_216_172_134_540_287_360];
        assert_eq!(std::array::from_fn(|_| rng.word()), expected);
    }

    #[test]
    fn every_bounded_number_is_equally_frequent_within_four_deviations() {
        for bound in [1u64, 2, 3, 7, 10, 100] {
            let mut rng = Rng::new(bound);
            let draws = 20_000 * bound;
            let mut counts = vec![0u64; bound as usize];
            for _ in 0..draws {
                counts[rng.below(bound) as usize] += 1;
            }
            let chance = 1.0 / bound as f64;
            let deviation = (draws as f64 * chance * (1.0 - chance)).sqrt();
            for count in counts {
                let off = (count as f64 - 20_000.0).abs();
                assert!(off <= 4.0 * deviation, "bound {bound}: {count}");
            }
        }
    }

    #[test]
    fn a_bound_above_half_the_range_is_drawn_without_bias() {
        // Of 2^64 words, 3·2^62 numbers get one each and the rest are drawn again; without rejection the numbers
        // that are divisible by 3 would come up half the time.
        let mut rng = Rng::new(3);
        let bound = 3u64 << 62;
        let draws = 30_000;
        let mut thirds = 0u32;
        for _ in 0..draws {
            let number = rng.below(bound);
            assert!(number < bound);
            thirds += u32::from(number.is_multiple_of(3));
        }
        let deviation = (f64::from(draws) * 2.0 / 9.0).sqrt();
        let off = (f64::from(thirds) - f64::from(draws) / 3.0).abs();
        assert!(off <= 4.0 * deviation, "{thirds}");
    }

    #[test]
    fn a_bound_of_zero_yields_zero_and_unit_stays_below_one() {
        let mut rng = Rng::new(1);
        assert_eq!(rng.below(0), 0);
        let draws = 100_000;
        let mut sum = 0.0;
        for _ in 0..draws {
            let unit = rng.unit();
            assert!((0.0..1.0).contains(&unit));
            sum += unit;
        }
        let deviation = (f64::from(draws) / 12.0).sqrt();
        assert!((sum - f64::from(draws) / 2.0).abs() <= 4.0 * deviation);
    }

    #[test]
    fn streams_of_one_seed_differ_from_each_other() {
        let first: Vec<u64> = (0..100).map(|label| Rng::stream(5, label).word()).collect();
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), first.len());
    }
}
