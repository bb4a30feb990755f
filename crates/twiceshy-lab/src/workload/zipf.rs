//! Zipf's law over a finite number of ranks, drawn in constant memory.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use super::rng::Rng;

/// The exponent of a Zipf law: finite and above zero.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Exponent(f64);

impl Exponent {
    /// Accepts any finite number above zero, including 1 and numbers below 1.
    pub fn new(exponent: f64) -> Result<Self, ExponentError> {
        if exponent.is_finite() && exponent > 0.0 {
            Ok(Self(exponent))
        } else {
            Err(ExponentError { given: exponent.to_string() })
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromStr for Exponent {
    type Err = ExponentError;

    fn from_str(text: &str) -> Result<Self, ExponentError> {
        text.parse()
            .ok()
            .and_then(|number| Self::new(number).ok())
            .ok_or_else(|| ExponentError { given: text.to_owned() })
    }
}

impl fmt::Display for Exponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An invalid exponent of a Zipf law.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a Zipf exponent must be a finite number above 0, such as 0.8 or 1.2, not `{given}`; for no skew use `uniform`"
)]
pub struct ExponentError {
    given: String,
}

/// Draws rank `k` of `1..=ranks` with probability proportional to `k^-exponent`.
///
/// Rejection-inversion (Hörmann and Derflinger, 1996): invert the integral of `x^-exponent`, round to the nearest rank,
/// and accept unless the point is outside the rank's bar, which happens less than once in twenty draws. There is no
/// table, so memory is constant for any number of ranks. The logarithms come from `libm` instead of the platform, so a
/// seed gives the same ranks everywhere. Above 2^53 ranks, neighbours are no longer distinct, as in `f64`.
///
/// ```
/// use std::num::NonZeroU64;
/// use twiceshy_lab::workload::{rng::Rng, zipf::{Exponent, Zipf}};
///
/// let law = Zipf::new(NonZeroU64::new(1_000_000_000).unwrap(), Exponent::new(1.2)?);
/// let mut rng = Rng::new(1);
/// let ones = (0..1000).filter(|_| law.rank(&mut rng) == 1).count();
/// assert!((100..300).contains(&ones), "the first rank has about 18 % of the queries");
/// # Ok::<(), twiceshy_lab::workload::zipf::ExponentError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Zipf {
    ranks: u64,
    curve: Curve,
    lowest: f64,
    highest: f64,
    sure: f64,
}

impl Zipf {
    /// The law over `1..=ranks`.
    pub fn new(ranks: NonZeroU64, exponent: Exponent) -> Self {
        let curve = Curve { exponent: exponent.0 };
        let ranks = ranks.get();
        Self {
            ranks,
            lowest: curve.area(1.5) - 1.0,
            highest: curve.area(ranks as f64 + 0.5),
            sure: 2.0 - curve.inverse_area(curve.area(2.5) - curve.height(2.0)),
            curve,
        }
    }

    /// Draws a rank; rank 1 is the most popular.
    pub fn rank(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.lowest + rng.unit() * (self.highest - self.lowest);
            let point = self.curve.inverse_area(area);
            let rank = (libm::round(point) as u64).clamp(1, self.ranks);
            let middle = rank as f64;
            // Close enough to the bar's right half to be inside without computing its area.
            if middle - point <= self.sure || area >= self.curve.area(middle + 0.5) - self.curve.height(middle) {
                return rank;
            }
        }
    }
}

/// The curve `x^-exponent` and the area under it from 1 to `x`, in forms that do not lose digits as the exponent
/// approaches 1.
#[derive(Clone, Debug)]
struct Curve {
    exponent: f64,
}

impl Curve {
    fn height(&self, x: f64) -> f64 {
        libm::exp(-self.exponent * libm::log(x))
    }

    /// `(x^(1-e) - 1) / (1-e)`, or `ln x` where `e` is 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let power = (1.0 - self.exponent) * log;
        if power.abs() < 1e-8 { log * (1.0 + power / 2.0) } else { libm::expm1(power) / (1.0 - self.exponent) }
    }

    fn inverse_area(&self, area: f64) -> f64 {
        let grown = (area * (1.0 - self.exponent)).max(-1.0);
        libm::exp(if grown.abs() < 1e-8 {
            area * (1.0 - grown / 2.0)
        } else {
            libm::log1p(grown) / (1.0 - self.exponent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn law(ranks: u64, exponent: f64) -> Zipf {
        let ranks = NonZeroU64::new(ranks).expect("positive");
        Zipf::new(ranks, Exponent::new(exponent).expect("positive and finite"))
    }

    fn assert_frequencies_follow_the_law(ranks: u64, exponent: f64) {
        let law = law(ranks, exponent);
        let mut rng = Rng::new(ranks);
        let draws = 300_000u32;
        let mut counts = vec![0u32; ranks as usize];
        for _ in 0..draws {
            counts[law.rank(&mut rng) as usize - 1] += 1;
        }
        let heights: Vec<f64> = (1..=ranks).map(|k| (k as f64).powf(-exponent)).collect();
        let total: f64 = heights.iter().sum();
        for (height, count) in heights.iter().zip(counts) {
            let chance = height / total;
            let expected = f64::from(draws) * chance;
            let deviation = (expected * (1.0 - chance)).sqrt();
            let off = (f64::from(count) - expected).abs();
            assert!(off <= 4.5 * deviation, "exponent {exponent}, {ranks} ranks: {count} for {expected}");
        }
    }

    #[test]
    fn each_rank_has_its_exact_probability() {
        for exponent in [0.01, 0.5, 0.999_999_999_9, 1.0, 1.5, 3.0] {
            for ranks in [1, 2, 3, 10, 40] {
                assert_frequencies_follow_the_law(ranks, exponent);
            }
        }
    }

    #[test]
    fn extreme_exponents_and_rank_counts_stay_in_range() {
        for exponent in [f64::MIN_POSITIVE, 1e-9, 1.0, 50.0, 1e6, f64::MAX] {
            for ranks in [1, 2, 1 << 20, 1 << 53] {
                let law = law(ranks, exponent);
                let mut rng = Rng::new(1);
                for _ in 0..200 {
                    let rank = law.rank(&mut rng);
                    assert!((1..=ranks).contains(&rank));
                    assert!(exponent < 1e6 || rank == 1);
                }
            }
        }
    }

    #[test]
    fn a_seed_gives_the_same_ranks_everywhere() {
        let law = law(1 << 30, 1.1);
        let mut rng = Rng::new(2026);
        let ranks: Vec<u64> = (0..8).map(|_| law.rank(&mut rng)).collect();
        let expected = [645, 10, 167_369, 3_082_850, 164_918, 82_057, 331_378, 282_514];
        assert_eq!(ranks, expected);
    }

    #[test]
    fn an_exponent_that_is_no_positive_number_is_refused_with_advice() {
        for text in ["0", "-1", "nan", "inf", "abc", ""] {
            let error = text.parse::<Exponent>().expect_err(text).to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("above 0"));
        }
        assert_eq!("1.2".parse::<Exponent>().map(Exponent::get), Ok(1.2));
    }
}
