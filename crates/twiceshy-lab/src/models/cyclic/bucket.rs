//! One occupied cell of a Cyclic filter, and the queries that reach it.

use crate::models::counts::PositiveCount;
use crate::models::harmonic::Harmonic;

/// How the keys that collide with a cell are counted.
#[derive(Clone, Copy)]
pub(super) enum Law {
    /// Poisson, as in the paper.
    Poisson,
    /// Binomial: each of ζ keys collides or not.
    Binomial,
}

impl Law {
    pub(super) fn count(self, zeta: f64, kappa: f64) -> PositiveCount {
        match self {
            Self::Poisson => PositiveCount::poisson(zeta * kappa),
            Self::Binomial => PositiveCount::binomial(zeta, kappa),
        }
    }
}

/// An occupied cell and the absent keys of its bucket.
pub(super) struct Bucket {
    /// The number of keys that collide, and how many successive functions it applies to.
    pub(super) colliding: Vec<(PositiveCount, usize)>,
}

impl Bucket {
    pub(super) fn functions(&self) -> usize {
        self.colliding.iter().map(|(_, times)| times).sum()
    }

    /// One count for each function, in order.
    pub(super) fn each(&self) -> impl DoubleEndedIterator<Item = &PositiveCount> {
        self.colliding.iter().flat_map(|(count, times)| std::iter::repeat_n(count, *times))
    }

    /// The mean number of false positives before the cell comes to rest; a cell that never does counts as 0.
    pub(super) fn before_rest(&self) -> f64 {
        let mut reached = 1.0;
        let mut sum = 0.0;
        for (number, count) in self.each().enumerate() {
            sum += reached * count.none() * number as f64;
            reached *= count.some();
        }
        sum
    }

    /// The mean number of false positives of a cell that cycles endlessly, in the time in which each absent key is
    /// asked for once; a cell that comes to rest counts as 0.
    pub(super) fn cycling(&self, harmonic: &Harmonic) -> f64 {
        self.functions() as f64 * harmonic.mean(&self.colliding)
    }
}

/// The queries to a filter, as seen by one of its buckets.
pub(super) struct Traffic {
    pub(super) buckets: f64,
    pub(super) queries: f64,
    /// Queries per absent key, on average.
    pub(super) per_key: f64,
    /// The number ζ of absent keys that share a bucket.
    pub(super) shared: PositiveCount,
}

impl Traffic {
    /// `None` if there is no bucket, key or query.
    pub(super) fn new(buckets_per_table: u64, absent_keys: u64, queries: u64) -> Option<Self> {
        if buckets_per_table == 0 || absent_keys == 0 || queries == 0 {
            return None;
        }
        let (buckets, keys) = (buckets_per_table as f64, absent_keys as f64);
        Some(Self {
            buckets,
            queries: queries as f64,
            per_key: queries as f64 / keys,
            shared: PositiveCount::poisson(keys / buckets),
        })
    }

    pub(super) fn largest_zeta(&self) -> f64 {
        self.shared.last() as f64
    }
}
