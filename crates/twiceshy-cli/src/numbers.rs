//! Numbers as people write them: the value parsers of all flags that take one.

/// A count: `1000000`, `1_000_000`, `1,000,000`, `1e6`, `1000k` or `1M` (k, M, G and T are powers of 1,000). It must be
/// a whole number.
pub(crate) fn count<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let number = whole(text)?;
    T::try_from(number).map_err(|_| match number {
        0 => "the number must be at least 1".to_owned(),
        _ => format!("{text} is too large here"),
    })
}

/// A rate between 0 and 1: `0.001`, `1e-3`, `0.1%` or `1/1000`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let rate = fraction(text)?;
    if (1e-9..1.0).contains(&rate) {
        return Ok(rate);
    }
    Err(format!("the rate must be between 1e-9 and 1, such as 0.001, 0.1% or 1/1000, not {text}"))
}

/// A number that need not be whole: a decimal such as `0.95` or `1e-3`, a percentage such as `95%`, a fraction such as
/// `1/256`, or a count with a unit such as `10k`.
pub(crate) fn fraction(text: &str) -> Result<f64, String> {
    let wrong = || format!("{text} is not a number: write it as 0.95, 95%, 1/256 or 1e-3");
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (decimal(above).ok_or_else(wrong)?, decimal(below).ok_or_else(wrong)?);
        return if below == 0.0 { Err(format!("{text} divides by 0")) } else { Ok(above / below) };
    }
    let parsed = match text.strip_suffix('%') {
        Some(percent) => decimal(percent.trim_end()).map(|percent| percent / 100.0),
        None => decimal(text),
    };
    parsed.ok_or_else(wrong)
}

/// A decimal number, perhaps with separators and a unit. `nan` and `inf` are left to those who know the range.
fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let Ok(number) = text.parse() else {
        return Decimal::read(text).map(|decimal| decimal.digits as f64 * 10f64.powi(decimal.exponent)).ok();
    };
    Some(number)
}

fn whole(text: &str) -> Result<u64, String> {
    let too_large = || format!("{text} is too large: the most is {}", u64::MAX);
    let Decimal { digits, exponent } = Decimal::read(text.trim()).map_err(|wrong| match wrong {
        Wrong::Form => format!("{text} is not a count: write it as 1000000, 1,000,000, 1e6 or 1M"),
        Wrong::TooLong => too_large(),
    })?;
    let power = |exponent: u32| 10u128.checked_pow(exponent);
    let number = if digits == 0 {
        0
    } else if exponent >= 0 {
        power(exponent.unsigned_abs()).and_then(|power| digits.checked_mul(power)).ok_or_else(too_large)?
    } else {
        let divisible = power(exponent.unsigned_abs()).filter(|power| digits.is_multiple_of(*power));
        digits / divisible.ok_or_else(|| format!("{text} is not a whole number"))?
    };
    u64::try_from(number).map_err(|_| too_large())
}

/// `digits` times ten to the power of `exponent`.
struct Decimal {
    digits: u128,
    exponent: i32,
}

enum Wrong {
    Form,
    TooLong,
}

impl Decimal {
    fn read(text: &str) -> Result<Decimal, Wrong> {
        let (text, unit) = unit(text);
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, small(exponent).ok_or(Wrong::Form)?),
            None => (text, 0),
        };
        let (integer, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let integer = without_separators(integer).ok_or(Wrong::Form)?;
        let all: String = [&integer, rest].concat();
        if integer.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) || mantissa.ends_with('.') {
            return Err(Wrong::Form);
        }
        let digits = all.parse().map_err(|_| Wrong::TooLong)?;
        let places = i32::try_from(rest.len()).map_err(|_| Wrong::TooLong)?;
        Ok(Decimal { digits, exponent: exponent + unit - places })
    }
}

/// The text before a unit, and the unit's power of ten.
fn unit(text: &str) -> (&str, i32) {
    for (unit, power) in [('k', 3), ('m', 6), ('g', 9), ('t', 12)] {
        if let Some(rest) = text.strip_suffix([unit, unit.to_ascii_uppercase()]) {
            return (rest, power);
        }
    }
    (text, 0)
}

