//! The Swapping filter under uniformly repeated queries, by sampling (003 section 3.3).

mod bucket;
mod occupancy;
#[cfg(test)]
mod tests;

pub use occupancy::{Occupancy, OccupancyError};

use super::sampling::{self, Estimate, pick, running_sums};
use crate::workload::rng::Rng;
use bucket::Sampler;

/// The Markov chain of a bucket whose keys swap cells, by sampling buckets as proposed in 003 section 3.3.
///
/// `Z(w, i)` absent keys collide with stored key w while it is in cell i. The bucket rests in an order of the keys in
/// which the sum of the current `Z(w, i)` is 0. Otherwise the next false positive is against one of the cells, in
/// proportion to its Z, and the key there swaps with one of the other cells, each equally likely, empty or not, as in
/// [`SwappingFilter`](twiceshy::cuckoo::SwappingFilter).
///
/// **How.** A bucket is drawn: its occupancy, the fingerprints of its keys in each of its cells, and the fingerprints
/// of the absent keys that share it. A first collision is assumed; buckets without one have no false positive and are
/// counted without being drawn. Then the chain is simulated from false positive to false positive, with exponential
/// waits, until the queries are over or it rests. So there is no stationary distribution to solve for, and the result
/// is right for few queries as well as for many. Sampling adds only the standard error, which is returned.
///
/// **Departure.** The paper draws ζ, the absent keys of a bucket, and then the sixteen Z as independent Poisson
/// numbers. Here they are counted from fingerprints, which makes no visible difference (1.916e-3 against 1.918e-3, ±
/// 0.009e-3, at 8 bits and A/S = 10). Tried: leaving ζ out, since each Z is Poisson for a random ζ as well. But the Z
/// of one bucket are correlated through ζ, and without that the rate is 8 % too low there, since most false positives
/// come from the few buckets with many collisions.
///
/// **What the model leaves out.** A query that collides with several cells counts for each of them: the prediction is
/// too high by a share of about half the rate.
///
/// ```
/// use twiceshy_lab::models::swapping::SwappingModel;
///
/// // 4096 buckets in each of two tables, 95 % full, 8 bits; ten absent keys for each stored one, asked for 100 times.
/// let estimate = SwappingModel::two_by_four(8)?.rate(4096, 311_296, 31_129_600, 20_000, 1);
/// assert!((estimate.rate / 1.92e-3 - 1.0).abs() < 0.1, "{estimate:?}");
/// # Ok::<(), twiceshy_lab::models::swapping::OccupancyError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SwappingModel {
    tables: u32,
    values: u64,
    occupancy: Occupancy,
}

impl SwappingModel {
    /// `tables` tables whose buckets are filled according to `occupancy`, and `values` fingerprint values of a cell.
    pub fn new(tables: u32, values: u64, occupancy: Occupancy) -> Result<Self, OccupancyError> {
        if tables == 0 || values == 0 {
            return Err(OccupancyError::NoCell);
        }
        if occupancy.cells() < 2 {
            return Err(OccupancyError::OneCell);
        }
        Ok(Self { tables, values, occupancy })
    }

    /// Two tables of buckets of four cells of `bits` bits, one value of which means empty, at 95 % load.
    pub fn two_by_four(bits: u32) -> Result<Self, OccupancyError> {
        let values = 1u64.checked_shl(bits).unwrap_or(0).saturating_sub(1);
        Self::new(2, values, Occupancy::two_by_four_at_95_percent())
    }

    /// How the buckets are filled.
    pub fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    /// The false-positive rate of the whole filter over `queries`, drawn uniformly from `absent_keys`, with
    /// `buckets_per_table` buckets in each table. 0 if there is no bucket, key or query.
    ///
    /// Takes about ten nanoseconds for each absent key and each false positive of each of the `samples` buckets.
    pub fn rate(&self, buckets_per_table: u64, absent_keys: u64, queries: u64, samples: u64, seed: u64) -> Estimate {
        if buckets_per_table == 0 || absent_keys == 0 || queries == 0 {
            return Estimate::NOTHING;
        }
        let (buckets, keys, queries) = (buckets_per_table as f64, absent_keys as f64, queries as f64);
        let cells = self.occupancy.cells();
        let sampler = |stored| Sampler::new(stored, cells, self.values, keys / buckets);
        let samplers: Vec<Sampler> = (0..=cells).map(sampler).collect();
        let shares = self.occupancy.shares().iter().zip(&samplers);
        let sums = running_sums(shares.map(|(share, sampler)| share * sampler.chance()));
        let Some(chance) = sums.last().copied().filter(|chance| *chance > 0.0) else { return Estimate::NOTHING };
        let rng = &mut Rng::new(seed);
        sampling::mean(samples, f64::from(self.tables) * buckets * chance / queries, || {
            samplers[pick(rng, &sums)].bucket(rng).false_positives(queries / keys, rng)
        })
    }
}
