//! Confidence intervals of a proportion.

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
}
