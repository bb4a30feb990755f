//! The false-positive rate of the Cyclic adaptive cuckoo filter under uniformly repeated queries.

mod bucket;
mod finite;
mod params;
#[cfg(test)]
mod simulated;

pub use params::{EmptyCell, ModelError};

use bucket::{Bucket, Law, Traffic};

use super::harmonic::Harmonic;

/// The Markov-chain model of a Cyclic adaptive cuckoo filter with one cell to a bucket (003 sections 3.1 and 3.2).
///
/// A cell holds its key's fingerprint under one of H functions, and each false positive moves it on to the next,
/// cyclically. Of the ζ absent keys that share the cell's bucket, a Poisson number `Z_j` of mean `ζ·κ_j` collides under
/// function j, where `κ_j` is the probability that one fingerprint equals another. A cell that reaches a function with
/// `Z_j = 0` stays there; one without such a function cycles endlessly, with H false positives in every `Σ ζ/Z_j`
/// queries.
///
/// **Cost.** [`rate`](Self::rate) sums over the likely ζ, a few hundred, with a quadrature instead of the H-fold sum
/// over the Z: milliseconds, even for 17 functions and hundreds of absent keys per bucket. Its error against the
/// formula is below 1e-8.
///
/// **Departures from the print.** In the first sum of section 3.2 the factor `e^-μ` belongs outside the product and its
/// index is i + 1: the probability that functions 0 to i collide and the next does not. `κ_j` there is called the
/// fraction of the fingerprints that function j has; the mean that makes sense, and that gives section 3.1 as a special
/// case, is ζ divided by the number of those fingerprints.
///
/// **What the model leaves out.** A query that collides in two of its d buckets counts twice, though it is one false
/// positive: the prediction is too high by a share of half the rate times (d - 1)/d. The Z are not quite Poisson, and
/// every cell is assumed to have had enough queries; [`rate_finite`](Self::rate_finite) is better in both respects.
///
/// ```
/// use twiceshy_lab::models::{CyclicModel, EmptyCell};
///
/// // 4 tables of 4096 cells at 95 %, 10-bit fingerprints and one selector bit; ten absent keys for each stored one,
/// // each asked for about 100 times.
/// let model = CyclicModel::equal_ranges(4, 0.95, 10, 1, EmptyCell::Ignored)?;
/// let rate = model.rate(4096, 155_648, 15_564_800);
/// assert!((rate - 1.73e-4).abs() < 0.005e-4);
/// # Ok::<(), twiceshy_lab::models::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CyclicModel {
    tables: u32,
    load: f64,
    collision: Vec<f64>,
}

impl CyclicModel {
    /// The number of tables, d: the buckets that a query looks at.
    pub fn tables(&self) -> u32 {
        self.tables
    }

    /// The share of the cells that hold a key, ℓ.
    pub fn load(&self) -> f64 {
        self.load
    }

    /// For each function, the probability κ that two keys collide under it.
    pub fn collision(&self) -> &[f64] {
        &self.collision
    }

    /// The false-positive rate F(ζ, n) of a bucket that holds a key, shared by `absent_keys` ζ that are asked for
    /// `queries` n times in all, as 003 sections 3.1 and 3.2 give it.
    ///
    /// It is meant for n large enough that every cell which can come to rest has done so; for fewer queries it is too
    /// high, for very few even above 1. It is 0 if there is no key or no query.
    pub fn bucket_rate(&self, absent_keys: u64, queries: u64) -> f64 {
        if absent_keys == 0 || queries == 0 {
            return 0.0;
        }
        let zeta = absent_keys as f64;
        let bucket = self.bucket(zeta, Law::Poisson);
        let harmonic = self.harmonic(zeta, Law::Poisson);
        bucket.before_rest() / queries as f64 + bucket.cycling(&harmonic) / zeta
    }

    /// The false-positive rate F of the whole filter over `queries` N, drawn uniformly from `absent_keys` A, with
    /// `buckets_per_table` b buckets of one cell in each table (003 section 3.1, the last formula).
    ///
    /// The inner sum of that formula, over the number j of queries that a bucket gets, is taken in closed form: `j·F(ζ,
    /// j)` is a constant plus a multiple of j. At j = 0 it is printed as infinity times zero and counts as zero here.
    /// The rate is 0 if there is no bucket, key or query.
    pub fn rate(&self, buckets_per_table: u64, absent_keys: u64, queries: u64) -> f64 {
        Traffic::new(buckets_per_table, absent_keys, queries).map_or(0.0, |traffic| {
            let harmonic = self.harmonic(traffic.largest_zeta(), Law::Poisson);
            self.average(&traffic, |zeta| {
                let bucket = self.bucket(zeta, Law::Poisson);
                let asked_at_all = -(-zeta * traffic.per_key).exp_m1();
                asked_at_all * bucket.before_rest() + traffic.per_key * bucket.cycling(&harmonic)
            })
        })
    }

    /// The rate over all buckets, given the false positives of an occupied cell with ζ absent keys.
    fn average(&self, traffic: &Traffic, per_cell: impl Fn(f64) -> f64) -> f64 {
        let buckets = traffic.shared.iter();
        let per_cell: f64 = buckets.map(|(zeta, chance)| chance * per_cell(zeta)).sum();
        f64::from(self.tables) * self.load * per_cell * traffic.buckets / traffic.queries
    }

