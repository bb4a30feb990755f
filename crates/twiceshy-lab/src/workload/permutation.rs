//! A seeded shuffle of `0..n` in constant memory.

use std::num::NonZeroU64;

use super::rng::Rng;

const ROUNDS: usize = 4;

/// A bijection of `0..n` onto itself, chosen by a seed: constant memory, a few nanoseconds per call.
///
/// The numbers are mixed as words of the fewest bits that hold them, in invertible steps (add, multiply by an odd
/// number, fold the upper half onto the lower). A result outside `0..n` is mixed again until it is inside. This takes
/// fewer than two mixings on average and is still a bijection, since each number is on one cycle of the mixing.
///
/// ```
/// use std::num::NonZeroU64;
/// use twiceshy_lab::workload::permutation::Permutation;
///
/// let shuffle = Permutation::new(NonZeroU64::new(10).unwrap(), 42);
/// let mut seen: Vec<u64> = (0..10).map(|number| shuffle.apply(number)).collect();
/// seen.sort();
/// assert_eq!(seen, (0..10).collect::<Vec<_>>());
/// ```
#[derive(Clone, Debug)]
pub struct Permutation {
    size: u64,
    mask: u64,
    fold: u32,
    rounds: [(u64, u64); ROUNDS],
}

impl Permutation {
    /// The bijection of `0..size` for a seed.
    pub fn new(size: NonZeroU64, seed: u64) -> Self {
        let bits = (64 - (size.get() - 1).leading_zeros()).max(1);
        let mut rng = Rng::stream(seed, 0x5348_5546_464C_4500);
        Self {
            size: size.get(),
            mask: u64::MAX >> (64 - bits),
            fold: bits.div_ceil(2),
            rounds: std::array::from_fn(|_| (rng.word(), rng.word() | 1)),
        }
    }

    /// The image of `number`. Numbers of `size` or more are taken modulo `size`.
    pub fn apply(&self, number: u64) -> u64 {
        let mut image = self.mix(number % self.size);
        while image >= self.size {
            image = self.mix(image);
        }
        image
    }

    fn mix(&self, number: u64) -> u64 {
        self.rounds.iter().fold(number, |number, (add, odd)| {
            let number = number.wrapping_add(*add).wrapping_mul(*odd) & self.mask;
            number ^ (number >> self.fold)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffle(size: u64, seed: u64) -> Permutation {
        Permutation::new(NonZeroU64::new(size).expect("sizes in these tests are positive"), seed)
    }

    #[test]
    fn every_number_is_hit_exactly_once_at_every_small_size() {
        for size in 1..=300 {
            let shuffle = shuffle(size, size * 31);
            let mut hit = vec![false; size as usize];
            for number in 0..size {
                let image = shuffle.apply(number) as usize;
                assert!(!hit[image], "size {size}: {image} twice");
                hit[image] = true;
            }
        }
    }

    #[test]
    fn the_whole_range_of_64_bits_is_accepted() {
        let shuffle = shuffle(u64::MAX, 1);
        let images: Vec<u64> = (0..1000).map(|number| shuffle.apply(number)).collect();
        let upper = images.iter().filter(|image| **image >> 63 == 1).count();
        assert!((400..600).contains(&upper), "{upper}");
    }

    #[test]
    fn the_image_of_the_first_number_is_uniform_over_seeds() {
        for size in [5u64, 8, 37] {
            let seeds = 2_000 * size;
            let mut counts = vec![0u64; size as usize];
            for seed in 0..seeds {
                counts[shuffle(size, seed).apply(0) as usize] += 1;
            }
            let chance = 1.0 / size as f64;
            let deviation = (seeds as f64 * chance * (1.0 - chance)).sqrt();
            for count in counts {
                let off = (count as f64 - 2_000.0).abs();
                assert!(off <= 4.5 * deviation, "size {size}: {count}");
            }
        }
    }
}