/// An exponent, far from any overflow.
fn small(text: &str) -> Option<i32> {
    text.parse().ok().filter(|exponent| (-1_000..=1_000).contains(exponent))
}

/// Digits without `_` between them, or without `,` between groups of three. `1,5` is refused: it may mean one and a half.
fn without_separators(text: &str) -> Option<String> {
    if text.contains(',') {
        let mut groups = text.split(',');
        let first = groups.next().is_some_and(|group| (1..=3).contains(&group.len()));
        return (first && groups.all(|group| group.len() == 3)).then(|| text.replace(',', ""));
    }
    let well_placed = !text.starts_with('_') && !text.ends_with('_') && !text.contains("__");
    well_placed.then(|| text.replace('_', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    #[test]
    fn a_count_may_be_written_in_many_ways() {
        for (text, number) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("1e6", 1_000_000),
            ("1E+6", 1_000_000),
            ("1.5e3", 1500),
            ("15e-1k", 1500),
            ("10k", 10_000),
            ("10K", 10_000),
            ("2M", 2_000_000),
            ("1.5M", 1_500_000),
            ("3G", 3_000_000_000),
            ("2.0", 2),
            ("18446744073709551615", u64::MAX),
            ("0e999", 0),
        ] {
            assert_eq!(count(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_count_is_refused_with_a_reason() {
        for (text, why) in [
            ("", "not a count"),
            ("many", "not a count"),
            ("-1", "not a count"),
            ("1.", "not a count"),
            (".5", "not a count"),
            ("1,5", "not a count"),
            ("1,0000", "not a count"),
            (",100", "not a count"),
            ("1__0", "not a count"),
            ("_1", "not a count"),
            ("1e", "not a count"),
            ("k", "not a count"),
            ("nan", "not a count"),
            ("1e99999", "not a count"),
            ("1.5", "not a whole number"),
            ("1e-1", "not a whole number"),
            ("1.0005k", "not a whole number"),
            ("1e-999", "not a whole number"),
            ("18446744073709551616", "too large"),
            ("1e20", "too large"),
            ("1e999", "too large"),
            ("99999999999999999999999999999999999999999999", "too large"),
        ] {
            let refused = count::<u64>(text).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
        assert!(count::<u32>("5G").is_err_and(|why| why.contains("too large")));
        assert!(count::<NonZeroU64>("0").is_err_and(|why| why.contains("at least 1")));
        assert_eq!(count::<NonZeroU64>("1k").map(NonZeroU64::get), Ok(1000));
    }

    #[test]
    fn a_rate_may_be_a_decimal_a_percentage_or_a_fraction() {
        for (text, number) in
            [("0.001", 1e-3), ("1e-3", 1e-3), ("0.1%", 1e-3), ("0.1 %", 1e-3), ("1/256", 1.0 / 256.0), (".5", 0.5)]
        {
            assert_eq!(rate(text), Ok(number), "{text}");
        }
        for text in ["0", "1", "2", "100%", "-0.1", "1e-10", "nan", "inf", "3/2"] {
            assert!(rate(text).is_err_and(|why| why.contains("between 1e-9 and 1")), "{text}");
        }
        for text in ["", "%", "/", "1/", "1/0", "1/2/3", "0,5", "half", "1%%"] {
            assert!(rate(text).is_err_and(|why| !why.contains("between")), "{text}");
        }
    }

    #[test]
    fn a_ratio_may_have_a_unit_and_is_not_judged() {
        for (text, number) in
            [("10", 10.0), ("1/2", 0.5), ("95%", 0.95), ("1.5k", 1500.0), ("1_000", 1000.0), ("-1", -1.0)]
        {
            assert_eq!(fraction(text), Ok(number), "{text}");
        }
        assert_eq!(fraction("inf"), Ok(f64::INFINITY));
    }
}
