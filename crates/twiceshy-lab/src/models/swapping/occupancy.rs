//! How many keys the buckets of a cuckoo table hold.

use crate::workload::keys::Keys;
use twiceshy::cuckoo::SwappingFilter;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

/// Invalid numbers for buckets.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OccupancyError {
    /// Shares that do not form a distribution.
    #[error("the shares of buckets with 0, 1, … keys must be at least 0 and add up to 1, not {0:?}")]
    Shares(Vec<f64>),
    /// No table, no cell or no value.
    #[error("tables, cells and fingerprint values must each be at least 1, usually 2, 4 and 255")]
    NoCell,
    /// Nothing to swap with.
    #[error("keys swap within a bucket, so it needs at least two cells; give shares for 0, 1, 2, … keys")]
    OneCell,
    /// A table that cannot be filled to this load.
    #[error("a table of {buckets} buckets was full before it reached a load of {load}; give more buckets or less load")]
    Full {
        /// The buckets of each table.
        buckets: u64,
        /// The requested load.
        load: f64,
    },
}

/// The shares of the buckets that hold 0, 1, … keys.
#[derive(Clone, Debug, PartialEq)]
pub struct Occupancy {
    shares: Vec<f64>,
}

impl Occupancy {
    /// The shares of buckets with 0, 1, …, c keys.
    pub fn new(shares: Vec<f64>) -> Result<Self, OccupancyError> {
        let sum: f64 = shares.iter().sum();
        if shares.len() < 2 {
            return Err(OccupancyError::NoCell);
        }
        if !shares.iter().all(|share| *share >= 0.0) || (sum - 1.0).abs() > 1e-6 {
            return Err(OccupancyError::Shares(shares));
        }
        Ok(Self { shares })
    }

    /// Two tables of four cells per bucket at 95 % load, filled by breadth-first search: the mean of
    /// [`measured`](Self::measured) for 2^17 buckets per table under three hash keys.
    ///
    /// It is not binomial: that would leave 81.5 % of the buckets full and 1.5 % with two keys or fewer. An insertion
    /// takes the first free cell, and so fills the first table before the second.
    pub fn two_by_four_at_95_percent() -> Self {
        Self { shares: vec![0.0023, 0.0130, 0.0381, 0.0756, 0.8710] }
    }

    /// The occupancy of a filled [`SwappingFilter`] of two tables and four cells per bucket, read from a mirror of its
    /// cells.
    pub fn measured(load: f64, buckets_per_table: u64, seed: u64) -> Result<Self, OccupancyError> {
        let full = OccupancyError::Full { buckets: buckets_per_table, load };
        let cells = buckets_per_table.saturating_mul(8);
        let keys = Keys::new((cells as f64 * load) as u64, 0, seed).ok_or(full.clone())?;
        let hash = HashKey::fixed(seed).for_trusted_keys();
        let filter = SwappingFilter::with_cells(cells, 16).build(hash, Mirror::new());
        let mut filter = filter.map_err(|_| full.clone())?;
        for key in keys.stored_keys() {
            filter.insert(&key).map_err(|_| full.clone())?;
        }
        let table = filter.remote().table().ok_or(full)?;
        let mut stored = vec![0usize; buckets_per_table as usize * 2];
        for cell in keys.stored_keys().filter_map(|key| table.find(&key)) {
            stored[(cell.0 / 4) as usize] += 1;
        }
        let mut shares = vec![0.0; 5];
        stored.iter().for_each(|keys| shares[*keys] += 1.0 / stored.len() as f64);
        Ok(Self { shares })
    }

    /// The share of the buckets with 0, 1, … keys.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// The cells of a bucket.
    pub fn cells(&self) -> usize {
        self.shares.len() - 1
    }

    /// The share of the cells that hold a key.
    pub fn load(&self) -> f64 {
        let stored = self.shares.iter().enumerate().map(|(keys, share)| keys as f64 * share);
        stored.sum::<f64>() / self.cells() as f64
    }
}
