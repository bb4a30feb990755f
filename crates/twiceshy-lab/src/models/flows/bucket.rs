//! One occupied cell, the keys that collide with it, and how they move it on.

use super::FlowClass;
use crate::models::sampling::{pick, poisson, positive_poisson, running_sums, wait};
use crate::workload::rng::Rng;

/// Draws the colliding keys of a cell.
pub(super) struct Sampler<'a> {
    collision: &'a [f64],
    rates: Vec<f64>,
    /// Running sums of the shares.
    shares: Vec<f64>,
    /// Keys that collide under function 0, on average.
    first: f64,
    /// Keys that collide only under another function, on average.
    later: f64,
    /// Running sums of the probabilities that function 1, 2, … is the first under which such a key collides.
    first_of_later: Vec<f64>,
}

impl<'a> Sampler<'a> {
    pub(super) fn new(collision: &'a [f64], classes: &[FlowClass], keys_per_bucket: f64) -> Self {
        let mut free = 1.0;
        let firsts = collision.iter().skip(1).map(|kappa| {
            let chance = free * kappa;
            free *= 1.0 - kappa;
            chance
        });
        let first_of_later = running_sums(firsts);
        let kappa = collision.first().copied().unwrap_or(0.0);
        Self {
            collision,
            rates: classes.iter().map(|class| class.rate).collect(),
            shares: running_sums(classes.iter().map(|class| class.share)),
            first: keys_per_bucket * kappa,
            later: keys_per_bucket * (1.0 - kappa) * first_of_later.last().copied().unwrap_or(0.0),
            first_of_later,
        }
    }

    /// The probability that a key collides under function 0. Without that there is no false positive.
    pub(super) fn chance(&self) -> f64 {
        -(-self.first).exp_m1()
    }

    /// A cell with a collision under function 0.
    pub(super) fn bucket(&self, rng: &mut Rng) -> Bucket {
        let mut keys = Vec::new();
        for _ in 0..positive_poisson(rng, self.first) {
            keys.push(self.key(1, 1, rng));
        }
        for _ in 0..poisson(rng, self.later) {
            let function = 1 + pick(rng, &self.first_of_later);
            keys.push(self.key(1 << function, function + 1, rng));
        }
        let mut weights = vec![0.0; self.collision.len()];
        for key in &keys {
            let collides = weights.iter_mut().enumerate().filter(|(function, _)| key.collides(*function));
            collides.for_each(|(_, weight)| *weight += key.rate);
        }
        Bucket { keys, weights }
    }

    /// A key with given collisions under the functions before `open`, and random ones under the others.
    fn key(&self, given: u64, open: usize, rng: &mut Rng) -> Key {
        let chances = self.collision.iter().enumerate().skip(open);
        let under = chances.fold(given, |under, (function, kappa)| under | u64::from(rng.unit() < *kappa) << function);
        Key { under, rate: self.rates[pick(rng, &self.shares)] }
    }
}

/// A key and the functions under which it collides, one bit each.
struct Key {
    under: u64,
    rate: f64,
}

impl Key {
    fn collides(&self, function: usize) -> bool {
        self.under >> function & 1 == 1
    }
}

/// A cell and the keys that collide with it.
pub(super) struct Bucket {
    keys: Vec<Key>,
    /// For each function the sum of the rates of those that collide under it.
    weights: Vec<f64>,
}

impl Bucket {
    /// The false positives in the time in which a key of rate 1 is asked for `per_key` times, if that time is long.
    pub(super) fn in_the_long_run(&self, per_key: f64) -> f64 {
        let functions = self.weights.len() as f64;
        match self.weights.iter().position(|weight| *weight == 0.0) {
            Some(rest) => rest as f64,
            None => per_key * functions / self.weights.iter().map(|weight| 1.0 / weight).sum::<f64>(),
        }
    }

    /// The false positives in that time, simulated with exponential waits.
    pub(super) fn played(&self, per_key: f64, rng: &mut Rng) -> f64 {
        let (mut function, mut count, mut time) = (0, 0u64, 0.0);
        while self.weights[function] > 0.0 {
            time += wait(rng) / self.weights[function];
            if time > per_key {
                break;
            }
            count += 1;
            function = (function + 1) % self.weights.len();
        }
        count as f64
    }

    /// The false positives if each key is asked for in proportion to its rate, query by query.
    pub(super) fn with_fixed_sizes(&self, per_key: f64, rng: &mut Rng) -> f64 {
        let mut queries: Vec<(f64, &Key)> = Vec::new();
        for key in &self.keys {
            let size = per_key * key.rate;
            let size = size.floor() as u64 + u64::from(rng.unit() < size.fract());
            queries.extend((0..size).map(|_| (rng.unit(), key)));
        }
        queries.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        let (mut function, mut count) = (0, 0u64);
        for (_, key) in queries {
            if key.collides(function) {
                count += 1;
                function = (function + 1) % self.weights.len();
            }
        }
        count as f64
    }
}
