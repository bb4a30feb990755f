//! Times as people write them.

use std::time::Duration;

/// The units, with their length in milliseconds. `ms` comes before the units that it ends with.
const UNITS: [(&str, f64); 4] = [("ms", 1.0), ("min", 60_000.0), ("s", 1_000.0), ("h", 3_600_000.0)];

/// A time: `500ms`, `2s`, `1.5s`, `2min` or `1h`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is not a time: write it as 500ms, 2s, 1min or 1h");
    let (number, unit) =
        UNITS.iter().find_map(|(unit, length)| Some((text.strip_suffix(unit)?, length))).ok_or_else(wrong)?;
    let number: f64 = number.trim_end().parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number * unit / 1_000.0).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit() {
        for (text, millis) in
            [("500ms", 500), ("2s", 2_000), ("1.5 s", 1_500), ("2min", 120_000), ("1h", 3_600_000), ("0s", 0)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "2", "s", "two s", "-1s", "nans", "infs", "1e300h", "2 days"] {
            assert!(duration(text).is_err_and(|why| why.contains("is not a time")), "{text}");
        }
    }
}
