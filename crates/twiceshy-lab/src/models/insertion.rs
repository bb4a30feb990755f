//! What 002 proves about insertions: Theorem 1 for two tables of single cells, and Lemma 2 for partial-key filters.
//!
//! 002 gives no formula for more tables or cells, or for breadth-first search. For random walks in d tables of single
//! cells, the simple assumption that every cell is full with probability α independently of the others gives α^d/(1 −
//! α^(d−1)) moves at load α, and 0.45 per insertion on the way to 95 % of four tables. Real walks take 0.95
//! (docs/measurements.md): cells on the path of an earlier walk are full more often. We know no simple model that does
//! better, so there is none here.

/// Numbers outside the range of Theorem 1 or Lemma 2.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InsertionError {
    /// A slack for which the theorem proves nothing.
    #[error("the slack must be a finite number above 0, such as 0.1 for a load of 1/2.1, not {0}")]
    Slack(f64),
    /// No key.
    #[error("the number of keys must be at least 1, not 0")]
    NoKey,
    /// No bucket or cell.
    #[error("the buckets and the cells of a bucket must each be at least 1")]
    NoBucket,
}

/// The bounds of 002, Theorem 1, for a table T of two halves with single cells that holds n keys at load 1/(2 + δ) or less.
///
/// They bound the steps of Algorithm 2, [`Insertion::Alternating`](twiceshy::cuckoo::Insertion). The paper calls the
/// first *a very loose bound*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alternating {
    slack: f64,
    keys: f64,
}

impl Alternating {
    /// δ, and the keys n. The table has (2 + δ)·n cells.
    pub fn new(slack: f64, keys: u64) -> Result<Self, InsertionError> {
        if !(slack > 0.0 && slack.is_finite()) {
            return Err(InsertionError::Slack(slack));
        }
        if keys == 0 {
            return Err(InsertionError::NoKey);
        }
        Ok(Self { slack, keys: keys as f64 })
    }

    fn cells(&self) -> f64 {
        (2.0 + self.slack) * self.keys
    }

    /// 1 + δ/2.
    fn base(&self) -> f64 {
        1.0 + self.slack / 2.0
    }

    /// `Max = ⌈6·log_{1+δ/2} |T|⌉`, the steps after which an insertion gives up and the table is re-hashed.
    pub fn most_steps(&self) -> u64 {
        (6.0 * self.cells().ln() / self.base().ln()).ceil() as u64
    }

    /// The probability that k steps do not suffice although there is no bad configuration (inequality 3): at most `2·(1
    /// + δ/2)^(1 − k/3)`, and 1.
    pub fn survival(&self, steps: u64) -> f64 {
        (2.0 * self.base().powf(1.0 - steps as f64 / 3.0)).min(1.0)
    }

    /// The probability of a bad configuration, two cycles that both cells of the key lead to: at most `2/(|T|·n)·Σ_{v ≥
    /// 3} v³·(1 + δ/2)^−v`, and 1.
    pub fn bad_configuration(&self) -> f64 {
        let x = 1.0 / self.base();
        // Σ v³x^v over all v, less the first two terms.
        let sum = x * (1.0 + 4.0 * x + x * x) / (1.0 - x).powi(4) - x - 8.0 * x * x;
        (2.0 / (self.cells() * self.keys) * sum).min(1.0)
    }

    /// An upper bound of the mean number of steps: the sum of the probabilities of k or more steps, k = 1 to `Max`.
    ///
    /// The paper prints `1 + 2·Σ_{k ≥ 0} (1 + δ/2)^(−k/3)` and a term that vanishes. That omits the term of k = 2, for
    /// which the exponent is positive; here every [`survival`](Self::survival) is used as it is, at most 1.
    pub fn mean_steps(&self) -> f64 {
        let (most, log) = (self.most_steps() as f64, self.base().ln());
        // Up to here the bound is 1; from here on it falls by the same factor with every step.
        let certain = (3.0 * (1.0 + std::f64::consts::LN_2 / log)).floor().min(most);
        let geometric = (-(most - certain) * log / 3.0).exp_m1() / (-log / 3.0).exp_m1();
        certain + 2.0 * (log * (1.0 - (certain + 1.0) / 3.0)).exp() * geometric + most * self.bad_configuration()
    }

    /// An upper bound of the probability that an insertion ends in a re-hash: a bad configuration, or `Max` steps
    /// without one.
    pub fn rehash(&self) -> f64 {
        (self.bad_configuration() + self.survival(self.most_steps())).min(1.0)
    }
}

