//! The number of keys, out of many, with a rare property: the positive part of a Poisson or binomial distribution.

/// Terms smaller than this, relative to the largest, are left out. It is far below the precision of an `f64`, because
/// the sums weigh the upper tail with powers of the value.
const NEGLIGIBLE: f64 = 1e-30;

/// The probabilities of the values 1, 2, … of a random count, from the first to the last non-negligible one.
///
/// They add up to the probability of a positive value with full relative precision, however small it is.
#[derive(Debug)]
pub(super) struct PositiveCount {
    none: f64,
    some: f64,
    first: usize,
    weights: Vec<f64>,
}

impl PositiveCount {
    /// A Poisson variable; the mean is above 0.
    pub(super) fn poisson(mean: f64) -> Self {
        let ratio = |value: f64| mean / (value + 1.0);
        Self::outward(mean.floor().max(1.0), ratio, -mean)
    }

    /// The number of successes in `trials` trials, at least one, with a probability above 0 and up to 1 each.
    pub(super) fn binomial(trials: f64, chance: f64) -> Self {
        let mode = ((trials + 1.0) * chance).floor().clamp(1.0, trials);
        let ratio = |value: f64| {
            if value < trials { (trials - value) * chance / ((value + 1.0) * (1.0 - chance)) } else { 0.0 }
        };
        Self::outward(mode, ratio, trials * (-chance).ln_1p())
    }

    /// Multiplies outward from the most likely value, where the terms are largest, and scales the sum at the end: no
    /// factorials, so no mean is too large. `ratio` leads from the term of a value to the next one's.
    fn outward(mode: f64, ratio: impl Fn(f64) -> f64, log_none: f64) -> Self {
        let mut weights = Vec::new();
        let (mut value, mut term) = (mode, 1.0);
        while value >= 1.0 && term >= NEGLIGIBLE {
            weights.push(term);
            value -= 1.0;
            term /= ratio(value);
        }
        let first = value as usize + 1;
        weights.reverse();
        (value, term) = (mode, ratio(mode));
        while term >= NEGLIGIBLE {
            weights.push(term);
            value += 1.0;
            term *= ratio(value);
        }
        let some = -log_none.exp_m1();
        let scale = some / weights.iter().sum::<f64>();
        weights.iter_mut().for_each(|weight| *weight *= scale);
        Self { none: log_none.exp(), some, first, weights }
    }

    /// The probability of 0.
    pub(super) fn none(&self) -> f64 {
        self.none
    }

    /// The probability of a positive value.
    pub(super) fn some(&self) -> f64 {
        self.some
    }

    /// The smallest value kept.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// The largest value kept. It does not shrink as the mean, the trials or their probability grow.
    pub(super) fn last(&self) -> usize {
        self.first + self.weights.len() - 1
    }

    /// The probabilities of `first()..=last()`.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Each value with its probability.
    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        (self.first..).map(|value| value as f64).zip(self.weights.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_moments(count: &PositiveCount, mean: f64, second_factorial: f64) {
        let first: f64 = count.iter().map(|(z, p)| z * p).sum();
        let second: f64 = count.iter().map(|(z, p)| z * (z - 1.0) * p).sum();
        assert!((first / mean - 1.0).abs() < 1e-12, "{first} for {mean}");
        assert!((second - second_factorial).abs() <= 1e-12 * second_factorial, "mean {mean}: {second}");
        assert!((count.none() + count.some() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn poisson_moments_are_those_of_the_distribution() {
        for mean in [1e-12, 0.003, 0.5, 1.0, 1.999, 7.3, 380.0, 20_000.5] {
            assert_moments(&PositiveCount::poisson(mean), mean, mean * mean);
        }
    }

    #[test]
    fn binomial_moments_are_those_of_the_distribution() {
        for trials in [1.0, 2.0, 3.0, 40.0, 500.0] {
            for chance in [1e-9, 0.01, 0.5, 0.9, 1.0] {
                let second = trials * (trials - 1.0) * chance * chance;
                assert_moments(&PositiveCount::binomial(trials, chance), trials * chance, second);
            }
        }
    }

    #[test]
    fn single_probabilities_are_the_textbook_ones() {
        let poisson = PositiveCount::poisson(2.5);
        let mut expected = (-2.5f64).exp();
        for (value, weight) in poisson.iter() {
            expected *= 2.5 / value;
            assert!((weight / expected - 1.0).abs() < 1e-12, "{value}");
        }
        let binomial = PositiveCount::binomial(3.0, 0.25);
        let expected = [27.0 / 64.0, 9.0 / 64.0, 1.0 / 64.0];
        assert_eq!((binomial.first(), binomial.last()), (1, 3));
        for (weight, expected) in binomial.weights().iter().zip(expected) {
            assert!((weight - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn the_last_value_never_shrinks_as_the_distribution_grows() {
        let last = |tenths: u32| PositiveCount::poisson(f64::from(tenths) / 10.0).last();
        assert!((1..2_000).all(|tenths| last(tenths) <= last(tenths + 1)));
        let last = |trials: u32| PositiveCount::binomial(f64::from(trials), 0.06).last();
        assert!((1..2_000).all(|trials| last(trials) <= last(trials + 1)));
    }
}
