//! A confidence sequence of a probability.

use super::Interval;

/// The logarithm of what a bet against the probability `chance` has won after `yes` and `no`: the mixture over all
/// probabilities, with Jeffreys' prior, against `chance` itself.
fn log_wealth(yes: f64, no: f64, chance: f64) -> f64 {
    let log_beta = |a: f64, b: f64| libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let likely = |count: f64, chance: f64| if count == 0.0 { 0.0 } else { count * chance.ln() };
    log_beta(yes + 0.5, no + 0.5) - log_beta(0.5, 0.5) - likely(yes, chance) - likely(no, 1.0 - chance)
}

/// A probability, from independent trials that ended with yes or no.
pub fn share(yes: u64, of: u64, error: f64) -> Interval {
    if of == 0 {
        return Interval { estimate: f64::NAN, low: 0.0, high: 1.0 };
    }
    let (yes, no) = (yes.min(of) as f64, of.saturating_sub(yes) as f64);
    let estimate = yes / of as f64;
    let refuted = |chance: f64| log_wealth(yes, no, chance) >= -error.ln();
    // The wealth falls towards the estimate and rises behind it.
    let end = |mut outside: f64| {
        let mut inside = estimate;
        if !refuted(outside) {
            return outside;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(inside, outside);
            if refuted(middle) { outside = middle } else { inside = middle }
        }
        outside
    };
    Interval { estimate, low: end(0.0), high: end(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::rng::Rng;

    #[test]
    fn a_probability_is_hardly_ever_outside_at_any_look() {
        for chance in [0.02, 0.5, 0.9] {
            let mut rng = Rng::new(3);
            let wrong: u32 = (0..400)
                .map(|_| {
                    let mut yes = 0;
                    let wrong = (1..=300).any(|games| {
                        yes += u64::from(rng.unit() < chance);
                        let interval = share(yes, games, 0.05);
                        !(interval.low..=interval.high).contains(&chance)
                    });
                    u32::from(wrong)
                })
                .sum();
            assert!(wrong <= 20 + 18, "{wrong} of 400 at {chance}");
        }
    }

    #[test]
    fn no_wins_and_only_wins_leave_an_interval() {
        let nothing = share(0, 100, 0.05);
        assert!(nothing.low == 0.0 && (0.05..0.08).contains(&nothing.high), "{nothing:?}");
        let all = share(100, 100, 0.05);
        assert!(all.high == 1.0 && (all.low - (1.0 - nothing.high)).abs() < 1e-9, "{all:?}");
        assert_eq!(share(0, 0, 0.05).high, 1.0);
    }
}
