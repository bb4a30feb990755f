//! Student's intervals of means and of ratios of means, at the error that a look may use.

use super::Interval;
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// The sums of a sample of pairs that both intervals need.
struct Sums {
    count: f64,
    means: (f64, f64),
    /// Sums of squared deviations, and of their products.
    spread: (f64, f64),
    joint: f64,
}

impl Sums {
    fn of(pairs: &[(f64, f64)]) -> Sums {
        let count = pairs.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
        let means = (mean(|pair| pair.0), mean(|pair| pair.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(a, b)| of(a - means.0, b - means.1)).sum();
        Sums { count, means, spread: (sum(&|a, _| a * a), sum(&|_, b| b * b)), joint: sum(&|a, b| a * b) }
    }

    /// `true` if what has this mean and sum of squared deviations is 0 so often that its sum cannot be nearly normal.
    fn is_rare(&self, mean: f64, spread: f64) -> bool {
        let squares = mean * mean * (self.count - 1.0) / spread;
        squares < LEAST_EVENTS && squares * self.count < LEAST_IN_ALL
    }
}

/// How many standard errors a mean of `count` normal values is away from the truth with the probability `error`, on either
/// side: Student's t. `None` if nothing can be said.
pub(crate) fn quantile(count: usize, error: f64) -> Option<f64> {
    let freedom = count.checked_sub(2)? as f64 + 1.0;
    if count == 2 {
        // Cauchy's law: `inverse_cdf` is wrong here for errors below 1e-7.
        return Some(1.0 / (std::f64::consts::FRAC_PI_2 * error).tan()).filter(|quantile| quantile.is_finite());
    }
    let student = StudentsT::new(0.0, 1.0, freedom).ok()?;
    // From the lower tail, where small probabilities keep their digits.
    let quantile = -student.inverse_cdf((error / 2.0).clamp(0.0, 0.5));
    quantile.is_finite().then_some(quantile)
}

/// The largest n·(mean − hypothesis)² over the sum of squared deviations with which a hypothesis is not refuted.
fn limit(count: f64, error: f64) -> Option<f64> {
    Some(quantile(count as usize, error)?.powi(2) / (count - 1.0))
}

/// The mean of a quantity of which the values are independent draws, nearly normal.
///
/// If all values are equal, nothing is known: a normal sample never is like that, so the assumption fails. It fails too
/// for counts of rare events, which are 0 in some trials and not in others.
pub fn mean(values: &[f64], error: f64) -> Interval {
    let pairs: Vec<(f64, f64)> = values.iter().map(|value| (*value, 1.0)).collect();
    let sums = Sums::of(&pairs);
    let estimate = sums.means.0;
    let equal = sums.spread.0.is_nan() || sums.spread.0 <= ROUNDING * sums.count * estimate * estimate;
    let is_count = values.iter().all(|value| *value >= 0.0) && values.contains(&0.0);
    let rare = is_count && sums.is_rare(estimate, sums.spread.0);
    match limit(sums.count, error).filter(|_| !equal && !rare) {
        Some(limit) => {
            let half = (limit * sums.spread.0 / sums.count).sqrt();
            Interval { estimate, low: estimate - half, high: estimate + half }
        }
        None => Interval::unknown(estimate),
    }
}

/// A variance below this, beside the square of the mean, is that of equal values which were rounded.
const ROUNDING: f64 = 1e-20;

/// How many events a trial must have to be taken for nearly normal: the square of its mean over the standard deviation. For
/// such counts, intervals that promise an error of 1e-4 or 1e-5 are wrong up to 1.6 times as often; for a quarter of them up to
/// four times.
const LEAST_EVENTS: f64 = 9.0;

/// How many events all trials must have together, if one alone has fewer. The error is the same.
const LEAST_IN_ALL: f64 = 250.0;

/// The mean of the first over the mean of the second, from pairs; the pairs are independent, the two of a pair need not
/// be. Neither is ever below 0.
///
/// A ratio r is refuted if the mean of `first − r·second` is not 0 (E. C. Fieller's method). Nothing is known if that
/// difference has no spread, or if a value is 0 so often that it cannot be normal.
pub fn ratio(pairs: &[(f64, f64)], error: f64) -> Interval {
    let sums = Sums::of(pairs);
    let (top, bottom) = sums.means;
    let estimate = top / bottom;
    let unknown = Interval { estimate, low: 0.0, high: f64::INFINITY };
    // The spread of `first − estimate·second`, which is 0 up to rounding if the two are always in the same proportion.
    let rest = sums.spread.0 - 2.0 * estimate * sums.joint + estimate * estimate * sums.spread.1;
    let thin = sums.is_rare(top, sums.spread.0) || sums.is_rare(bottom, sums.spread.1);
    let degenerate = rest.is_nan() || rest <= 1e-9 * sums.count * top * top;
    let Some(limit) = limit(sums.count, error).filter(|_| !thin && !degenerate) else { return unknown };
    // The ratios r with a·r² − 2b·r + c < 0.
    let a = sums.count * bottom * bottom - limit * sums.spread.1;
    let b = sums.count * top * bottom - limit * sums.joint;
    let c = sums.count * top * top - limit * sums.spread.0;
    let root = (b * b - a * c).max(0.0).sqrt();
    if a <= 0.0 || !estimate.is_finite() {
        // The bottom may be 0: only a lower end can be known, where c is above 0.
        let low = if c > 0.0 && b > 0.0 { c / (b + root) } else { 0.0 };
        return Interval { low, ..unknown };
    }
    Interval { estimate, low: ((b - root) / a).max(0.0), high: (b + root) / a }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Looks;
    use crate::workload::rng::Rng;

    fn normal(rng: &mut Rng) -> f64 {
        let (radius, angle) = ((-2.0 * (1.0 - rng.unit()).ln()).sqrt(), std::f64::consts::TAU * rng.unit());
        radius * angle.cos()
    }

    /// The count of events in unit time at this rate.
    fn poisson(rng: &mut Rng, rate: f64) -> f64 {
        let (mut time, mut count) = (0.0, 0.0);
        loop {
            time -= (1.0 - rng.unit()).ln() / rate;
            if time > 1.0 {
                return count;
            }
            count += 1.0;
        }
    }

    /// How many of `runs` runs, which look at 10, 20, 40 and 80 trials, exclude the truth at any look.
    fn ever_wrong(runs: u32, draw: impl Fn(&mut Rng) -> f64, truth: f64, error: f64) -> u32 {
        let (mut rng, looks) = (Rng::new(5), Looks::from(10));
        let wrong = |rng: &mut Rng| {
            let mut values = Vec::new();
            [10, 20, 40, 80].into_iter().any(|trials| {
                values.resize_with(trials, || draw(rng));
                let interval = mean(&values, error * looks.share(trials));
                !(interval.low..=interval.high).contains(&truth)
            })
        };
        (0..runs).map(|_| u32::from(wrong(&mut rng))).sum()
    }

    #[test]
    fn the_truth_is_seldom_outside_at_any_look() {
        // 5 % of 2,000, and four standard deviations of chance. Looks share data, so it is less.
        let (least, most) = (50, 100 + 39);
        let normal = ever_wrong(2_000, |rng| 3.0 + normal(rng), 3.0, 0.05);
        assert!((least..=most).contains(&normal), "{normal}");
        let counts = ever_wrong(2_000, |rng| poisson(rng, 10.0), 10.0, 0.05);
        assert!((least..=most).contains(&counts), "{counts}");
        // Without a plan each look has the whole error.
        let mut rng = Rng::new(6);
        let careless = (0..2_000).filter(|_| {
            let mut values = Vec::new();
            [10, 20, 40, 80].into_iter().any(|trials| {
                values.resize_with(trials, || self::normal(&mut rng));
                let interval = mean(&values, 0.05);
                !(interval.low..=interval.high).contains(&0.0)
            })
        });
        assert!(careless.count() > 200);
    }

    #[test]
    fn small_errors_nearly_hold_for_the_smallest_counts_that_are_taken_for_normal() {
        // The error is one that verdicts use. Counts are skewed: see `LEAST_EVENTS` for what is allowed.
        let expected: f64 = 1.6 * 20.0;
        for rate in [LEAST_EVENTS, LEAST_IN_ALL / 40.0] {
            let wrong = ever_wrong(200_000, |rng| poisson(rng, rate), rate, 1e-4);
            assert!(f64::from(wrong) <= expected + 4.0 * expected.sqrt(), "{wrong} of 200,000 at {rate}");
        }
    }

    #[test]
    fn student_s_factors_are_those_of_the_tables() {
        for (count, error, factor) in [
            (2, 0.05, 12.7062),
            (3, 0.05, 4.3027),
            (11, 0.05, 2.2281),
            (31, 0.05, 2.0423),
            (121, 0.05, 1.9799),
            (10, 0.001, 4.7809),
        ] {
            let found = quantile(count, error).expect("a quantile");
            assert!((found - factor).abs() < 2e-4, "{count}, {error}: {found}");
        }
        // Far out the density of t falls like a power: P(|t| > x) = c x^(−ν).
        let [near, far] = [1e-12, 1e-15].map(|error| quantile(4, error).expect("a quantile"));
        assert!((far / near - 10.0).abs() < 1e-3, "{near}, {far}");
        let far = quantile(2, 1e-10).expect("a quantile");
        assert!((far * std::f64::consts::FRAC_PI_2 * 1e-10 - 1.0).abs() < 1e-9, "{far}");
        assert_eq!([1, 0].map(|count| quantile(count, 0.05)), [None; 2]);
    }

    #[test]
    fn intervals_shrink_with_the_trials_and_grow_with_the_certainty() {
        let mut rng = Rng::new(1);
        let values: Vec<f64> = (0..400).map(|_| normal(&mut rng)).collect();
        let width = |count: usize, error: f64| {
            let interval = mean(&values[..count], error);
            interval.high - interval.low
        };
        assert!(width(1, 1e-5).is_infinite(), "too few to know anything");
        assert!(width(20, 1e-5) < 3.5 && width(100, 1e-5) < 1.1 && width(400, 1e-5) < 0.5);
        assert!(width(100, 1e-5) > width(100, 0.05) && width(3, 1e-5) > 50.0);
        let same = mean(&[1.0; 50], 0.05);
        assert!(same.low.is_infinite(), "equal values say nothing about their spread");
        // Their sums are rounded.
        for (value, count) in [(0.1, 10), (1.1, 24), (1e-7, 33)] {
            assert!(mean(&vec![value; count], 0.05).low.is_infinite(), "{value}");
        }
        let rare = [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert!(mean(&rare, 1e-4).high.is_infinite(), "a rare event may be much more frequent");
        let seldom: Vec<f64> = (0..200).map(|_| poisson(&mut rng, 2.0)).collect();
        assert!(mean(&seldom, 1e-4).high < 2.6 && mean(&seldom[..100], 1e-4).high.is_infinite());
    }

    #[test]
    fn a_ratio_of_counts_is_found_and_a_bottom_near_zero_leaves_it_open() {
        let mut rng = Rng::new(2);
        let pairs: Vec<(f64, f64)> = (0..60).map(|_| (poisson(&mut rng, 30.0), poisson(&mut rng, 20.0))).collect();
        let interval = ratio(&pairs, 1e-5);
        assert!((interval.estimate - 1.5).abs() < 0.1, "{interval:?}");
        assert!((1.1..1.4).contains(&interval.low) && (1.6..2.1).contains(&interval.high), "{interval:?}");
        // Against a constant it is the interval of the mean.
        let constant: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.0, 10.0)).collect();
        let values: Vec<f64> = pairs.iter().map(|pair| pair.0 / 10.0).collect();
        let (by_ratio, by_mean) = (ratio(&constant, 1e-5), mean(&values, 1e-5));
        assert!((by_ratio.low - by_mean.low).abs() < 1e-9 && (by_ratio.high - by_mean.high).abs() < 1e-9);
        let thin: Vec<(f64, f64)> = (0..60).map(|_| (poisson(&mut rng, 30.0), poisson(&mut rng, 0.05))).collect();
        let rare: Vec<(f64, f64)> = (0..60).map(|_| (poisson(&mut rng, 2.0), poisson(&mut rng, 20.0))).collect();
        let same: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.0 * 0.1, pair.0)).collect();
        for degenerate in [&thin[..], &rare, &same, &[(0.0, 5.0); 20], &[(0.0, 0.0); 20], &[]] {
            let interval = ratio(degenerate, 0.05);
            assert_eq!((interval.low, interval.high), (0.0, f64::INFINITY), "{interval:?}");
        }
    }
}
