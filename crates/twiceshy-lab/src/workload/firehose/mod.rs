//! The two generators of the FireHose streaming benchmark (Anderson and Plimpton, Sandia) that 004 section 6.1 uses.

pub mod active_set;
pub mod life;
pub mod power_law;

use std::fmt;

use active_set::ActiveSet;
use life::PowExp;
use power_law::PowerLaw;

/// One of the two generators.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Firehose {
    /// Keys that heat up, cool down and are replaced.
    ActiveSet(PowExp),
    /// 100,000 keys, each with its own constant probability.
    PowerLaw,
}

impl Firehose {
    /// The number of queries that 004 made with it.
    pub fn default_queries(self) -> u64 {
        match self {
            Self::ActiveSet(_) => 10_000_000,
            Self::PowerLaw => 50_000_000,
        }
    }

    /// An endless stream of key numbers.
    pub fn numbers(self, seed: u64) -> FirehoseNumbers {
        match self {
            Self::ActiveSet(exponent) => FirehoseNumbers::ActiveSet(Box::new(ActiveSet::new(exponent, seed))),
            Self::PowerLaw => FirehoseNumbers::PowerLaw(PowerLaw::new(seed)),
        }
    }

    /// Reads the first `queries` of the stream once and counts.
    pub fn census(self, queries: u64, seed: u64) -> Census {
        match self {
            Self::ActiveSet(exponent) => {
                let mut stream = ActiveSet::new(exponent, seed);
                (0..queries).for_each(|_| _ = stream.next());
                Census { distinct: stream.distinct(), numbers: stream.created() }
            }
            Self::PowerLaw => {
                let mut asked = vec![false; power_law::KEYS];
                let mut stream = PowerLaw::new(seed);
                (0..queries).for_each(|_| stream.next().into_iter().for_each(|key| asked[key as usize] = true));
                let distinct = asked.iter().filter(|asked| **asked).count() as u64;
                Census { distinct, numbers: power_law::KEYS as u64 }
            }
        }
    }
}

impl fmt::Display for Firehose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ActiveSet(PowExp::DEFAULT) => f.write_str("active-set"),
            Self::ActiveSet(exponent) => write!(f, "active-set:{exponent}"),
            Self::PowerLaw => f.write_str("power-law"),
        }
    }
}

/// The keys at the beginning of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Census {
    /// The distinct keys: |A|.
    pub distinct: u64,
    /// The upper bound of their numbers.
    pub numbers: u64,
}

/// The stream of a [`Firehose`]; `next` never returns `None`.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are clear")]
pub enum FirehoseNumbers {
    ActiveSet(Box<ActiveSet>),
    PowerLaw(PowerLaw),
}

impl Iterator for FirehoseNumbers {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        match self {
            Self::ActiveSet(stream) => stream.next(),
            Self::PowerLaw(stream) => stream.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_census_counts_what_a_set_of_the_numbers_counts() {
        for firehose in [Firehose::ActiveSet(PowExp::DEFAULT), Firehose::PowerLaw] {
            for queries in [0, 1, 1_000, 200_000] {
                let numbers: HashSet<u64> = firehose.numbers(6).take(queries).collect();
                let census = firehose.census(queries as u64, 6);
                assert_eq!(census.distinct, numbers.len() as u64, "{firehose}");
                assert!(numbers.iter().all(|number| *number < census.numbers), "{firehose}");
            }
        }
    }
}