/// The expected number of groups of 2b + 1 keys that share bucket and fingerprint in a partial-key filter of two
/// tables, and so cannot all be stored (002, Lemma 2): `C(n, 2b + 1)·(2/(2^f·m))^(2b)`.
///
/// `keys` n, `buckets` m in all, `bits` f of a fingerprint, `cells` b of a bucket. It is below 1 if fingerprints have
/// at least about log₂(n)/2b bits.
pub fn overfull_groups(keys: u64, buckets: u64, bits: u32, cells: u32) -> Result<f64, InsertionError> {
    if keys == 0 {
        return Err(InsertionError::NoKey);
    }
    if buckets == 0 || cells == 0 {
        return Err(InsertionError::NoBucket);
    }
    let group = 2 * u64::from(cells) + 1;
    if group > keys {
        return Ok(0.0);
    }
    // C(n, g) as a product, in logarithms: it may have thousands of digits.
    let ways: f64 = (0..group).map(|i| ((keys - i) as f64 / (i + 1) as f64).ln()).sum();
    let alike = (2.0 / buckets as f64).ln() - f64::from(bits) * std::f64::consts::LN_2;
    Ok((ways + (group - 1) as f64 * alike).exp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    fn bounds(slack: f64, keys: u64) -> Alternating {
        Alternating::new(slack, keys).expect("a possible table")
    }

    #[test]
    fn the_bounds_are_those_of_the_theorem_written_out() {
        // δ = 2: base 2, so |T| = 4n and everything is a power of two.
        let table = bounds(2.0, 1024);
        assert_eq!(table.most_steps(), 6 * 12);
        assert_eq!(table.survival(9), 2.0 / 4.0);
        assert_eq!(table.survival(3), 1.0);
        let sum: f64 = (3..200).map(|v| f64::from(v).powi(3) / f64::from(v).exp2()).sum();
        assert!((table.bad_configuration() / (2.0 * sum / (4096.0 * 1024.0)) - 1.0).abs() < 1e-12);
        for table in [table, bounds(0.1, 1000), bounds(50.0, 1000)] {
            let chances = (1..=table.most_steps()).map(|steps| table.survival(steps) + table.bad_configuration());
            assert!((table.mean_steps() / chances.sum::<f64>() - 1.0).abs() < 1e-9, "{table:?}");
        }
        assert!(table.rehash() < 1e-4 && table.rehash() >= table.bad_configuration());
    }

    /// The steps of Algorithm 2 for each key of a table that is filled up to n keys at load 1/(2 + δ), by simulation.
    fn played(slack: f64, keys: u64, seed: u64) -> Vec<u64> {
        let half = ((2.0 + slack) * keys as f64 / 2.0) as u64;
        let rng = &mut Rng::new(seed);
        let mut table: Vec<Option<[u64; 2]>> = vec![None; 2 * half as usize];
        let most = bounds(slack, keys).most_steps();
        let insert = |_| {
            let mut hold = [rng.below(half), half + rng.below(half)];
            if table[hold[1] as usize].is_none() {
                table[hold[1] as usize] = Some(hold);
                return 0;
            }
            let mut index = hold[0];
            for step in 1..=most {
                match table[index as usize].replace(hold) {
                    None => return step,
                    Some(displaced) => hold = displaced,
                }
                index = if index == hold[0] { hold[1] } else { hold[0] };
            }
            most
        };
        (0..keys).map(insert).collect()
    }

    #[test]
    fn simulated_insertions_stay_within_the_bounds() {
        for (slack, keys) in [(0.2, 20_000), (1.0, 20_000)] {
            let (steps, bounds) = (played(slack, keys, 1), bounds(slack, keys));
            let share = |least: u64| steps.iter().filter(|steps| **steps >= least).count() as f64 / keys as f64;
            assert!(share(2) > 0.0, "nothing was displaced");
            assert!((1..bounds.most_steps()).all(|least| share(least) <= bounds.survival(least)));
            let mean = steps.iter().sum::<u64>() as f64 / keys as f64;
            assert!(mean <= bounds.mean_steps() && mean > 0.1, "{mean}, {}", bounds.mean_steps());
        }
    }

    #[test]
    fn groups_that_share_bucket_and_fingerprint_are_counted_as_in_the_lemma() {
        // Three keys, single cells: C(3, 3)·(2/(2^2·8))^2.
        let expected = (2.0f64 / 32.0).powi(2);
        assert!((overfull_groups(3, 8, 2, 1).expect("a filter") / expected - 1.0).abs() < 1e-12);
        assert_eq!(overfull_groups(8, 2, 2, 4), Ok(0.0));
        // 2^20 keys in buckets of four at 95 %: never with 8 bits, always with none.
        let groups = |bits| overfull_groups(1 << 20, (1 << 18) * 20 / 19, bits, 4).expect("a filter");
        assert!(groups(8) < 1e-11 && groups(0) > 1e3, "{}, {}", groups(8), groups(0));
    }

    #[test]
    fn numbers_outside_the_theorem_are_refused() {
        for slack in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Alternating::new(slack, 10), Err(InsertionError::Slack(_))));
        }
        assert_eq!(Alternating::new(1.0, 0), Err(InsertionError::NoKey));
        assert_eq!(overfull_groups(0, 1, 1, 1), Err(InsertionError::NoKey));
        assert_eq!(overfull_groups(9, 0, 1, 1), Err(InsertionError::NoBucket));
        assert_eq!(overfull_groups(9, 1, 1, 0), Err(InsertionError::NoBucket));
    }
}
