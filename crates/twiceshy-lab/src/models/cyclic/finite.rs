//! The same model for cells that may not have had enough queries to come to rest.

use super::CyclicModel;
use super::bucket::{Bucket, Law, Traffic};
use crate::models::counts::PositiveCount;
use crate::models::harmonic::Harmonic;
use crate::models::laplace::{self, Complex, Node};

impl CyclicModel {
    /// The rate of the same filter and queries as [`rate`](Self::rate), with fewer simplifications.
    ///
    /// - A cell that will come to rest counts only the false positives that happen within the queries. With 16
    ///   functions it may need 15 of them, and ten queries per key may not be enough.
    /// - A cell that cycles endlessly counts the effect of its start: it begins at function 0, not anywhere in the cycle.
    /// - The number of keys that collide is binomial. The Poisson approximation sees too many functions free of
    ///   collisions, and if every one of many functions must collide, that adds up: for 16 functions of 4 bits, `rate`
    ///   is lower by a tenth.
    ///
    /// With queries arriving as a Poisson process, the wait for the k-th false positive is a sum of k exponential waits
    /// with rates proportional to `Z_0 … Z_(k-1)`. The probability that it is over in time follows from its Laplace
    /// transform, which is a product over the functions. The remaining error is the start of the cycle if it is not
    /// over within the queries. Meant for at least one query per key; takes a few times as long as `rate`.
    pub fn rate_finite(&self, buckets_per_table: u64, absent_keys: u64, queries: u64) -> f64 {
        Traffic::new(buckets_per_table, absent_keys, queries).map_or(0.0, |traffic| {
            let largest_zeta = traffic.largest_zeta();
            let harmonic = self.harmonic(largest_zeta, Law::Binomial);
            let largest = self.most_colliding(largest_zeta, Law::Binomial);
            let waits = Waits::new(traffic.per_key, largest);
            self.average(&traffic, |zeta| {
                let bucket = self.bucket(zeta, Law::Binomial);
                bucket.before_rest_in_time(&waits)
                    + traffic.per_key * bucket.cycling(&harmonic)
                    + bucket.head_start(&harmonic)
            })
        })
    }
}

impl Bucket {
    /// The mean number of false positives in time of a cell that will come to rest; a cell that never does counts as 0.
    ///
    /// The k-th counts if functions 0 … k-1 collide, it is in time, and one of the later functions is free.
    fn before_rest_in_time(&self, waits: &Waits) -> f64 {
        let in_time = waits.in_time(&self.colliding);
        let mut none_free = 1.0;
        let mut sum = 0.0;
        for (count, chance) in self.each().rev().zip(in_time.iter().rev()) {
            sum += chance * (1.0 - none_free);
            none_free *= count.some();
        }
        sum
    }

    /// How many more false positives than its long-run rate a cell that cycles endlessly has, since it starts with
    /// function 0; a cell that comes to rest counts as 0.
    ///
    /// Let `a_i` be the mean wait under function i, `S` the sum of the waits and `Q` that of their squares. The renewal
    /// theorem gives `H·(S² + Q)/(2S²) - Σ (H - i)·a_i/S`: 0 if all waits are equal.
    fn head_start(&self, harmonic: &Harmonic) -> f64 {
        let functions = self.functions() as f64;
        let cycling: f64 = self.each().map(PositiveCount::some).product();
        let squares = harmonic.mean_square_share(&self.colliding);
        let mut before = 0.0;
        let steps_left: Vec<f64> = self
            .colliding
            .iter()
            .map(|(_, times)| {
                let times = *times as f64;
                let sum = times * (functions - before - (times - 1.0) / 2.0);
                before += times;
                sum
            })
            .collect();
        functions / 2.0 * (cycling + squares) - harmonic.mean_share(&self.colliding, &steps_left)
    }
}

/// When the false positives of a cell come, with `per_key` queries per absent key in a unit of time.
struct Waits {
    /// For each node of the inversion: its factor, divided by its point for a distribution function, and the transform
    /// of the wait with z = 1, 2, … colliding keys.
    nodes: Vec<(Complex, Vec<Complex>)>,
}

impl Waits {
    fn new(per_key: f64, largest: usize) -> Self {
        let transform = |point: Complex, z: usize| {
            let rate = per_key * z as f64;
            let shifted = Complex { re: 1.0 + point.re / rate, im: point.im / rate };
            shifted.inverse()
        };
        let node = |Node { point, factor }| {
            let waits = (1..=largest).map(|z| transform(point, z)).collect();
            (factor * point.inverse(), waits)
        };
        Self { nodes: laplace::nodes().into_iter().map(node).collect() }
    }

    /// For k = 1, 2, … the probability that the first k functions collide and the k-th false positive is in time.
    fn in_time(&self, groups: &[(PositiveCount, usize)]) -> Vec<f64> {
        let functions = groups.iter().map(|(_, times)| times).sum();
        let mut chances = vec![0.0; functions];
        for (start, waits) in &self.nodes {
            let steps = groups.iter().flat_map(|(count, times)| std::iter::repeat_n(mixed(count, waits), *times));
            let mut product = *start;
            for (chance, step) in chances.iter_mut().zip(steps) {
                product = product * step;
                *chance += product.re;
            }
        }
        chances
    }
}

/// The transform of the wait under a function with a random number of colliding keys.
fn mixed(count: &PositiveCount, waits: &[Complex]) -> Complex {
    let waits = &waits[count.first() - 1..count.last()];
    let start = Complex { re: 0.0, im: 0.0 };
    count
        .weights()
        .iter()
        .zip(waits)
        .fold(start, |sum, (weight, wait)| Complex { re: sum.re + weight * wait.re, im: sum.im + weight * wait.im })
}
