//! Sizing: from the wanted keys and rate to cells and bits.

use crate::cuckoo::Shape;
use crate::error::OptionsError;
use crate::packed::PackedCells;

/// The allowed widths of a cell.
pub(crate) const WIDTHS: std::ops::RangeInclusive<u32> = 2..=PackedCells::MAX_WIDTH;

/// The widths for a wanted rate where an insertion must know whose fingerprint it moves. In narrower cells most fingerprints may be those of
/// many keys: an insertion then reads up to thousands of them, seconds on a slow store, and a table may be full at 40 % load.
pub(crate) const OWNED_WIDTHS: std::ops::RangeInclusive<u32> = 4..=PackedCells::MAX_WIDTH;

/// The most keys that a filter is built for.
const MOST_KEYS: u64 = 1 << 35;

pub(crate) fn check_capacity(keys: u64) -> Result<(), OptionsError> {
    if (1..=MOST_KEYS).contains(&keys) { Ok(()) } else { Err(OptionsError::Capacity(keys)) }
}

pub(crate) fn check_rate(rate: f64) -> Result<(), OptionsError> {
    if rate > 0.0 && rate < 1.0 { Ok(()) } else { Err(OptionsError::Rate(rate)) }
}

pub(crate) fn check_width(width: u32) -> Result<(), OptionsError> {
    if WIDTHS.contains(&width) { Ok(()) } else { Err(OptionsError::Width(width)) }
}

/// The static false-positive rate of a cuckoo filter: `d·c` cells are compared, each is occupied with probability `load`,
/// and an occupied one holds the query's fingerprint with probability `1/values`.
///
/// ```
/// // 4×1 at 95 % load with 8, 12 and 16 bits (003 section 4.1: about 1.5 %, 0.1 % and 0.006 %).
/// let rate = |bits: u32| twiceshy::sizing::cuckoo_rate(0.95, (1 << bits) - 1, 4);
/// assert_eq!(format!("{:.4} {:.6} {:.7}", rate(8), rate(12), rate(16)), "0.0148 0.000928 0.0000580");
/// ```
pub fn cuckoo_rate(load: f64, values: u64, compared: u64) -> f64 {
    // 1 − (1 − x)^n without losing the small digits.
    -f64::exp_m1(compared as f64 * f64::ln_1p(-(load / values as f64).min(1.0)))
}

/// The load that tables of this shape are planned for: three points below the threshold at which keys stop fitting, and
/// at most 95 %.
///
/// The thresholds are those of random hypergraph orientation, which 002 section 2.2 and 003 section 2.1 quote for some
/// shapes: 50 % for 2×1, 92 % for 3×1, 97 % and more for 4×1 and 2×4.
pub fn design_load(tables: u64, cells_per_bucket: u64) -> f64 {
    let threshold = match (tables, cells_per_bucket) {
        (2, 1) => 0.5,
        (2, 2) => 0.897,
        (2, 3) => 0.959,
        (3, 1) => 0.917,
        _ => 0.976,
    };
    f64::min(threshold - 0.03, 0.95)
}

/// The same for buckets that overlap. Two tables with windows of two cells fill to 96.5 %; larger ones fill to more than buckets do.
pub fn overlapping_load(tables: u64, cells_per_bucket: u64) -> f64 {
    if (tables, cells_per_bucket) == (2, 2) { 0.935 } else { design_load(tables, cells_per_bucket) }
}

/// The cells for `keys` keys: the planned load, plus two square roots as a margin for small tables.
pub(crate) fn cuckoo_cells(keys: u64, shape: &Shape) -> u64 {
    let (tables, cells) = (u64::from(shape.tables()), u64::from(shape.cells_per_bucket()));
    let load = if shape.overlaps() { overlapping_load(tables, cells) } else { design_load(tables, cells) };
    let keys = keys as f64;
    (keys / load + 2.0 * keys.sqrt()).ceil() as u64
}

/// The load that quotient tables are planned for, unless the user asks for more.
pub(crate) const QUOTIENT_LOAD: f64 = 0.95;

/// The most slots of a quotient table.
const MOST_SLOTS: u64 = 1 << 36;

pub(crate) fn check_slots(slots: u64) -> Result<(), OptionsError> {
    if (1..=MOST_SLOTS).contains(&slots) { Ok(()) } else { Err(OptionsError::Slots(slots)) }
}

/// The most keys of a quotient table: above 99 % a cluster spans thousands of slots, offsets saturate, and every operation
/// pays for it.
pub(crate) fn quotient_most(slots: u64) -> u64 {
    slots - slots / 100
}

pub(crate) fn check_load(load: f64) -> Result<(), OptionsError> {
    if load > 0.0 && load <= 0.99 { Ok(()) } else { Err(OptionsError::Load(load)) }
}

/// The slots for `keys` keys at this load.
pub(crate) fn quotient_slots(keys: u64, load: f64) -> Result<u64, OptionsError> {
    check_load(load)?;
    // A tiny load overflows u64. The cast saturates, and the result is refused.
    let slots = (keys as f64 / load).ceil() as u64;
    check_slots(slots).map(|()| slots)
}

/// The static false-positive rate of a quotient filter with remainders of `width` bits: a query's quotient has about
/// `load` keys, Poisson distributed, and each has the query's remainder with probability 2^−width.
///
/// ```
/// let rate = twiceshy::sizing::quotient_rate(0.95, 8);
/// assert_eq!(format!("{rate:.6}"), "0.003704");
/// ```
pub fn quotient_rate(load: f64, width: u32) -> f64 {
    -f64::exp_m1(-load * (-f64::from(width)).exp2())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_sizes_are_refused() {
        for rate in [0.0, -1.0, 1.0, 2.0, f64::NAN, f64::INFINITY] {
            assert!(check_rate(rate).is_err(), "{rate}");
        }
        assert!(check_capacity(0).is_err() && check_capacity(u64::MAX).is_err() && check_capacity(1).is_ok());
        assert!(check_width(1).is_err() && check_width(33).is_err() && check_width(2).is_ok());
    }

    #[test]
    fn the_rate_is_exact_in_its_small_digits_and_never_above_one() {
        assert!((cuckoo_rate(0.95, (1 << 32) - 1, 4) / (3.8 / 4_294_967_295.0) - 1.0).abs() < 1e-6);
        assert_eq!(cuckoo_rate(1.0, 1, 4), 1.0);
        assert_eq!(cuckoo_rate(0.0, 100, 4), 0.0);
    }

    #[test]
    fn a_quotient_table_is_sized_for_exactly_its_load() {
        assert_eq!(quotient_slots(95, 0.95), Ok(100));
        assert_eq!(quotient_slots(1, 0.99), Ok(2));
        for load in [0.0, -1.0, 0.991, 2.0, f64::NAN, f64::INFINITY] {
            assert!(quotient_slots(95, load).is_err(), "{load}");
        }
        assert!(quotient_slots(1 << 35, 1e-300).is_err() && check_slots(0).is_err());
        for keys in (1..2_000).chain([1_000_000, 123_456_789]) {
            assert!(quotient_slots(keys, 0.99).is_ok_and(|slots| quotient_most(slots) >= keys), "{keys}");
        }
    }

    #[test]
    fn one_key_too_many_costs_one_cell_and_not_a_doubling() {
        let shape = Shape::new(4, 1, 1).unwrap();
        let step = cuckoo_cells(4_000_001, &shape) - cuckoo_cells(4_000_000, &shape);
        assert!(step <= 2);
        assert!(cuckoo_cells(1, &shape) >= 1);
    }
}
