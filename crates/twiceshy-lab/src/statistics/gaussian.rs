//! Confidence sequences of means and of ratios of means, under an unknown variance.

use super::Interval;

/// The prior precision of the effect (the distance from the hypothesis in standard deviations). It decides at which
/// number of trials the intervals are narrowest, not whether they are valid; with a quarter they
/// say something from about eight trials on, for errors of about 1e-5.
const PRECISION: f64 = 0.25;

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
}

/// The largest n·(mean − hypothesis)² over the sum of squared deviations with which a hypothesis is not refuted.
///
/// With V = Σ(x − x̄)² and D = n(x̄ − μ)², the martingale for the hypothesis μ is √κ·((V + D)/(V + κD))^(n/2), where κ =
/// c/(n + c) and c is the precision of the prior. `None` if no hypothesis can be refuted yet.
fn limit(count: f64, error: f64) -> Option<f64> {
    let kept = PRECISION / (count + PRECISION);
    let growth = (-(kept.ln() + 2.0 * error.ln()) / count).exp();
    (growth * kept < 1.0).then(|| (growth - 1.0) / (1.0 - growth * kept))
}

/// The mean of a quantity of which the values are independent draws.
///
/// If all values are equal, nothing is known: a normal sample never is like that, so the assumption fails.
pub fn mean(values: &[f64], error: f64) -> Interval {
    let pairs: Vec<(f64, f64)> = values.iter().map(|value| (*value, 1.0)).collect();
    let sums = Sums::of(&pairs);
    let estimate = sums.means.0;
    match limit(sums.count, error) {
        Some(limit) if sums.spread.0 > 0.0 => {
            let half = (limit * sums.spread.0 / sums.count).sqrt();
            Interval { estimate, low: estimate - half, high: estimate + half }
        }
        _ => Interval::unknown(estimate),
    }
}

/// How many standard deviations a mean must be above 0 to be taken for nearly normal: those of a count of about two
/// events. With a quarter of an event a trial, intervals that promise an error of 1e-4 were wrong 8 times in 100.
const LEAST_EVENTS: f64 = 1.5;

/// The mean of the first over the mean of the second, from pairs; the pairs are independent, the two of a pair need not
/// be. Neither is ever below 0.
///
/// A ratio r is refuted if the mean of `first − r·second` is not 0 (E. C. Fieller's method, with the confidence sequence
/// of [`mean`]). Nothing is known if that difference has no spread, or if a value is 0 so often that it cannot be normal.
pub fn ratio(pairs: &[(f64, f64)], error: f64) -> Interval {
    let sums = Sums::of(pairs);
    let (top, bottom) = sums.means;
    let estimate = top / bottom;
    let unknown = Interval { estimate, low: 0.0, high: f64::INFINITY };
    // The spread of `first − estimate·second`, which is 0 up to rounding if the two are always in the same proportion.
    let rest = sums.spread.0 - 2.0 * estimate * sums.joint + estimate * estimate * sums.spread.1;
    let is_rare = |mean: f64, spread: f64| mean < LEAST_EVENTS * (spread / (sums.count - 1.0)).sqrt();
    let thin = is_rare(top, sums.spread.0) || is_rare(bottom, sums.spread.1);
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

    /// How many of 1,000 sequences exclude the truth at any look from 2 to 200 trials.
    fn ever_wrong(draw: impl Fn(&mut Rng) -> f64, truth: f64, error: f64) -> u32 {
        let mut rng = Rng::new(5);
        (0..1_000)
            .map(|_| {
                let mut values = Vec::new();
                let wrong = (0..200).any(|_| {
                    values.push(draw(&mut rng));
                    let interval = mean(&values, error);
                    !(interval.low..=interval.high).contains(&truth)
                });
                u32::from(wrong)
            })
            .sum()
    }

    #[test]
    fn the_truth_is_hardly_ever_outside_at_any_look() {
        // 5 % of 1,000, and four standard deviations of chance.
        let most = 50 + 28;
        let normal = ever_wrong(|rng| 3.0 + normal(rng), 3.0, 0.05);
        assert!((1..=most).contains(&normal), "{normal}");
        let counts = ever_wrong(|rng| poisson(rng, 10.0), 10.0, 0.05);
        assert!(counts <= most, "{counts}");
        // An ordinary interval with as many looks is wrong much more often.
        let mut rng = Rng::new(6);
        let naive: u32 = (0..1_000)
            .map(|_| {
                let (mut sum, mut squares) = (0.0, 0.0);
                let wrong = (1..=200).any(|count| {
                    let value = self::normal(&mut rng);
                    (sum, squares) = (sum + value, squares + value * value);
                    let count = f64::from(count);
                    let variance = (squares - sum * sum / count) / (count - 1.0);
                    count > 2.0 && (sum / count).abs() > 2.0 * (variance / count).sqrt()
                });
                u32::from(wrong)
            })
            .sum();
        assert!(naive > 300, "{naive}");
    }

    #[test]
    fn intervals_shrink_with_the_trials_and_grow_with_the_certainty() {
        let mut rng = Rng::new(1);
        let values: Vec<f64> = (0..400).map(|_| normal(&mut rng)).collect();
        let width = |count: usize, error: f64| {
            let interval = mean(&values[..count], error);
            interval.high - interval.low
        };
        assert!(width(5, 1e-5).is_infinite(), "too few to know anything");
        assert!(width(20, 1e-5) < 4.5 && width(100, 1e-5) < 1.3 && width(400, 1e-5) < 0.6);
        assert!(width(100, 1e-5) > width(100, 0.05));
        let same = mean(&[1.0; 50], 0.05);
        assert!(same.low.is_infinite(), "equal values say nothing about their spread");
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
        let rare: Vec<(f64, f64)> = (0..60).map(|_| (poisson(&mut rng, 0.25), poisson(&mut rng, 20.0))).collect();
        let same: Vec<(f64, f64)> = pairs.iter().map(|pair| (pair.0 * 0.1, pair.0)).collect();
        for degenerate in [&thin[..], &rare, &same, &[(0.0, 5.0); 20], &[(0.0, 0.0); 20], &[]] {
            let interval = ratio(degenerate, 0.05);
            assert_eq!((interval.low, interval.high), (0.0, f64::INFINITY), "{interval:?}");
        }
    }
}
