//! The mean of a few trials, and an interval around it.

/// The number of trials of every measurement, each under another hash key.
pub(super) const TRIALS: usize = 5;

/// The 97.5 % points of Student's t by the number of trials less one.
const T975: [f64; TRIALS] = [f64::INFINITY, 12.706, 4.303, 3.182, 2.776];

/// A mean with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The standard deviation of one trial.
    pub(super) deviation: f64,
}

impl Mean {
    /// Student's interval: it assumes nothing about how a trial's value comes about, so it holds where a few popular
    /// keys decide a trial.
    pub(super) fn of(values: &[f64]) -> Mean {
        let n = values.len().max(1) as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (n - 1.0).max(1.0)).sqrt();
        let t = T975.get(values.len().saturating_sub(1)).copied().unwrap_or(T975[TRIALS - 1]);
        let half = if values.len() < 2 { f64::INFINITY } else { t * deviation / n.sqrt() };
        Mean { mean, low: (mean - half).max(0.0), high: mean + half, deviation }
    }

    /// A value that is known without trials.
    pub(super) fn exactly(value: f64, deviation: f64) -> Mean {
        Mean { mean: value, low: value, high: value, deviation }
    }

    /// `true` if the whole interval is at most this, `false` if none of it is.
    pub(super) fn is_at_most(&self, limit: f64) -> Option<bool> {
        if self.high <= limit {
            Some(true)
        } else if self.low > limit {
            Some(false)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    #[test]
    fn about_95_of_100_intervals_hold_the_mean() {
        let (mut rng, mut held) = (Rng::new(5), 0);
        for _ in 0..4_000 {
            // About normal: sums of uniform numbers.
            let values: Vec<f64> = (0..TRIALS).map(|_| (0..12).map(|_| rng.unit()).sum::<f64>()).collect();
            let mean = Mean::of(&values);
            held += u64::from((mean.low..=mean.high).contains(&6.0));
        }
        assert!((3_740..=3_860).contains(&held), "{held}");
    }

    #[test]
    fn one_trial_says_nothing_about_the_others() {
        assert_eq!(Mean::of(&[0.5]).is_at_most(0.9), None);
        assert_eq!(Mean::of(&[0.5, 0.5, 0.5]).is_at_most(0.5), Some(true));
        assert_eq!(Mean::of(&[0.5, 0.5, 0.5]).is_at_most(0.4), Some(false));
        assert_eq!(Mean::of(&[0.1, 0.9]).is_at_most(0.6), None);
    }
}
