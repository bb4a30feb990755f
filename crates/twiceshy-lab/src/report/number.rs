//! Numbers formatted for readers.

/// A count with thousands separators: `1,234,567`.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits and a power of ten: `1.25·10⁻⁷`.
pub(super) fn scientific(number: f64) -> String {
    let text = format!("{number:.2e}");
    match text.split_once('e').map(|(digits, power)| (digits, power.parse())) {
        Some((digits, Ok(power))) => format!("{}·{}", minus(digits), power_of_ten(power)),
        _ => text,
    }
}

/// Decimals without an exponent, with thousands separators.
pub(super) fn plain(number: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", number.abs());
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    let whole = whole.parse().map(grouped).unwrap_or_else(|_| whole.to_owned());
    let sign = if number < 0.0 && text.contains(|digit| matches!(digit, '1'..='9')) { "−" } else { "" };
    let point = if part.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{part}")
}

/// `10⁻⁷`.
pub(super) fn power_of_ten(power: i32) -> String {
    let digits = power.to_string();
    let raised = digits.chars().map(|digit| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // The superscripts of the other digits are consecutive code points; 1 to 3 are elsewhere.
        digit => char::from_u32(0x2070 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
    });
    "10".chars().chain(raised).collect()
}

fn minus(digits: &str) -> String {
    digits.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        let texts = [0, 999, 1000, 123_456, u64::MAX].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "123,456", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn rates_have_three_digits_and_a_raised_power() {
        assert_eq!(scientific(1.2549e-7), "1.25·10⁻⁷");
        assert_eq!(scientific(-9.999e15), "−1.00·10¹⁶");
        assert_eq!(power_of_ten(-304), "10⁻³⁰⁴");
        assert_eq!(scientific(f64::INFINITY), "inf");
    }

    #[test]
    fn decimals_keep_their_sign_unless_they_are_zero() {
        assert_eq!(plain(-1234.56, 1), "−1,234.6");
        assert_eq!(plain(-0.001, 1), "0.0");
        assert_eq!(plain(1e22, 0), "10000000000000000000000");
    }
}
