//! Means over sampled buckets, and the few random numbers that the sampling models draw.

use crate::workload::rng::Rng;

/// A rate estimated by sampling buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean over the sampled buckets.
    pub rate: f64,
    /// Its standard error, from the spread of the samples; 0 for fewer than two samples.
    pub standard_error: f64,
}

impl Estimate {
    /// How many standard errors a number is above the estimate; infinite if the error is 0 and they differ.
    pub fn errors_below(&self, number: f64) -> f64 {
        if number == self.rate { 0.0 } else { (number - self.rate) / self.standard_error }
    }

    /// The estimate if there is nothing to sample.
    pub(super) const NOTHING: Self = Self { rate: 0.0, standard_error: 0.0 };
}

/// The mean of `samples` draws, times `scale`.
pub(super) fn mean(samples: u64, scale: f64, mut draw: impl FnMut() -> f64) -> Estimate {
    // Welford's recurrence: sums of squares would lose the digits of a spread that is small compared with the mean.
    let (mut mean, mut squares) = (0.0, 0.0);
    for number in 1..=samples {
        let value = draw();
        let off = value - mean;
        mean += off / number as f64;
        squares += off * (value - mean);
    }
    let error = if samples < 2 { 0.0 } else { (squares / (samples - 1) as f64 / samples as f64).sqrt() };
    Estimate { rate: mean * scale, standard_error: error * scale }
}

/// An exponential wait of mean 1.
pub(super) fn wait(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// A Poisson number: how many waits fit. Takes one more draw than the number.
pub(super) fn poisson(rng: &mut Rng, mean: f64) -> u64 {
    let mut count = 0;
    let mut time = wait(rng);
    while time < mean {
        count += 1;
        time += wait(rng);
    }
    count
}

/// A Poisson number that is not 0; the mean is above 0.
pub(super) fn positive_poisson(rng: &mut Rng, mean: f64) -> u64 {
    // The first arrival, given that it is in time; the others follow as usual.
    let first = -(rng.unit() * (-mean).exp_m1()).ln_1p();
    1 + poisson(rng, mean - first)
}

/// Draws a number with given weights, by their running sums; the last sum is above 0.
pub(super) fn pick(rng: &mut Rng, sums: &[f64]) -> usize {
    let total = sums.last().copied().unwrap_or(0.0);
    let at = rng.unit() * total;
    sums.partition_point(|sum| *sum <= at).min(sums.len().saturating_sub(1))
}

/// The running sums of weights.
pub(super) fn running_sums(weights: impl Iterator<Item = f64>) -> Vec<f64> {
    weights
        .scan(0.0, |sum, weight| {
            *sum += weight;
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of many draws is within four standard errors.
    fn assert_mean(expected: f64, draw: impl FnMut() -> f64) {
        let found = mean(100_000, 1.0, draw);
        assert!(found.errors_below(expected).abs() < 4.0, "{found:?} for {expected}");
    }

    #[test]
    fn drawn_numbers_have_the_moments_of_their_distributions() {
        for expected in [0.05, 0.4, 3.0, 40.0] {
            let rng = &mut Rng::new(1);
            assert_mean(expected, || poisson(rng, expected) as f64);
            assert_mean(expected * expected, || {
                let z = poisson(rng, expected) as f64;
                z * (z - 1.0)
            });
            let some = -f64::exp_m1(-expected);
            assert_mean(expected / some, || positive_poisson(rng, expected) as f64);
            assert_mean(expected * expected / some, || {
                let z = positive_poisson(rng, expected) as f64;
                z * (z - 1.0)
            });
        }
    }

    #[test]
    fn weights_decide_how_often_a_number_is_picked_and_weight_zero_never_is() {
        let sums = running_sums([0.0, 3.0, 0.0, 1.0, 0.0].into_iter());
        let rng = &mut Rng::new(2);
        let mut picked = [0u32; 5];
        (0..40_000).for_each(|_| picked[pick(rng, &sums)] += 1);
        assert_eq!((picked[0], picked[2], picked[4]), (0, 0, 0));
        assert!((f64::from(picked[1]) - 30_000.0).abs() < 4.0 * 7500f64.sqrt(), "{picked:?}");
    }

    #[test]
    fn the_standard_error_is_the_deviation_over_the_root_of_the_samples() {
        let mut values = [1.0, 2.0, 3.0, 6.0].into_iter();
        let found = mean(4, 10.0, || values.next().expect("four values"));
        assert_eq!(found.rate, 30.0);
        assert!((found.standard_error - 10.0 * (14.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        assert_eq!(mean(1, 1.0, || 5.0), Estimate { rate: 5.0, standard_error: 0.0 });
        assert_eq!(mean(0, 1.0, || 5.0), Estimate::NOTHING);
    }
}
