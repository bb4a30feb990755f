//! The grid lines of an axis and their labels.

use super::super::number::{plain, power_of_ten};
use super::span::{ONE_TWO_FIVE, Span};

/// A line across the plot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// The position along the axis, from 0 to 1.
    pub(super) at: f64,
    /// Its label; minor lines have none.
    pub(super) label: Option<String>,
}

/// About how many labels an axis has.
const WANTED: f64 = 5.0;
/// The most decades with labels for 2 and 5: A/S from 1 to 100 has them.
const TWOS_AND_FIVES: f64 = 2.2;
/// The most decades with lines for 2 to 9.
const MINOR_DECADES: f64 = 9.0;

/// The step of 1, 2 or 5 times a power of ten that divides a range into about [`WANTED`] parts.
pub(super) fn nice_step(low: f64, high: f64) -> f64 {
    let rough = (high / 2.0 - low / 2.0) / (WANTED / 2.0);
    let magnitude = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| step * magnitude >= rough * 0.75).unwrap_or(10.0);
    step * magnitude
}

/// The lines of an axis.
pub(super) fn ticks(span: Span) -> Vec<Tick> {
    match span {
        Span::Linear(low, high) => linear(span, low, high),
        Span::Log(low, high) => log(low, high),
    }
}

fn linear(span: Span, low: f64, high: f64) -> Vec<Tick> {
    let step = nice_step(low, high);
    let first = (low / step - 1e-6).ceil();
    // If the values are so close that steps are lost in rounding, several lines fall on one position.
    let mut values: Vec<f64> = (0..12).map(|i| (first + f64::from(i)) * step).collect();
    values.dedup();
    let within = |value: &f64| span.fraction(*value).is_some_and(|at| (-1e-6..=1.0 + 1e-6).contains(&at));
    values.retain(within);
    let unit = Unit::of(&values, step);
    values
        .iter()
        .filter_map(|value| Some(Tick { at: span.fraction(*value)?, label: Some(unit.label(*value)) }))
        .collect()
}

/// The format of the labels of a linear axis: the same decimals and the same power of ten for all.
struct Unit {
    power: i32,
    decimals: usize,
}

impl Unit {
    fn of(values: &[f64], step: f64) -> Unit {
        let greatest = values.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
        let exponent = if greatest > 0.0 { greatest.log10().floor() as i32 } else { 0 };
        // Thousands, millions, thousandths: in steps of three, and only if plain decimals would be long.
        let power = if (-3..6).contains(&exponent) { 0 } else { exponent.div_euclid(3) * 3 };
        let decimals = (f64::from(power) - (step.log10() + 1e-9).floor()).clamp(0.0, 17.0) as usize;
        Unit { power, decimals }
    }

    fn label(&self, value: f64) -> String {
        if value == 0.0 {
            return "0".into();
        }
        if self.power == 0 {
            return plain(value, self.decimals);
        }
        // In two parts, because 10 to the power of 300 and more may overflow.
        let half = self.power / 2;
        let digits = value / 10f64.powi(half) / 10f64.powi(self.power - half);
        format!("{}·{}", plain(digits, self.decimals), power_of_ten(self.power))
    }
}

fn log(low: f64, high: f64) -> Vec<Tick> {
    let place = |exponent: f64| (exponent - low) / (high - low);
    let (first, last) = ((low - 1e-9).floor() as i32, (high + 1e-9).ceil() as i32);
    let (decades, stride) = (high - low, stride(high - low));
    let between = decades < TWOS_AND_FIVES;
    let short = low > -3.001 && high < 4.001;
    let mut ticks = Vec::new();
    for power in first..=last {
        for digit in 1..=9 {
            let exponent = f64::from(power) + f64::from(digit).log10();
            let at = place(exponent);
            let labelled = match digit {
                1 => power.rem_euclid(stride) == 0,
                _ => between && ONE_TWO_FIVE.iter().any(|step| (step - f64::from(digit).log10()).abs() < 1e-9),
            };
            let drawn = labelled || decades <= MINOR_DECADES || (digit == 1 && decades <= 8.0 * MINOR_DECADES);
            if drawn && (-1e-6..=1.0 + 1e-6).contains(&at) {
                ticks.push(Tick { at, label: labelled.then(|| log_label(digit, power, short)) });
            }
        }
    }
    ticks
}

