//! Intervals of a median.

use super::Interval;

/// The median of any quantity of which the values are independent draws.
///
/// If m is the median, a value lies below it with a probability of at most a half, and above it likewise. So the ends are
/// values of the sample (order statistics): those that too many lie beyond.
pub fn median(values: &[f64], error: f64) -> Interval {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    if count == 0 {
        return Interval::unknown(f64::NAN);
    }
    let estimate = f64::midpoint(sorted[(count - 1) / 2], sorted[count / 2]);
    match rank(count, error) {
        Some(rank) => Interval { estimate, low: sorted[rank], high: sorted[count - 1 - rank] },
        None => Interval::unknown(estimate),
    }
}

/// The most values that may lie beyond either end of the interval. `None` if even the whole sample misses the median too often.
///
/// The true median is below the value of rank r only if at most r values are below it: a binomial probability.
fn rank(count: usize, error: f64) -> Option<usize> {
    // Logarithms, since 2^-count may be too small for a number.
    let (mut log_term, mut missed, mut rank) = (-(count as f64) * std::f64::consts::LN_2, 0.0, None);
    for beyond in 0..count.div_ceil(2) {
        missed += log_term.exp();
        if missed > error / 2.0 {
            break;
        }
        rank = Some(beyond);
        log_term += ((count - beyond) as f64 / (beyond + 1) as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::Looks;
    use crate::workload::rng::Rng;

    #[test]
    fn the_median_of_a_heavy_tail_is_seldom_outside_at_any_look() {
        // 1/u: its mean is infinite, its median is 2.
        let (mut rng, looks) = (Rng::new(4), Looks::from(10));
        let wrong: u32 = (0..2_000)
            .map(|_| {
                let mut values = Vec::new();
                let wrong = [10, 20, 40, 80].into_iter().any(|trials| {
                    values.resize_with(trials, || 1.0 / (1.0 - rng.unit()));
                    let interval = median(&values, 0.05 * looks.share(trials));
                    !(interval.low..=interval.high).contains(&2.0)
                });
                u32::from(wrong)
            })
            .sum();
        assert!((30..=100 + 39).contains(&wrong), "{wrong} of 2,000");
    }

    #[test]
    fn the_ranks_are_those_of_the_tables() {
        let ends = |count: usize| rank(count, 0.05).map(|rank| (rank + 1, count - rank));
        assert_eq!([5, 6, 10, 24, 40].map(ends), [None, Some((1, 6)), Some((2, 9)), Some((7, 18)), Some((14, 27))]);
        assert_eq!((rank(0, 0.05), rank(16, 1e-5), rank(18, 1e-5)), (None, None, Some(0)));
        assert!((9_600..9_700).contains(&rank(20_000, 1e-6).expect("many")), "no underflow");
        assert_eq!(rank(3, 2.0), Some(1), "never beyond the middle");
    }

    #[test]
    fn few_values_tell_nothing_and_more_narrow_the_median() {
        let mut rng = Rng::new(8);
        let values: Vec<f64> = (0..400).map(|_| rng.unit()).collect();
        assert!(median(&values[..12], 1e-5).high.is_infinite());
        let some = median(&values[..40], 1e-5);
        let more = median(&values, 1e-5);
        assert!(some.low > 0.0 && some.high < 1.0 && more.low > some.low && more.high < some.high, "{some:?} {more:?}");
        assert!(more.low < 0.5 && more.high > 0.5 && more.high - more.low < 0.3, "{more:?}");
        let equal = median(&[2.0; 40], 1e-5);
        assert_eq!((equal.low, equal.high), (2.0, 2.0), "no assumption is made about the spread");
        assert!(median(&[], 0.05).estimate.is_nan());
    }
}
