//! The false-positive rate of a filter for absent keys that it has not seen before.

/// The static rate of a cuckoo filter: `1 - (1 - load/values)^(tables·cells)`, exact for full-key hashing (003
/// section 2.2 has its approximation).
///
/// A query is compared with every cell of its `tables` buckets of `cells` cells. Each is occupied with probability
/// `load`, and then equals the query's fingerprint with probability `1/values`, where `values` counts the fingerprints
/// in use: 2^a less the one that marks an empty cell, if it is one of them.
///
/// ```
/// use twiceshy_lab::models::static_rate::cuckoo_static_rate;
///
/// // Four tables of one cell with 8-bit fingerprints at 95 %: about 1.5 % (003 section 4.1).
/// let rate = cuckoo_static_rate(0.95, 256, 4, 1);
/// assert!((rate - 0.01476).abs() < 1e-5);
/// ```
pub fn cuckoo_static_rate(load: f64, values: u64, tables: u32, cells: u32) -> f64 {
    let compared = f64::from(tables) * f64::from(cells);
    -(compared * (-load / values as f64).ln_1p()).exp_m1()
}

/// The static rate of a quotient filter with `remainder_bits` bits to a remainder: `1 - exp(-load · 2^-r)`.
///
/// The number of stored keys with a given quotient is Poisson with mean `load`, and each has the query's remainder with
/// probability 2^-r (004 section 5).
///
/// ```
/// use twiceshy_lab::models::static_rate::quotient_static_rate;
///
/// assert!((quotient_static_rate(0.95, 8) - 0.003704).abs() < 1e-6);
/// ```
pub fn quotient_static_rate(load: f64, remainder_bits: u32) -> f64 {
    -(-load * (-f64::from(remainder_bits)).exp2()).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cuckoo_rate_is_one_minus_the_chance_that_every_cell_differs() {
        let one_cell: f64 = 1.0 - 0.9 / 15.0;
        let expected = 1.0 - one_cell.powi(8);
        assert!((cuckoo_static_rate(0.9, 15, 2, 4) - expected).abs() < 1e-15);
        assert_eq!(cuckoo_static_rate(1.0, 1, 4, 1), 1.0);
        assert_eq!(cuckoo_static_rate(0.0, 16, 4, 1), 0.0);
    }

    #[test]
    fn wide_fingerprints_keep_all_their_digits() {
        let rate = cuckoo_static_rate(0.95, 1 << 40, 4, 1);
        let expected = 4.0 * 0.95 / (1u64 << 40) as f64;
        assert!((rate / expected - 1.0).abs() < 1e-10);
        let rate = quotient_static_rate(0.95, 60);
        let expected = 0.95 / (1u64 << 60) as f64;
        assert!((rate / expected - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_quotient_filter_without_remainders_errs_whenever_the_quotient_is_taken() {
        assert!((quotient_static_rate(1.0, 0) - (1.0 - (-1f64).exp())).abs() < 1e-15);
    }
}
