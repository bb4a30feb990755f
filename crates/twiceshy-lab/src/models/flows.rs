//! The Cyclic filter with absent keys that are asked for at different rates (003 section 3.1, its last paragraph).

mod bucket;
#[cfg(test)]
mod tests;

use super::cyclic::CyclicModel;
use super::sampling::{self, Estimate};
use crate::workload::rng::Rng;
use bucket::Sampler;
use std::collections::BTreeMap;

/// Absent keys that are all asked for equally often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowClass {
    /// The share of the absent keys, relative to the other classes.
    pub share: f64,
    /// How often each of them is asked for, relative to keys of other classes.
    pub rate: f64,
}

/// Invalid classes of flows.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowError {
    /// No class.
    #[error("there are no classes of keys; give at least one class, or at least one size above 0")]
    NoClass,
    /// A share or rate that is not a positive number.
    #[error(
        "the share and the rate of a class must be finite and above 0, such as 0.1 and 9.0, not {share} and {rate}"
    )]
    Class {
        /// The share.
        share: f64,
        /// The rate.
        rate: f64,
    },
    /// More fingerprint functions than a sampled key has bits for.
    #[error("{0} fingerprint functions are too many to sample; give at most 64, that is 6 selector bits")]
    Functions(usize),
}

/// The Markov chain of 003 sections 3.1 and 3.2 over keys of several classes, by sampling buckets.
///
/// The paper says that flows of a small number of rates could be treated likewise, without details. Here, as there, a
/// cell stays in function i for an exponential time of mean `1/W_i`, but `W_i` is the sum of the rates of the keys that
/// collide under i, not their number. It rests at a function without collisions.
///
/// **How.** The number of absent keys that collide with a cell under function 0 is Poisson, and so is that of those
/// that collide only under others. They are drawn, each with its class and the functions under which it collides; cells
/// without a collision under function 0 have no false positive and are counted without being drawn. Then the chain is
/// simulated, false positive by false positive. Sampling adds only the standard error, which is returned: about
/// 1/√samples of the rate, more if a few cells make most of the mistakes.
///
/// **Compared with [`CyclicModel`].** One class has the rate of [`CyclicModel::rate_finite`]. Like that model, this one
/// leaves out queries that collide in two tables.
///
/// **The worst case.** The paper considers equal rates the worst case. For [`rate`](Self::rate) that is a theorem: a
/// cell that cycles has `H/Σ 1/W_i` false positives per unit of time, which is concave in the W, so mixing rates of the
/// same mean can only lower it.
///
/// ```
/// use twiceshy_lab::models::flows::{FlowClass, FlowModel};
/// use twiceshy_lab::models::{CyclicModel, EmptyCell};
///
/// let cyclic = CyclicModel::equal_ranges(4, 0.95, 7, 1, EmptyCell::Reserved)?;
/// let even = cyclic.rate_finite(4096, 155_648, 15_564_800);
/// // One key in ten is asked for 91 times as often as the others.
/// let classes = vec![FlowClass { share: 0.9, rate: 1.0 }, FlowClass { share: 0.1, rate: 91.0 }];
/// let skewed = FlowModel::new(cyclic, classes)?.rate_finite(4096, 155_648, 15_564_800, 20_000, 1);
/// assert!(skewed.rate < 0.5 * even);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FlowModel {
    cyclic: CyclicModel,
    /// Shares that add up to 1, rates of mean 1.
    classes: Vec<FlowClass>,
}

impl FlowModel {
    /// A filter and the classes of its absent keys. Shares and rates are taken relative to their sum and mean.
    pub fn new(cyclic: CyclicModel, mut classes: Vec<FlowClass>) -> Result<Self, FlowError> {
        if classes.is_empty() {
            return Err(FlowError::NoClass);
        }
        if cyclic.collision().len() > 64 {
            return Err(FlowError::Functions(cyclic.collision().len()));
        }
        let possible = |number: f64| number > 0.0 && number.is_finite();
        if let Some(FlowClass { share, rate }) = classes.iter().find(|c| !possible(c.share) || !possible(c.rate)) {
            return Err(FlowError::Class { share: *share, rate: *rate });
        }
        let shares: f64 = classes.iter().map(|class| class.share).sum();
        classes.iter_mut().for_each(|class| class.share /= shares);
        let mean: f64 = classes.iter().map(|class| class.share * class.rate).sum();
        classes.iter_mut().for_each(|class| class.rate /= mean);
        Ok(Self { cyclic, classes })
    }

