//! The flags of models under repeated queries.

use crate::numbers;
use crate::output::{counted, grouped};
use std::num::NonZeroU64;

/// The most absent keys for each stored one, and the most queries for each absent key: beyond them a model takes minutes.
const MOST: f64 = 1_000.0;

/// The most steps of all sampled buckets together.
const MOST_SAMPLED: f64 = 1e9;

#[derive(clap::Args)]
pub(super) struct Asking {
    /// The cells of the filter, all tables together
    #[arg(long, default_value = "16384", value_parser = numbers::count::<NonZeroU64>)]
    cells: NonZeroU64,
    /// Keys over cells
    #[arg(long, default_value = "0.95", value_parser = numbers::fraction)]
    pub(super) load: f64,
    /// A/S: distinct absent keys that are asked for, over stored keys
    #[arg(long, default_value = "10", value_parser = numbers::fraction)]
    ratio: f64,
    /// Queries for each absent key, on average
    #[arg(long, default_value = "100", value_parser = numbers::count::<NonZeroU64>)]
    per_key: NonZeroU64,
}

/// The sizes that the models take.
pub(super) struct Sizes {
    pub(super) buckets_per_table: u64,
    pub(super) keys: u64,
    pub(super) absent: u64,
    pub(super) queries: u64,
}

impl Asking {
    /// The sizes for this many tables with this many cells a bucket.
    pub(super) fn sizes(&self, tables: u32, per_bucket: u64) -> anyhow::Result<Sizes> {
        let Asking { cells, load, ratio, per_key } = *self;
        if !(load > 0.0 && load <= 1.0) {
            anyhow::bail!("--load must be above 0 and up to 1, such as 0.95, not {load}");
        }
        if !(ratio > 0.0 && ratio <= MOST) {
            anyhow::bail!("--ratio must be above 0 and up to {MOST}, such as 10, not {ratio}");
        }
        if per_key.get() as f64 > MOST {
            anyhow::bail!("--per-key must be at most {MOST}, not {per_key}");
        }
        let buckets_per_table = cells.get() / (u64::from(tables.max(1)) * per_bucket);
        let keys = cells.get() as f64 * load;
        let absent = keys * ratio;
        if buckets_per_table == 0 || absent < 1.0 {
            anyhow::bail!("--cells {cells} is too few: raise it, or --ratio");
        }
        if absent * per_key.get() as f64 > u64::MAX as f64 / 2.0 {
            anyhow::bail!("--cells {cells} is too many: lower it, or --ratio or --per-key");
        }
        let (keys, absent) = (keys.round() as u64, absent.round() as u64);
        Ok(Sizes { buckets_per_table, keys, absent, queries: absent * per_key.get() })
    }

    /// The words of a heading.
    pub(super) fn words(&self, sizes: &Sizes) -> String {
        format!(
            "{} at load {}, {} stored, A/S {}, {} for {} absent keys",
            counted(self.cells.get(), "cell"),
            self.load,
            grouped(sizes.keys),
            self.ratio,
            counted(sizes.queries, "query").replace("querys", "queries"),
            grouped(sizes.absent),
        )
    }
}

/// The flags of models that sample buckets.
#[derive(clap::Args)]
pub(super) struct Sampling {
    /// How many buckets to sample: the standard error falls with the root of it
    #[arg(long, default_value = "20000", value_parser = numbers::count::<NonZeroU64>)]
    samples: NonZeroU64,
    /// The random seed of the sample
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
}

impl Sampling {
    /// The number of samples, if they do not take minutes. `rate` is about the share of the queries that are wrong before
    /// anything is learned: each absent key is drawn, and each mistake is played.
    pub(super) fn samples(&self, sizes: &Sizes, rate: f64) -> anyhow::Result<u64> {
        let each = (sizes.absent as f64 + sizes.queries as f64 * rate) / sizes.buckets_per_table as f64;
        if self.samples.get() as f64 * each > MOST_SAMPLED {
            anyhow::bail!(
                "--samples {} with {each:.0} steps for each would take minutes: lower --samples, --ratio or --per-key, or raise --bits",
                self.samples
            );
        }
        Ok(self.samples.get())
    }
}
