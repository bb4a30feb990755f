//! The filters that may be recommended.

use crate::models::designs::Design;
use twiceshy::Kind;
use twiceshy_store::{Options, Planned};

/// A filter that may be recommended, with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    kind: Kind,
}

/// The narrowest and the widest cells that are tried.
const WIDTHS: std::ops::RangeInclusive<u32> = 3..=32;

/// The lowest and the highest rate that a store can be asked for.
const RATES: (f64, f64) = (1e-12, 0.9999);

impl Candidate {
    /// All of them, those that do not learn first. The plain form of the telescoping filter is for experiments, and is
    /// never recommended.
    pub fn all() -> Vec<Candidate> {
        let kinds = Kind::ALL.iter().filter(|kind| **kind != Kind::TelescopingPlain);
        let mut all: Vec<Candidate> = kinds.map(|kind| Candidate { kind: *kind }).collect();
        all.sort_by_key(|candidate| candidate.learns());
        all
    }

    /// The filter.
    pub fn kind(self) -> Kind {
        self.kind
    }

    /// `true` if it learns from its mistakes.
    pub fn learns(self) -> bool {
        self.kind.learns()
    }

    /// `true` if it keeps its rate whatever its clients ask, insert and remove: see `docs/broom.md`.
    pub fn is_adaptive(self) -> bool {
        self.kind == Kind::Broom
    }

    /// What `twiceshy create` is told.
    pub(super) fn options(self, keys: u64, rate: f64) -> Options {
        Options::new().filter(self.kind).false_positive_rate(rate).expected_keys(keys)
    }

    /// The cells and their width that a store with these options gets; `None` if it cannot be built.
    pub(super) fn geometry(self, keys: u64, rate: f64) -> Option<(u64, u32)> {
        self.options(keys, rate).geometry().ok()
    }

    /// The rate to ask for to get cells of this width, a number of few digits; `None` if no rate gives it.
    pub(super) fn rate_for(self, keys: u64, width: u32) -> Option<f64> {
        let has = |rate: f64| self.geometry(keys, rate).is_some_and(|(_, own)| own <= width);
        let (mut low, mut high) = RATES;
        if !WIDTHS.contains(&width) || !has(high) {
            return None;
        }
        while high / low > 1.0 + 1e-9 {
            let middle = (low * high).sqrt();
            if has(middle) { high = middle } else { low = middle }
        }
        let is_it = |rate: &f64| self.geometry(keys, *rate).is_some_and(|(_, own)| own == width);
        [3, 6, 9].into_iter().map(|digits| rounded_up(high, digits)).find(is_it)
    }

    /// The false-positive rate of keys never asked before, in a store built like this that holds `keys` keys.
    pub(super) fn static_rate(self, planned: &Planned, keys: u64) -> f64 {
        let (bits, load) = (planned.width, keys as f64 / planned.cells as f64);
        let design = match self.kind {
            Kind::Cuckooing => Design::Cuckooing { tables: 4, cells: 1, bits },
            Kind::Cyclic => Design::Cyclic { tables: 4, bits, selector_bits: 1 },
            Kind::Swapping => Design::Swapping { tables: 2, cells: 4, bits },
            Kind::FullKey => Design::Cuckoo { tables: 4, cells: 1, bits },
            Kind::Remembering => Design::Cuckoo { tables: 2, cells: 2, bits },
            // The form with two levels keeps three entries a key.
            Kind::Broom if planned.index_entries == 3 => Design::BroomTwoLevels { bits },
            // The broom filter with a back yard too.
            _ => Design::Quotient { bits },
        };
        design.static_rate(load).unwrap_or(planned.rate)
    }
}

/// The next number with this many digits.
fn rounded_up(number: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(number.log10().floor() as i32 + 1 - digits);
    let up = (number / unit).ceil() * unit;
    // The nearest number to these digits, so that it is printed with few of them.
    format!("{up:.*e}", digits as usize - 1).parse().unwrap_or(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_has_a_rate_that_gives_it() {
        for candidate in Candidate::all() {
            for keys in [10, 2_000, 100_000] {
                for width in 4..=24 {
                    let rate = candidate.rate_for(keys, width).expect("a usual width");
                    let (_, got) = candidate.geometry(keys, rate).expect("a rate that it was asked for");
                    assert_eq!(got, width, "{candidate:?}, {keys} keys, {rate}");
                    assert!(rate.to_string().trim_start_matches(['0', '.']).len() <= 6, "{rate}");
                }
            }
            assert_eq!(candidate.rate_for(1_000, 2), None);
            assert_eq!(candidate.rate_for(1_000, 33), None);
        }
    }

    #[test]
    fn a_rate_is_rounded_to_a_higher_one() {
        assert_eq!(rounded_up(0.003_704_1, 3), 0.003_71);
        assert_eq!(rounded_up(0.003_7, 3), 0.003_7);
        assert_eq!(rounded_up(0.999_1, 2), 1.0);
    }

    #[test]
    fn a_store_errs_less_than_it_was_built_for_and_more_than_half_of_that() {
        for candidate in Candidate::all() {
            let keys = 50_000;
            for width in [6, 9, 13] {
                let rate = candidate.rate_for(keys, width).expect("a usual width");
                let planned = candidate.options(keys, rate).planned().expect("a usual rate");
                let ratio = candidate.static_rate(&planned, keys) / rate;
                assert!((0.8..0.95).contains(&ratio), "{candidate:?} with {width} bits: {ratio}");
            }
        }
    }
}