    /// A filter and the sizes of all flows, as in a trace: one class for each size. Sizes of 0 are ignored.
    pub fn from_sizes(cyclic: CyclicModel, sizes: impl IntoIterator<Item = u64>) -> Result<Self, FlowError> {
        let mut flows = BTreeMap::new();
        sizes.into_iter().filter(|size| *size > 0).for_each(|size| *flows.entry(size).or_insert(0u64) += 1);
        let class = |(size, flows)| FlowClass { share: flows as f64, rate: size as f64 };
        Self::new(cyclic, flows.into_iter().map(class).collect())
    }

    /// The classes, with shares that add up to 1 and rates of mean 1.
    pub fn classes(&self) -> &[FlowClass] {
        &self.classes
    }

    /// The asymptotic rate: cells that can come to rest have done so, and the others cycle at their long-run rate. The
    /// counterpart of [`CyclicModel::rate`]. The collisions are sampled; a bucket's false positives are then computed.
    ///
    /// `queries` in all for `absent_keys` keys, `buckets_per_table` buckets of one cell, a fixed number of `samples`.
    pub fn rate(&self, buckets_per_table: u64, absent_keys: u64, queries: u64, samples: u64, seed: u64) -> Estimate {
        let shape = [buckets_per_table, absent_keys, queries];
        self.sample(shape, samples, seed, |bucket, per_key, _| bucket.in_the_long_run(per_key))
    }

    /// The rate over these queries, if each key is asked for a Poisson number of times in proportion to its rate, over
    /// the whole time. The counterpart of [`CyclicModel::rate_finite`].
    ///
    /// Takes a few nanoseconds for each false positive of a sampled bucket.
    pub fn rate_finite(
        &self,
        buckets_per_table: u64,
        absent_keys: u64,
        queries: u64,
        samples: u64,
        seed: u64,
    ) -> Estimate {
        let shape = [buckets_per_table, absent_keys, queries];
        self.sample(shape, samples, seed, |bucket, per_key, rng| bucket.played(per_key, rng))
    }

    /// The same with flows of fixed size: a key is asked for exactly `queries/absent_keys` times its rate (the whole
    /// number below or above, so that the mean is right), at uniformly random times.
    ///
    /// A flow that has had its queries ends and no longer moves cells: a cell that would cycle endlessly rests once the
    /// flows of one of its functions are over. Large flows last; with flows of one query each, every one is asked once
    /// whatever the filter has learned. Flows that follow each other, as in a trace, overlap less than here, and their
    /// rate is lower.
    ///
    /// Sorts the queries of all colliding keys of a bucket, so flows of millions of queries are slow.
    pub fn rate_fixed_sizes(
        &self,
        buckets_per_table: u64,
        absent_keys: u64,
        queries: u64,
        samples: u64,
        seed: u64,
    ) -> Estimate {
        let shape = [buckets_per_table, absent_keys, queries];
        self.sample(shape, samples, seed, |bucket, per_key, rng| bucket.with_fixed_sizes(per_key, rng))
    }

    /// The rate, from the mean number of false positives of a cell that has at least one.
    fn sample(
        &self,
        [buckets, absent_keys, queries]: [u64; 3],
        samples: u64,
        seed: u64,
        false_positives: impl Fn(&bucket::Bucket, f64, &mut Rng) -> f64,
    ) -> Estimate {
        if buckets == 0 || absent_keys == 0 || queries == 0 {
            return Estimate::NOTHING;
        }
        let (buckets, keys, queries) = (buckets as f64, absent_keys as f64, queries as f64);
        let sampler = Sampler::new(self.cyclic.collision(), &self.classes, keys / buckets);
        let cells = f64::from(self.cyclic.tables()) * self.cyclic.load() * buckets;
        let rng = &mut Rng::new(seed);
        sampling::mean(samples, cells * sampler.chance() / queries, || {
            let bucket = sampler.bucket(rng);
            false_positives(&bucket, queries / keys, rng)
        })
    }
}
