//! Counts as people write them.

/// A count: `4000000`, `4_000_000`, `4e6` or `4M` (k and M are powers of 1,000). At least 1.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text} is not a count: write it as 4000000, 4_000_000, 4e6 or 4M");
    let plain = text.trim().replace('_', "");
    let (digits, unit) = match plain.strip_suffix(['k', 'K']) {
        Some(digits) => (digits, 1e3),
        None => plain.strip_suffix('M').map_or((plain.as_str(), 1.0), |digits| (digits, 1e6)),
    };
    let number = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    match number {
        // A filter takes at least a byte for each key.
        1.0..1e12 if number.fract() == 0.0 => Ok(number as u64),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn counts_are_read_as_people_write_them_and_others_are_refused() {
        for text in ["4000000", "4_000_000", "4e6", "4M", "4000k", " 4.0e6 "] {
            assert_eq!(count(text), Ok(4_000_000), "{text}");
        }
        assert_eq!(count("15.9M"), Ok(15_900_000));
        for text in ["", "0", "-5", "1.5", "many", "nan", "inf", "1e30", "M"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