/// The number of powers of ten between labels.
fn stride(decades: f64) -> i32 {
    let round = [1, 2, 5, 10, 20, 50, 100];
    round.into_iter().find(|stride| decades / f64::from(*stride) < WANTED + 2.0).unwrap_or(200)
}

/// A digit times a power of ten, in decimals if all labels of the axis are short that way.
fn log_label(digit: i32, power: i32, short: bool) -> String {
    match (short, digit, power) {
        (true, ..) => plain(f64::from(digit) * 10f64.powi(power), usize::try_from(-power).unwrap_or(0)),
        (_, 1, 0) => "1".into(),
        (_, 1, _) => power_of_ten(power),
        _ => format!("{digit}·{}", power_of_ten(power)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Scale;

    fn labels(scale: Scale, values: &[f64]) -> Vec<String> {
        ticks(Span::over(scale, values.iter().copied())).into_iter().filter_map(|tick| tick.label).collect()
    }

    #[test]
    fn labels_are_round_numbers_without_needless_digits() {
        assert_eq!(labels(Scale::Linear, &[0.31, 0.95]), ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(Scale::Linear, &[900.0, 3900.0]), ["0", "1,000", "2,000", "3,000", "4,000"]);
        assert_eq!(labels(Scale::Linear, &[1.9e7]), ["0", "5·10⁶", "10·10⁶", "15·10⁶", "20·10⁶"]);
        assert_eq!(labels(Scale::LinearOwnRange, &[0.9, 0.98]), ["0.90", "0.92", "0.94", "0.96", "0.98"]);
        assert_eq!(labels(Scale::Linear, &[4e-5]), ["0", "10·10⁻⁶", "20·10⁻⁶", "30·10⁻⁶", "40·10⁻⁶"]);
    }

    #[test]
    fn a_log_axis_has_powers_of_ten_and_within_two_decades_twos_and_fives() {
        assert_eq!(labels(Scale::Log, &[1.0, 100.0]), ["1", "2", "5", "10", "20", "50", "100"]);
        assert_eq!(labels(Scale::Log, &[1.0, 1000.0]), ["1", "10", "100", "1,000"]);
        assert_eq!(labels(Scale::Log, &[3e-7, 0.02]), ["10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³", "10⁻²"]);
        assert_eq!(labels(Scale::Log, &[0.3, 0.9]), ["0.2", "0.5", "1"]);
        let all = ticks(Span::over(Scale::Log, [1.0, 100.0].into_iter()));
        assert_eq!(all.len(), 19, "the powers, and 2 to 9 of both decades");
    }

    #[test]
    fn ranges_of_any_width_have_at_least_two_labels_and_few_lines() {
        let hard = [5e-324, 1e-300, 1e-9, 1.0, 1e16, 1e16 + 2.0, 1e300, f64::MAX];
        for scale in [Scale::Linear, Scale::LinearOwnRange, Scale::Log] {
            for (a, b) in hard.iter().flat_map(|a| hard.map(|b| (*a, b))) {
                let span = Span::over(scale, [a, b].into_iter());
                let (all, labels) = (ticks(span), labels(scale, &[a, b]));
                assert!((2..=12).contains(&labels.len()), "{scale:?} {a:e} {b:e}: {labels:?}");
                assert!(all.len() <= 100, "{scale:?} {a:e} {b:e}: {} lines", all.len());
                assert!(labels.iter().all(|label| label.chars().count() < 40), "{labels:?}");
            }
        }
    }
}
