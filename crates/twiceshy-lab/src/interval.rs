//! Confidence intervals for a number of trials that is fixed beforehand: of a proportion, a mean and a median. Pictures
//! show them; verdicts are decided by [wider ones](crate::statistics).

use crate::statistics::{Interval, median, quantile};

/// The z-score of a 95 % interval.
pub const Z95: f64 = 1.959_963_984_540_054;

/// The Wilson score interval of a probability, from `wins` in `games`: all p within `z` standard deviations *of p* from
/// the observed share. It stays within 0 and 1 and keeps its width if no game or every game was won, which the interval
/// from the share's own deviation does not. Without games it is (0, 1).
///
/// ```
/// use twiceshy_lab::interval::{Z95, wilson};
///
/// let (low, high) = wilson(0, 100, Z95);
/// assert!(low == 0.0 && (high - 0.037).abs() < 0.0005);
/// ```
pub fn wilson(wins: u64, games: u64, z: f64) -> (f64, f64) {
    if games == 0 {
        return (0.0, 1.0);
    }
    let n = games as f64;
    let share = wins as f64 / n;
    let spread = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let (centre, scale) = (share + z * z / (2.0 * n), 1.0 + z * z / n);
    // At the ends the difference is 0 up to rounding.
    let low = if wins == 0 { 0.0 } else { (centre - spread) / scale };
    let high = if wins >= games { 1.0 } else { (centre + spread) / scale };
    (low, high)
}

/// Student's 95 % interval of a mean. `None` with fewer than two values, or if all are equal: then they say nothing of
/// their spread. It ends at 0 if no value is negative.
///
/// ```
/// use twiceshy_lab::interval::student;
///
/// let (low, high) = student(&[1.0, 2.0, 3.0]).expect("three values");
/// assert!(low == 0.0 && (high - (2.0 + 4.3027 / 3f64.sqrt())).abs() < 1e-3);
/// ```
pub fn student(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    // Equal values differ from their mean by rounding.
    let is_spread = values.len() > 1 && values.iter().any(|value| *value != values[0]);
    if !is_spread || !squares.is_finite() {
        return None;
    }
    let half = quantile(values.len(), 0.05)? * (squares / (n - 1.0) / n).sqrt();
    let floor = if values.iter().all(|value| *value >= 0.0) { 0.0 } else { f64::NEG_INFINITY };
    Some(((mean - half).max(floor), mean + half))
}

/// The interval of a median between two of the values, by order statistics: it holds with at least 95 % for any law.
/// `None` with fewer than six values, between which no such interval exists, or if all are equal.
pub fn of_median(values: &[f64]) -> Option<(f64, f64)> {
    let Interval { low, high, .. } = median(values, 0.05);
    (low.is_finite() && values.iter().any(|value| *value != values[0])).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    #[test]
    fn the_ends_are_the_rates_that_lie_z_of_their_own_deviations_away() {
        for (wins, games) in [(1, 10), (5, 10), (9, 10), (37, 1_000), (999, 1_000)] {
            let (low, high) = wilson(wins, games, Z95);
            let share = wins as f64 / games as f64;
            assert!(low < share && share < high);
            for end in [low, high] {
                let deviation = (end * (1.0 - end) / games as f64).sqrt();
                assert!(((share - end).abs() / deviation - Z95).abs() < 1e-9, "{wins} of {games}: {end}");
            }
        }
    }

    #[test]
    fn no_wins_and_only_wins_leave_an_interval() {
        let (low, high) = wilson(0, 20, Z95);
        assert!(low == 0.0 && (0.16..0.17).contains(&high), "{high}");
        assert_eq!(wilson(20, 20, Z95), (1.0 - high, 1.0));
        assert_eq!(wilson(0, 0, Z95), (0.0, 1.0));
    }

    #[test]
    fn about_95_of_100_intervals_hold_the_truth() {
        let (mut rng, games, mut held) = (Rng::new(1), 200, 0);
        for _ in 0..4_000 {
            let wins = (0..games).filter(|_| rng.unit() < 0.1).count() as u64;
            let (low, high) = wilson(wins, games, Z95);
            held += u64::from((low..=high).contains(&0.1));
        }
        // The count is whole, so the interval is not exact: 0.95 within 0.01, plus 0.0035 for chance.
        assert!((3_700..=3_880).contains(&held), "{held}");
    }

    #[test]
    fn values_that_show_no_spread_have_no_interval() {
        assert_eq!((student(&[1.0]), student(&[]), student(&[0.1; 9])), (None, None, None));
        assert_eq!((of_median(&[1.0, 2.0, 3.0, 4.0, 5.0]), of_median(&[0.1; 9])), (None, None));
    }

    #[test]
    fn about_95_of_100_intervals_hold_the_mean_and_the_median() {
        let (mut rng, mut held) = (Rng::new(2), (0, 0));
        for _ in 0..4_000 {
            let values: Vec<f64> = (0..12).map(|_| rng.unit() + rng.unit()).collect();
            let holds = |interval: Option<(f64, f64)>| u32::from(interval.is_some_and(|(a, b)| (a..=b).contains(&1.0)));
            held = (held.0 + holds(student(&values)), held.1 + holds(of_median(&values)));
        }
        assert!((3_740..=3_860).contains(&held.0) && held.1 >= 3_780, "{held:?}");
    }
}
