//! How often a key of the active set appears, and the gaps between its appearances.

use std::fmt;
use std::str::FromStr;

/// The entries of the table of appearances.
pub(super) const ENTRIES: usize = 1 << 16;

/// The length of the trend that a key passes through, from its first appearance to its last.
const LIFE: f64 = 12.0;

/// The trend's highest value, at x = 3.5: tanh(3/4).
const PEAK: f64 = 0.635_148_952_387_287_3;

/// e^2 and e^5, from the two halves of the trend.
const RISE: f64 = 7.389_056_098_930_65;
const FALL: f64 = 148.413_159_102_576_6;

/// FireHose's `POW_EXP`, which skews the appearances of keys. It must not be too close to zero or too far from it.
///
/// Below zero, few keys appear tens of thousands of times, and half of them at most 107 times (at −0.5). Above zero,
/// nearly all appear thousands of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowExp(f64);

impl PowExp {
    /// What 004 probably used; see the [module's text](super::active_set).
    pub const DEFAULT: PowExp = PowExp(-0.5);

    /// Accepts numbers from 0.01 to 10, with either sign.
    pub fn new(exponent: f64) -> Result<Self, PowExpError> {
        if (0.01..=10.0).contains(&exponent.abs()) {
            Ok(Self(exponent))
        } else {
            Err(PowExpError { given: exponent.to_string() })
        }
    }

    /// The number itself.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The number of appearances for each of the equally likely entries.
    pub(super) fn appearances(self) -> Box<[u32]> {
        let power = |entry: usize| libm::pow(entry as f64, self.0);
        let last = power(ENTRIES);
        let appearances = |entry| libm::floor(ENTRIES as f64 * (power(entry) - last) / (1.0 - last)) as u32 + 1;
        (1..=ENTRIES).map(appearances).collect()
    }
}

impl FromStr for PowExp {
    type Err = PowExpError;

    fn from_str(text: &str) -> Result<Self, PowExpError> {
        text.parse()
            .ok()
            .and_then(|number| Self::new(number).ok())
            .ok_or_else(|| PowExpError { given: text.to_owned() })
    }
}

impl fmt::Display for PowExp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An invalid exponent of an active set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the exponent of an active set must be 0.01 to 10 or -10 to -0.01, not `{given}`; write `active-set:-0.5`, or `active-set`, which means the same"
)]
pub struct PowExpError {
    given: String,
}

/// How many lists further a key goes after `seen` of `total` appearances: far while it is new or old, near while it is
/// hottest.
pub(super) fn distance(seen: u32, total: u32, farthest: u32) -> u32 {
    let decay = libm::exp(-LIFE * f64::from(seen) / f64::from(total));
    let heat = 1.0 / (1.0 + RISE * decay) - 1.0 / (1.0 + FALL * decay);
    // A negative float becomes 0, so a heat that rounding put above its peak is harmless.
    ((f64::from(farthest) * (PEAK - heat) / PEAK) as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_runs_from_65537_appearances_down_to_one_for_either_sign() {
        for exponent in [-10.0, -0.5, -0.01, 0.01, 0.5, 10.0] {
            let table = PowExp::new(exponent).expect("within the bounds").appearances();
            assert_eq!((table[0], table[ENTRIES - 1]), (65_537, 1), "{exponent}");
            assert!(table.is_sorted_by(|a, b| a >= b), "{exponent}");
        }
    }

    #[test]
    fn the_mean_number_of_appearances_matches_the_sum_of_powers() {
        for (exponent, lowest, highest) in [(-0.5, 255.0, 258.0), (0.5, 21_900.0, 21_950.0)] {
            let table = PowExp::new(exponent).expect("within the bounds").appearances();
            let mean = table.iter().map(|&count| f64::from(count)).sum::<f64>() / ENTRIES as f64;
            assert!((lowest..highest).contains(&mean), "{exponent}: {mean}");
        }
        let mut table = PowExp::DEFAULT.appearances();
        table.sort_unstable();
        assert_eq!(table[ENTRIES / 2], 107, "the middle entry, as the type's text says");
    }

    #[test]
    fn a_key_reappears_soonest_at_seven_24ths_of_its_life_and_never_immediately() {
        let distances: Vec<u32> = (0..=2_400).map(|seen| distance(seen, 2_400, 8_192)).collect();
        let nearest = distances.iter().min().copied();
        assert_eq!(nearest, Some(1));
        assert_eq!(distances[700], 1, "x = 3.5");
        assert!(distances[..650].is_sorted_by(|a, b| a >= b) && distances[750..].is_sorted());
        // y(0) = 1/(1 + e^2) - 1/(1 + e^5) = 0.11251, and y(12) = 0.00087.
        assert_eq!((distances[0], distances[2_400]), (6_740, 8_180));
    }

    #[test]
    fn an_exponent_outside_its_bounds_is_refused_with_one_that_works() {
        for text in ["0", "0.001", "-11", "nan", "inf", "x", ""] {
            let error = text.parse::<PowExp>().expect_err(text).to_string();
            assert!(error.contains("active-set:-0.5") && error.contains(&format!("`{text}`")), "{error}");
        }
        assert_eq!("0.5".parse::<PowExp>().map(PowExp::get), Ok(0.5));
    }
}
