//! Maps the values of an axis to positions in the picture.

use super::span::Span;
use crate::experiment::{Picture, Scale};

/// A span mapped to two positions in the picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ruler {
    pub(super) span: Span,
    /// The position of the span's lower end.
    pub(super) low: f64,
    /// The position of its upper end.
    pub(super) high: f64,
    /// The position of zeros that are not on the span.
    pub(super) zero: Option<f64>,
}

/// The position of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spot {
    /// On the span.
    On(f64),
    /// A zero, at the edge.
    Zero(f64),
}

/// The room at the lower end of a logarithmic axis for zeros.
const ROOM_FOR_ZEROS: f64 = 22.0;
/// The distance of zeros from the edge.
const ZERO_INSIDE: f64 = 6.0;

impl Ruler {
    /// A span from the edge `low` to the edge `high` of the plot, with room for zeros if `zeros` is set.
    pub(super) fn new(span: Span, low: f64, high: f64, zeros: bool) -> Ruler {
        let towards = (high - low).signum();
        match zeros {
            true => Ruler { span, low: low + towards * ROOM_FOR_ZEROS, high, zero: Some(low + towards * ZERO_INSIDE) },
            false => Ruler { span, low, high, zero: None },
        }
    }

    /// The position of a value; `None` if it cannot be placed.
    pub(super) fn spot(&self, value: f64) -> Option<Spot> {
        match (self.span, self.span.fraction(value), self.zero) {
            (_, Some(fraction), _) => Some(Spot::On(self.along(fraction))),
            (Span::Log(..), None, Some(zero)) if value == 0.0 => Some(Spot::Zero(zero)),
            _ => None,
        }
    }

    /// The position of an interval's end, clamped to the plot's edge.
    pub(super) fn end(&self, value: f64) -> Option<f64> {
        match self.span.fraction(value) {
            Some(fraction) => Some(self.along(fraction.clamp(0.0, 1.0))),
            None if matches!(self.span, Span::Log(..)) && value <= 0.0 => Some(self.zero.unwrap_or(self.low)),
            None => None,
        }
    }

    pub(super) fn along(&self, fraction: f64) -> f64 {
        self.low + fraction * (self.high - self.low)
    }
}

/// The points that can be placed, zeros at the edge included.
fn placed(picture: &Picture) -> impl Iterator<Item = (f64, f64)> {
    let fits = |scale: Scale, value: f64| value.is_finite() && (scale != Scale::Log || value >= 0.0);
    let (x_scale, y_scale) = (picture.x.scale, picture.y.scale);
    let points = picture.lines.iter().flat_map(|line| line.points.iter().copied());
    points.filter(move |(x, y)| fits(x_scale, *x) && fits(y_scale, *y))
}

/// For the horizontal and the vertical axis: `true` if zeros must be drawn at its edge.
pub(super) fn zeros(picture: &Picture) -> (bool, bool) {
    let on_log = |scale: Scale, value: f64| scale == Scale::Log && value == 0.0;
    let (mut x_zeros, mut y_zeros) = (false, false);
    for (x, y) in placed(picture) {
        x_zeros |= on_log(picture.x.scale, x);
        y_zeros |= on_log(picture.y.scale, y);
    }
    (x_zeros, y_zeros)
}

/// The span of the horizontal axis.
pub(super) fn x_span(picture: &Picture) -> Span {
    Span::over(picture.x.scale, placed(picture).map(|(x, _)| x))
}

/// The span of the vertical axis: over the points and the intervals around them.
pub(super) fn y_span(picture: &Picture) -> Span {
    let scale = picture.y.scale;
    let positive = placed(picture).map(|(_, y)| y).filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
    // An interval that nearly reaches zero would extend the axis by many decades.
    let least = if scale == Scale::Log && positive.is_finite() { positive / 10.0 } else { f64::NEG_INFINITY };
    let ends = picture.lines.iter().flat_map(|line| {
        let known = line.points.iter().zip(&line.intervals).filter(|((x, y), _)| x.is_finite() && y.is_finite());
        known.filter_map(|(_, interval)| *interval).flat_map(|(low, high)| [low, high])
    });
    Span::over(scale, placed(picture).map(|(_, y)| y).chain(ends.filter(|end| *end >= least)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Axis, Curve};

    fn picture(points: Vec<(f64, f64)>, intervals: Vec<(f64, f64)>) -> Picture {
        let lines = vec![Curve::measured("", 0, points).within(intervals)];
        Picture { name: "p".into(), title: String::new(), x: Axis::linear(""), y: Axis::log(""), lines }
    }

    #[test]
    fn zeros_of_a_log_axis_lie_between_its_edge_and_its_least_value() {
        let picture = picture(vec![(1.0, 0.0), (2.0, 1e-3), (3.0, -1.0)], vec![]);
        assert_eq!(zeros(&picture), (false, true));
        let ruler = Ruler::new(y_span(&picture), 300.0, 20.0, true);
        let Some(Spot::Zero(zero)) = ruler.spot(0.0) else { panic!("no zero") };
        let Some(Spot::On(least)) = ruler.spot(5e-4) else { panic!("no value") };
        assert!(least < zero && zero < 300.0, "{least} {zero}");
        assert_eq!([-1.0, f64::NAN, f64::INFINITY].map(|value| ruler.spot(value)), [None; 3]);
    }

    #[test]
    fn an_interval_widens_the_axis_unless_it_nearly_reaches_zero() {
        let Span::Log(low, high) = y_span(&picture(vec![(1.0, 1e-3)], vec![(1e-30, 0.3)])) else {
            panic!("a log axis")
        };
        assert!((-4.1..=-3.0).contains(&low) && (high - 0.5f64.log10()).abs() < 1e-9, "{low} {high}");
        let Span::Log(low, _) = y_span(&picture(vec![(1.0, 1e-3)], vec![(2e-4, 0.3)])) else { panic!("a log axis") };
        assert!((low - 2e-4_f64.log10()).abs() < 1e-9, "{low}");
    }

    #[test]
    fn the_end_of_an_interval_stays_within_the_plot() {
        let ruler = Ruler::new(Span::Log(-3.0, 0.0), 300.0, 20.0, false);
        assert_eq!([0.0, 1e-9, 10.0].map(|value| ruler.end(value)), [Some(300.0), Some(300.0), Some(20.0)]);
        assert_eq!(ruler.end(f64::NAN), None);
    }
}
