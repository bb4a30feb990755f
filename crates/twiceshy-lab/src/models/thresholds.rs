//! The load at which cuckoo tables are full (002 section 2.2, 003 section 2.1).

use super::counts::PositiveCount;

/// More tables or cells than any real table has.
const MOST: u32 = 64;

/// A shape without a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tables} tables with {cells} cells per bucket have no threshold; give 2 to 64 tables and 1 to 64 cells")]
pub struct ThresholdError {
    /// The tables.
    pub tables: u32,
    /// The cells of a bucket.
    pub cells: u32,
}

/// The share of the cells that can be filled as a table with `tables` d buckets per key and `cells` c cells per bucket
/// grows to infinity: below, all keys find room with high probability; above, some do not.
///
/// It is the threshold at which the edges of a random d-uniform hypergraph can no longer be oriented so that no vertex
/// has more than c of them (Fountoulakis, Khosla and Panagiotou; Lelarge; for d = 2 Cain, Sanders and Wormald, and
/// Fernholz and Ramachandran). With Q(x, c) the probability that a Poisson number of mean x is c or more, and ξ the
/// solution of `d·c = ξ·Q(ξ, c)/Q(ξ, c + 1)`, it is `ξ / (d·c·Q(ξ, c)^(d-1))`. For d = 2, c = 1 the solution is 0 and
/// the threshold is the limit, 1/2: where cycles appear in a random graph (002 section 2.1). Separate tables, as in
/// 003, and one table for all have the same threshold.
///
/// 002 section 2.2 quotes what experiments reached: 91 % for three functions and one cell, 86 % for two functions and two
/// cells (the threshold is 3.7 points higher), 99.9 % for 4×4 and 3×8. 003 section 2.1 has *over 98 %* for 2×4 and *over
/// 97 %* for 4×1.
///
/// ```
/// use twiceshy_lab::models::thresholds::load_threshold;
///
/// assert_eq!(format!("{:.4}", load_threshold(4, 1)?), "0.9768");
/// assert_eq!(format!("{:.4}", load_threshold(2, 4)?), "0.9804");
/// # Ok::<(), twiceshy_lab::models::thresholds::ThresholdError>(())
/// ```
pub fn load_threshold(tables: u32, cells: u32) -> Result<f64, ThresholdError> {
    if !(2..=MOST).contains(&tables) || !(1..=MOST).contains(&cells) {
        return Err(ThresholdError { tables, cells });
    }
    if (tables, cells) == (2, 1) {
        return Ok(0.5);
    }
    let both = f64::from(tables) * f64::from(cells);
    // The quotient rises from c + 1 at 0, and is above ξ everywhere.
    let (mut low, mut high) = (1e-3, both);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        let quotient = middle * tail(middle, cells) / tail(middle, cells + 1);
        if quotient < both { low = middle } else { high = middle }
    }
    Ok(low / (both * tail(low, cells).powi(tables as i32 - 1)))
}

/// Q(x, least): the probability that a Poisson number is `least` or more.
fn tail(mean: f64, least: u32) -> f64 {
    PositiveCount::poisson(mean).iter().filter(|(value, _)| *value >= f64::from(least)).map(|(_, chance)| chance).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use twiceshy::sizing::design_load;

    #[test]
    fn known_thresholds_come_out_to_four_digits() {
        for (tables, cells, expected) in [
            (2, 1, 0.5),
            (3, 1, 0.9179),
            (4, 1, 0.9768),
            (5, 1, 0.9924),
            (2, 2, 0.8970),
            (2, 3, 0.9592),
            (2, 4, 0.9804),
            (3, 2, 0.9882),
        ] {
            let found = load_threshold(tables, cells).expect("a shape");
            assert!((found - expected).abs() <= 0.5e-4, "{tables}×{cells}: {found} for {expected}");
        }
    }

    #[test]
    fn more_tables_or_cells_never_lower_the_threshold_and_it_stays_below_one() {
        for tables in 2..=8 {
            for cells in 1..=8 {
                let here = load_threshold(tables, cells).expect("a shape");
                let more = [(tables + 1, cells), (tables, cells + 1)];
                for found in more.map(|(tables, cells)| load_threshold(tables, cells).expect("a shape")) {
                    assert!(here < found + 1e-9 && found <= 1.0 + 1e-9, "{tables}×{cells}: {here}, {found}");
                }
            }
        }
    }

    #[test]
    fn what_the_papers_quote_lies_below_the_thresholds() {
        let reached = [(3, 1, 0.91), (2, 2, 0.86), (4, 4, 0.999), (3, 8, 0.999), (2, 4, 0.98), (4, 1, 0.97)];
        for (tables, cells, quoted) in reached {
            assert!(load_threshold(tables, cells).is_ok_and(|threshold| threshold > quoted), "{tables}×{cells}");
        }
    }

    #[test]
    fn tables_are_planned_for_three_points_less_than_the_threshold_or_for_95_percent() {
        for tables in 2..=8 {
            for cells in 1..=8 {
                let threshold = load_threshold(tables, cells).expect("a shape");
                let planned = design_load(tables.into(), cells.into());
                assert!(planned <= (threshold - 0.03).min(0.95) + 1e-3, "{tables}×{cells}: {planned}, {threshold}");
                assert!(planned >= (threshold - 0.031).min(0.94), "{tables}×{cells}: {planned}, {threshold}");
            }
        }
    }

    #[test]
    fn shapes_with_one_table_or_no_cell_are_refused() {
        for (tables, cells) in [(1, 4), (0, 1), (2, 0), (65, 1), (2, 65)] {
            assert_eq!(load_threshold(tables, cells), Err(ThresholdError { tables, cells }));
        }
        assert!(load_threshold(64, 64).is_ok_and(|threshold| (threshold - 1.0).abs() < 1e-9));
    }
}
