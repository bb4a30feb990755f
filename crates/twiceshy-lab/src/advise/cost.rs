//! What a filter costs, in one unit.

use serde::Serialize;

/// The weights of the costs. The unit is one read of the store, for each million queries.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Weights {
    /// The time of a store read in microseconds. The look-ups of the filter count as the reads that take as long.
    pub read_us: f64,
    /// A commit, in store reads.
    pub commit_cost: f64,
    /// A bit of memory a key, in halves of the wanted rate: 1 says that the user who asked for this rate would have
    /// paid one more bit a key to halve it, and no more than that.
    pub memory_cost: f64,
    /// A bit on disk, in bits of memory.
    pub disk_cost: f64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { read_us: 100.0, commit_cost: 10.0, memory_cost: 1.0, disk_cost: 1.0 / 32.0 }
    }
}

/// What a million queries cost, before it is weighed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) reads: f64,
    pub(super) commits: f64,
    /// 0 if it is not known.
    pub(super) lookups_per_second: f64,
    pub(super) bits_per_key: f64,
    pub(super) disk_bits_per_key: f64,
}

/// The parts of a cost, each in store reads per million queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Costs {
    /// Store reads, for mistakes and for learning.
    pub reads: f64,
    /// Commits, for learning.
    pub commits: f64,
    /// The filter's own look-ups.
    pub lookups: f64,
    /// The filter's memory.
    pub memory: f64,
    /// The store's file.
    pub disk: f64,
}

impl Costs {
    /// All of them.
    pub fn total(&self) -> f64 {
        self.reads + self.commits + self.lookups + self.memory + self.disk
    }
}

impl Weights {
    /// The cost of a million queries, if the wanted rate is `rate`.
    pub(super) fn costs(&self, rate: f64, used: &Use) -> Costs {
        let bit = self.bit(rate);
        Costs {
            reads: used.reads,
            commits: used.commits * self.commit_cost,
            lookups: if used.lookups_per_second > 0.0 { 1e12 / used.lookups_per_second / self.read_us } else { 0.0 },
            memory: used.bits_per_key * bit,
            disk: used.disk_bits_per_key * bit * self.disk_cost,
        }
    }

    /// The cost of a bit of memory for each key.
    pub(super) fn bit(&self, rate: f64) -> f64 {
        rate / 2.0 * 1e6 * self.memory_cost
    }

    /// Why the weights cannot be used.
    pub(super) fn wrong(&self) -> Option<String> {
        let positive = self.read_us > 0.0 && self.read_us.is_finite();
        if !positive {
            return Some(format!("the time of a store read must be above 0 µs, such as 100, not {}", self.read_us));
        }
        let others = [self.commit_cost, self.memory_cost, self.disk_cost];
        let wrong = others.into_iter().find(|weight| !(*weight >= 0.0 && weight.is_finite()));
        wrong.map(|weight| format!("a cost must be 0 or more, not {weight}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USED: Use =
        Use { reads: 2_000.0, commits: 30.0, lookups_per_second: 1e7, bits_per_key: 10.0, disk_bits_per_key: 640.0 };

    #[test]
    fn each_part_counts_by_its_weight() {
        let weights = Weights { read_us: 100.0, commit_cost: 10.0, memory_cost: 1.0, disk_cost: 0.25 };
        // Ten million look-ups a second: 0.1 s for a million, the time of 1,000 reads.
        let expected = 2_000.0 + 300.0 + 1_000.0 + (10.0 + 160.0) * 500.0;
        assert!((weights.costs(0.001, &USED).total() - expected).abs() < 1e-6);
        let free = Weights { memory_cost: 0.0, commit_cost: 0.0, ..weights };
        assert!((free.costs(0.001, &USED).total() - 3_000.0).abs() < 1e-6);
    }

    #[test]
    fn one_more_bit_is_as_good_as_half_the_mistakes() {
        let rate = 0.004;
        let weights = Weights { disk_cost: 0.0, ..Weights::default() };
        let plain = Use { reads: rate * 1e6, commits: 0.0, ..USED };
        let more = Use { reads: plain.reads / 2.0, bits_per_key: plain.bits_per_key + 1.0, ..plain };
        assert!((weights.costs(rate, &plain).total() - weights.costs(rate, &more).total()).abs() < 1e-6);
    }

    #[test]
    fn weights_that_mean_nothing_are_refused() {
        let usual = Weights::default();
        assert_eq!(usual.wrong(), None);
        for wrong in [
            Weights { read_us: 0.0, ..usual },
            Weights { read_us: f64::NAN, ..usual },
            Weights { commit_cost: -1.0, ..usual },
            Weights { memory_cost: f64::INFINITY, ..usual },
            Weights { disk_cost: f64::NAN, ..usual },
        ] {
            assert!(wrong.wrong().is_some(), "{wrong:?}");
        }
    }
}
