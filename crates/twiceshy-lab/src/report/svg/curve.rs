//! One line of a picture.

use super::marks;
use super::ruler::{Ruler, Spot};
use super::sheet::{FINE, Fault, Point, drawn, group};
use crate::experiment::{Curve, Kind};
use crate::report::looks::{Look, look};

/// Markers of one line closer than this are drawn as one.
const APART: f64 = 5.0;
/// How far zeros of several lines at the same place are moved apart.
const NUDGE: f64 = 4.0;

/// Positions of the points of a line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Placed {
    /// Runs without a gap: a point that cannot be placed ends a run.
    pub(super) runs: Vec<Vec<Point>>,
    /// Zeros on a logarithmic axis; `true` if it is the horizontal one.
    pub(super) zeros: Vec<(Point, bool)>,
    /// Intervals: x, and y of both ends.
    pub(super) bars: Vec<(f64, f64, f64)>,
}

/// Computes the positions of a line's points.
pub(super) fn placed(curve: &Curve, x_ruler: &Ruler, y_ruler: &Ruler) -> Placed {
    let mut placed = Placed::default();
    let mut run = Vec::new();
    let intervals = curve.intervals.iter().copied().chain(std::iter::repeat(None));
    for ((x, y), interval) in curve.points.iter().zip(intervals) {
        let spots = (x_ruler.spot(*x), y_ruler.spot(*y));
        if let (Some(Spot::On(x)), Some(Spot::On(y))) = spots {
            run.push((x, y));
        } else {
            placed.runs.push(std::mem::take(&mut run));
        }
        let (Some(Spot::On(x) | Spot::Zero(x)), Some(Spot::On(y) | Spot::Zero(y))) = spots else { continue };
        match spots {
            (_, Some(Spot::Zero(_))) => placed.zeros.push(((x, y), false)),
            (Some(Spot::Zero(_)), _) => placed.zeros.push(((x, y), true)),
            _ => {}
        }
        if let Some((low, high)) = interval
            && let (Some(low), Some(high)) = (y_ruler.end(low), y_ruler.end(high))
        {
            placed.bars.push((x, low, high));
        }
    }
    placed.runs.push(run);
    placed.runs.retain(|run| !run.is_empty());
    placed
}

/// Draws a line. `order` is the number of lines with zeros drawn before it.
pub(super) fn shapes(curve: &Curve, placed: &Placed, order: usize) -> Result<String, Fault> {
    let look = look(curve.look);
    let width = stroke_width(curve.kind);
    let lines = drawn(|pen| {
        let mut long = placed.runs.iter().filter(|run| run.len() > 1);
        long.try_for_each(|run| pen.line(run, width))
    })?;
    let points = drawn(|pen| {
        thinned(&placed.bars).try_for_each(|(x, low, high)| marks::bar(pen, x, low, high))?;
        let runs = placed.runs.iter();
        // A model has no markers, except for a single point, which would otherwise be invisible.
        let marked = runs.filter(|run| curve.kind == Kind::Measured || run.len() == 1);
        for at in apart(marked.flatten().copied()) {
            marks::marker(pen, look.marker, at)?;
        }
        let nudge = nudged(order);
        for (at, on_x) in &placed.zeros {
            let moved = if *on_x { (at.0, at.1 + nudge) } else { (at.0 + nudge, at.1) };
            marks::zero(pen, moved, *on_x)?;
        }
        Ok(())
    })?;
    let inside = group(&dashes(look), &lines) + &points;
    Ok(group(&format!("color=\"{}\"", look.colour.hex()), &inside))
}

/// How thick a line is.
pub(super) fn stroke_width(kind: Kind) -> f64 {
    match kind {
        Kind::Measured => 1.9,
        Kind::Model => 1.3,
    }
}

/// The dash of a look, as an attribute.
pub(super) fn dashes(look: Look) -> String {
    let lengths: Vec<_> = look.dash.iter().map(|length| (f64::from(*length) * FINE).to_string()).collect();
    if lengths.is_empty() {
        "stroke-linecap=\"round\"".into()
    } else {
        format!("stroke-dasharray=\"{}\"", lengths.join(" "))
    }
}

/// 0, 1, -1, 2, -2, 0 again …, so that zeros of several lines stay distinguishable.
fn nudged(order: usize) -> f64 {
    [0.0, 1.0, -1.0, 2.0, -2.0][order % 5] * NUDGE
}

/// The points without those close to the one before.
fn apart(points: impl Iterator<Item = Point>) -> impl Iterator<Item = Point> {
    let mut last: Option<Point> = None;
    points.filter(move |(x, y)| {
        let far = last.is_none_or(|(a, b)| (x - a).hypot(y - b) >= APART);
        if far {
            last = Some((*x, *y));
        }
        far
    })
}

/// The intervals without those whose caps would touch those of the one before.
fn thinned(bars: &[(f64, f64, f64)]) -> impl Iterator<Item = (f64, f64, f64)> {
    let mut last = f64::NEG_INFINITY;
    bars.iter().copied().filter(move |(x, ..)| {
        let far = (x - last).abs() >= APART;
        if far {
            last = *x;
        }
        far
    })
}

#[cfg(test)]
mod tests {
    use super::super::span::Span;
    use super::*;

    fn rulers() -> (Ruler, Ruler) {
        let x = Ruler::new(Span::Linear(0.0, 10.0), 0.0, 100.0, false);
        (x, Ruler::new(Span::Log(-3.0, 0.0), 100.0, 0.0, true))
    }

    #[test]
    fn a_line_is_broken_at_a_point_that_cannot_be_placed() {
        let points = vec![(0.0, 0.1), (1.0, 0.1), (2.0, f64::NAN), (3.0, 0.1), (4.0, 0.0), (5.0, 0.1), (6.0, 1e-2)];
        let (x, y) = rulers();
        let placed = placed(&Curve::measured("", 0, points), &x, &y);
        assert_eq!(placed.runs.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 2]);
        assert_eq!(placed.zeros.len(), 1);
        assert_eq!(placed.zeros[0].0.0, 40.0);
    }

    #[test]
    fn intervals_belong_to_their_points_and_too_few_are_no_error() {
        let points = vec![(1.0, 0.1), (f64::NAN, 0.1), (3.0, 0.0), (4.0, 0.1)];
        let intervals = vec![(0.05, 0.2), (0.05, 0.2), (0.0, 1e-2)];
        let (x, y) = rulers();
        let placed = placed(&Curve::measured("", 0, points).within(intervals), &x, &y);
        assert_eq!(placed.bars.iter().map(|bar| bar.0).collect::<Vec<_>>(), [10.0, 30.0]);
        assert_eq!(placed.bars[1].1, y.zero.expect("room for zeros"));
    }

    #[test]
    fn measured_lines_have_markers_and_models_have_none() {
        let points = vec![(1.0, 0.1), (5.0, 0.2), (5.01, 0.2), (9.0, 0.4)];
        let (x, y) = rulers();
        let count = |curve: Curve| {
            let shapes = shapes(&curve, &placed(&curve, &x, &y), 0).expect("drawn");
            (shapes.matches("<polyline").count(), shapes.matches("<polygon").count())
        };
        assert_eq!(count(Curve::measured("", 0, points.clone())), (1, 3), "two markers at one place are drawn as one");
        assert_eq!(count(Curve::model("", 0, points)), (1, 0));
        assert_eq!(count(Curve::model("", 0, vec![(1.0, 0.1)])), (0, 1), "a single point must be visible");
    }
}
