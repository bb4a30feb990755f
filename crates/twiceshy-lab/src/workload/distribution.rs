//! The order of queries for absent keys.

use std::fmt;
use std::num::NonZeroU64;

use super::permutation::Permutation;
use super::rng::Rng;
use super::zipf::{Exponent, Zipf};

const QUERY_STREAM: u64 = 0x5155_4552_5900;

/// How often each absent key is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every absent key equally often: the worst case of an adaptive filter (003 section 3.1).
    Uniform,
    /// The k-th most popular key with probability proportional to `k^-exponent`.
    Zipf(Exponent),
}

impl Distribution {
    /// An endless stream of queries, each the number of an absent key in `0..absent_keys`.
    ///
    /// Under a Zipf law the seed also decides which keys are the popular ones.
    ///
    /// ```
    /// use std::num::NonZeroU64;
    /// use twiceshy_lab::workload::Distribution;
    ///
    /// let absent = NonZeroU64::new(1000).unwrap();
    /// let queries = Distribution::Uniform.queries(absent, 42);
    /// assert!(queries.take(50).all(|number| number < 1000));
    /// ```
    pub fn queries(self, absent_keys: NonZeroU64, seed: u64) -> Queries {
        Queries {
            rng: Rng::stream(seed, QUERY_STREAM),
            law: match self {
                Self::Uniform => Law::Uniform(absent_keys.get()),
                Self::Zipf(exponent) => {
                    Law::Zipf(Zipf::new(absent_keys, exponent), Permutation::new(absent_keys, seed))
                }
            },
        }
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(exponent) => write!(f, "zipf:{exponent}"),
        }
    }
}

/// An endless, reproducible stream of queries, in constant memory and tens of nanoseconds per query.
///
/// Made by [`Distribution::queries`]. `next` never returns `None`.
#[derive(Clone, Debug)]
pub struct Queries {
    rng: Rng,
    law: Law,
}

#[derive(Clone, Debug)]
enum Law {
    Uniform(u64),
    Zipf(Zipf, Permutation),
}

impl Iterator for Queries {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        Some(match &self.law {
            Law::Uniform(keys) => self.rng.below(*keys),
            Law::Zipf(zipf, place) => place.apply(zipf.rank(&mut self.rng) - 1),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ABSENT: u64 = 50;

    fn counts(distribution: Distribution, seed: u64, draws: usize) -> Vec<f64> {
        let absent = NonZeroU64::new(ABSENT).expect("positive");
        let mut counts = vec![0.0; ABSENT as usize];
        for number in distribution.queries(absent, seed).take(draws) {
            counts[number as usize] += 1.0;
        }
        counts
    }

    fn zipf(exponent: f64) -> Distribution {
        Distribution::Zipf(Exponent::new(exponent).expect("positive"))
    }

    #[test]
    fn uniform_queries_reach_every_key_equally_often() {
        let expected = 4_000.0f64;
        for count in counts(Distribution::Uniform, 11, 4_000 * ABSENT as usize) {
            assert!((count - expected).abs() <= 4.0 * expected.sqrt(), "{count}");
        }
    }

    #[test]
    fn the_popularity_of_zipf_keys_sorted_follows_the_law() {
        let draws = 200_000;
        let mut counts = counts(zipf(1.0), 3, draws);
        counts.sort_by(|a, b| b.total_cmp(a));
        let total: f64 = (1..=ABSENT).map(|k| 1.0 / k as f64).sum();
        // The first ten ranks are too far apart to change places by chance.
        for (place, count) in counts.iter().take(10).enumerate() {
            let expected = draws as f64 / (place + 1) as f64 / total;
            assert!((count - expected).abs() <= 4.0 * expected.sqrt(), "{place}: {count}");
        }
    }

    #[test]
    fn another_seed_makes_another_key_the_most_popular() {
        let favourite = |seed| {
            let counts = counts(zipf(1.5), seed, 2_000);
            (0..counts.len()).max_by(|a, b| counts[*a].total_cmp(&counts[*b]))
        };
        let mut favourites: Vec<_> = (0..20).map(favourite).collect();
        favourites.sort();
        favourites.dedup();
        assert!(favourites.len() > 10, "{favourites:?}");
    }

    #[test]
    fn the_same_seed_repeats_the_queries_and_another_does_not() {
        let absent = NonZeroU64::new(1 << 40).expect("positive");
        for distribution in [Distribution::Uniform, zipf(0.7)] {
            let take = |seed| distribution.queries(absent, seed).take(20).collect::<Vec<_>>();
            assert_eq!(take(1), take(1));
            assert_ne!(take(1), take(2));
        }
    }
}