    fn bucket(&self, zeta: f64, law: Law) -> Bucket {
        let equal = self.collision.chunk_by(|left, right| left == right);
        Bucket { colliding: equal.map(|kappas| (law.count(zeta, kappas[0]), kappas.len())).collect() }
    }

    fn harmonic(&self, largest_zeta: f64, law: Law) -> Harmonic {
        Harmonic::new(self.collision.len(), self.most_colliding(largest_zeta, law))
    }

    /// The largest number of colliding keys that matters under any function.
    fn most_colliding(&self, largest_zeta: f64, law: Law) -> usize {
        let kappa = self.collision.iter().copied().fold(0.0, f64::max);
        law.count(largest_zeta, kappa).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::counts::PositiveCount;

    fn equal(fingerprint_bits: u32, selector_bits: u32) -> CyclicModel {
        CyclicModel::equal_ranges(4, 0.95, fingerprint_bits, selector_bits, EmptyCell::Ignored)
            .expect("the numbers describe a filter")
    }

    /// The rate of 16,384 cells with 100 queries for each absent key.
    fn rate(model: &CyclicModel, absent_per_stored: u64) -> f64 {
        let absent = 15_564 * absent_per_stored + absent_per_stored * 4 / 5;
        model.rate(4096, absent, 100 * absent)
    }

    #[test]
    fn two_known_points_come_out_to_the_digits_given() {
        assert_eq!(format!("{:.2e}", rate(&equal(10, 1), 10)), "1.73e-4");
        assert_eq!(format!("{:.2e}", rate(&equal(9, 2), 50)), "2.92e-4");
    }

    #[test]
    fn one_function_never_adapts_so_each_query_errs_at_the_static_rate() {
        let expected = 4.0 * 0.95 / 256.0;
        assert!((rate(&equal(8, 0), 10) / expected - 1.0).abs() < 1e-8);
        // In one bucket that holds a key, the probability is that of a single comparison.
        assert!((equal(8, 0).bucket_rate(40, 1000) * 256.0 - 1.0).abs() < 1e-8);
    }

    /// F(ζ, n) for two functions, term by term as printed in 003 section 3.2, with the misplaced factor corrected.
    fn printed(zeta: f64, queries: f64, kappa: [f64; 2]) -> f64 {
        let [first, second] = kappa.map(|kappa| zeta * kappa);
        let mut rate = (1.0 - (-first).exp()) * (-second).exp() / queries;
        let mut p = (-first).exp();
        for z in 1..80 {
            p *= first / f64::from(z);
            let mut q = (-second).exp();
            for y in 1..80 {
                q *= second / f64::from(y);
                rate += p * q * 2.0 / (zeta / f64::from(z) + zeta / f64::from(y));
            }
        }
        rate
    }

    #[test]
    fn a_bucket_with_two_functions_agrees_with_the_sum_as_printed() {
        for kappa in [[0.01, 0.01], [0.001, 0.05], [0.2, 0.03]] {
            let model = CyclicModel::new(4, 0.95, kappa.to_vec()).expect("a filter");
            for zeta in [1, 7, 60] {
                let expected = printed(zeta as f64, 500.0, kappa);
                let found = model.bucket_rate(zeta, 500);
                assert!((found / expected - 1.0).abs() < 1e-8, "{kappa:?}, {zeta}");
            }
        }
    }

    #[test]
    fn the_table_is_the_double_sum_over_buckets_and_their_queries() {
        // Few keys and queries, so that the sum over j = 1, 2, … can be written out.
        let model = equal(3, 1);
        let (buckets, absent, queries) = (100, 400, 1200);
        let mut expected = 0.0;
        for (zeta, chance) in PositiveCount::poisson(4.0).iter().take(40) {
            for (j, times) in PositiveCount::poisson(zeta * 3.0).iter() {
                let rate = model.bucket_rate(zeta as u64, j as u64);
                expected += 380.0 * chance * times * rate * j / 1200.0;
            }
        }
        let found = model.rate(buckets, absent, queries);
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} for {expected}");
    }

    #[test]
    fn from_two_functions_to_seventeen_repetition_does_not_raise_the_rate() {
        for cell_bits in [8, 12, 16] {
            for selector_bits in [1, 4] {
                let equal = equal(cell_bits - selector_bits, selector_bits);
                let unequal = CyclicModel::unequal_ranges(4, 0.95, cell_bits, selector_bits, 3, EmptyCell::Reserved);
                for model in [equal, unequal.expect("a filter")] {
                    let absent = 100 * 15_565;
                    let once = model.rate(4096, absent, 10 * absent);
                    let often = model.rate(4096, absent, 1000 * absent);
                    assert!(0.0 < often && once < 1.0, "{model:?}");
                    assert!(often <= once * (1.0 + 1e-12), "{model:?}");
                }
            }
        }
    }

    #[test]
    fn without_buckets_keys_or_queries_there_is_no_false_positive() {
        let model = equal(8, 2);
        for (buckets, absent, queries) in [(0, 10, 10), (10, 0, 10), (10, 10, 0)] {
            assert_eq!(model.rate(buckets, absent, queries), 0.0);
            assert_eq!(model.rate_finite(buckets, absent, queries), 0.0);
        }
        assert_eq!(model.bucket_rate(0, 5), 0.0);
        assert_eq!(model.bucket_rate(5, 0), 0.0);
    }
}
