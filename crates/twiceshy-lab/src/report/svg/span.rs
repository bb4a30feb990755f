//! The range of values that an axis covers.

use super::ticks::nice_step;
use crate::experiment::Scale;

/// The range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Span {
    /// Linear, from a value to a greater one.
    Linear(f64, f64),
    /// Logarithmic, from a power of ten to another; these are the exponents.
    Log(f64, f64),
}

/// The positions of 1, 2, 5 and 10 within a decade.
pub(super) const ONE_TWO_FIVE: [f64; 4] = [0.0, std::f64::consts::LOG10_2, 1.0 - std::f64::consts::LOG10_2, 1.0];

/// Added to a range that is too narrow to divide.
const LEAST: f64 = 1e-290;
/// Exponents closer than this are treated as equal.
const CLOSE: f64 = 1e-9;

impl Span {
    /// The span of a scale over values. Values that cannot be placed are ignored; without any other value the span is
    /// arbitrary.
    pub(super) fn over(scale: Scale, values: impl Iterator<Item = f64>) -> Span {
        let placed = values.filter(|value| value.is_finite() && (scale != Scale::Log || *value > 0.0));
        let range = placed.fold(None, |range: Option<(f64, f64)>, value| match range {
            Some((low, high)) => Some((low.min(value), high.max(value))),
            None => Some((value, value)),
        });
        match (scale, range) {
            (Scale::Log, None) => Span::Log(0.0, 1.0),
            (_, None) => Span::Linear(0.0, 1.0),
            (Scale::Log, Some((low, high))) => log(low.log10(), high.log10()),
            (Scale::Linear, Some((low, high))) => from_zero(low, high),
            (Scale::LinearOwnRange, Some((low, high))) => own_range(low, high),
        }
    }

    /// The position of a value along the axis, from 0 at the lower end to 1 at the upper; `None` if it cannot be
    /// placed.
    pub(super) fn fraction(self, value: f64) -> Option<f64> {
        let fraction = match self {
            // Halved, because the full width may overflow.
            Span::Linear(low, high) => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
            Span::Log(low, high) => (value.log10() - low) / (high - low),
        };
        fraction.is_finite().then_some(fraction)
    }
}

/// Rounds outwards to the next of 1, 2, 5 and 10 at both ends.
fn log(low: f64, high: f64) -> Span {
    let (mut from, mut to) = (down(low), up(high));
    if to - from < CLOSE {
        (from, to) = (down(from - 0.1), up(to + 0.1));
    }
    Span::Log(from, to)
}

fn down(exponent: f64) -> f64 {
    let within = exponent - exponent.floor();
    exponent.floor() + ONE_TWO_FIVE.into_iter().filter(|step| *step <= within + CLOSE).fold(0.0, f64::max)
}

/// The mirror image of `down`: 1/2 is 5/10, so the steps of a decade are the same from above.
fn up(exponent: f64) -> f64 {
    -down(-exponent)
}

/// Starts or ends at zero, unless values lie on both sides of it.
fn from_zero(low: f64, high: f64) -> Span {
    let (low, high) = (low.min(0.0), high.max(0.0));
    if high / 2.0 - low / 2.0 < LEAST {
        return Span::Linear(0.0, 1.0);
    }
    Span::Linear(-beyond(-low, nice_step(low, high), high - low), beyond(high, nice_step(low, high), high - low))
}

/// The next step beyond a value, or slightly beyond the value if the step is far away.
fn beyond(value: f64, step: f64, width: f64) -> f64 {
    // Slightly less, so that rounding does not add a step to a value that is on one.
    let next = (value / step - 1e-9).ceil() * step;
    let near = if next - value <= 0.12 * width { next } else { value + 0.03 * width };
    if near.is_finite() { near } else { value }
}

/// Slightly wider than the values, so that none is on the frame.
fn own_range(low: f64, high: f64) -> Span {
    let width = high / 2.0 - low / 2.0;
    let margin = if width < LEAST { (low.abs() * 0.05).max(LEAST) } else { width * 0.08 };
    let margin = if low == 0.0 && high == 0.0 { 1.0 } else { margin };
    Span::Linear((low - margin).max(f64::MIN), (high + margin).min(f64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(span: Span, low: f64, high: f64) -> bool {
        let (Span::Linear(a, b) | Span::Log(a, b)) = span;
        (a - low).abs() < 1e-6 && (b - high).abs() < 1e-6
    }

    #[test]
    fn a_log_span_ends_at_one_two_or_five() {
        let span = |values: &[f64]| Span::over(Scale::Log, values.iter().copied());
        assert!(close(span(&[3e-7, 1.5e-2]), 2e-7_f64.log10(), 2e-2_f64.log10()), "{:?}", span(&[3e-7, 1.5e-2]));
        assert!(close(span(&[1.0, 100.0]), 0.0, 2.0), "powers of ten are ends themselves");
        assert!(close(span(&[1e-3, 1e-3]), 5e-4_f64.log10(), 2e-3_f64.log10()), "one value lies between two ends");
        assert!(close(span(&[0.0, -4.0, f64::NAN, f64::INFINITY, 30.0]), 20f64.log10(), 50f64.log10()));
        assert!(close(span(&[]), 0.0, 1.0));
    }

    #[test]
    fn a_linear_span_begins_at_zero_and_ends_beyond_the_values() {
        let span = |values: &[f64]| Span::over(Scale::Linear, values.iter().copied());
        assert!(close(span(&[0.3, 0.95]), 0.0, 1.0));
        assert!(close(span(&[-0.3, -0.95]), -1.0, 0.0));
        assert!(close(span(&[0.0, 0.0]), 0.0, 1.0));
    }

    #[test]
    fn every_finite_value_is_between_the_ends_of_its_span() {
        let hard = [5e-324, 1e-300, 1e-9, 1.0, 1e16, 1e16 + 2.0, 1e300, f64::MAX];
        for scale in [Scale::Linear, Scale::LinearOwnRange, Scale::Log] {
            for (a, b) in hard.iter().flat_map(|a| hard.map(|b| (*a, b))) {
                for (a, b) in [(a, b), (-a, b), (-a, -b)] {
                    let span = Span::over(scale, [a, b].into_iter());
                    for value in [a, b].into_iter().filter(|value| scale != Scale::Log || *value > 0.0) {
                        let fraction = span.fraction(value).expect("a position");
                        assert!((-1e-9..=1.0 + 1e-9).contains(&fraction), "{value:e} of {span:?}: {fraction}");
                    }
                }
            }
        }
    }
}
