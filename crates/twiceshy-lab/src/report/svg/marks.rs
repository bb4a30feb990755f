//! The shapes at points.

use super::sheet::{Fault, Pen, Point};
use crate::report::looks::Marker;

/// The distance from a marker's centre to its edge.
pub(super) const REACH: f64 = 4.0;
const STROKE: f64 = 1.5;
/// Half the width of an interval's caps.
const CAP: f64 = 2.5;

/// Draws the marker of a look.
pub(super) fn marker(pen: &Pen<'_>, shape: Marker, at: Point) -> Result<(), Fault> {
    let polygon = |corners: &[Point]| around(at, corners);
    let lines = |ends: &[[Point; 2]]| ends.iter().try_for_each(|line| pen.line(&around(at, line), STROKE));
    match shape {
        Marker::Disc => pen.fill(&polygon(&round(0.95))),
        Marker::Square => pen.fill(&polygon(&SQUARE)),
        Marker::Triangle => pen.fill(&polygon(&TRIANGLE)),
        Marker::Diamond => pen.fill(&polygon(&DIAMOND)),
        Marker::Ring => pen.outline(&polygon(&round(0.95)), STROKE),
        Marker::HollowSquare => pen.outline(&polygon(&SQUARE), STROKE),
        Marker::HollowTriangle => pen.outline(&polygon(&TRIANGLE), STROKE),
        Marker::HollowDiamond => pen.outline(&polygon(&DIAMOND), STROKE),
        Marker::Plus => lines(&UPRIGHT),
        Marker::Cross => lines(&SLANTED),
        Marker::Star => lines(&UPRIGHT).and_then(|()| lines(&SLANTED)),
        Marker::Right => pen.fill(&polygon(&RIGHT)),
        Marker::Left => pen.fill(&polygon(&RIGHT.map(|(x, y)| (-x, y)))),
        Marker::Hourglass => pen.fill(&polygon(&HOURGLASS)),
        Marker::Pentagon => pen.fill(&polygon(&pentagon())),
        Marker::HollowPentagon => pen.outline(&polygon(&pentagon()), STROKE),
        Marker::Bar => pen.fill(&polygon(&BAR)),
        Marker::Down => pen.fill(&polygon(&TRIANGLE.map(|(x, y)| (x, -y)))),
        Marker::HollowHourglass => pen.outline(&polygon(&HOURGLASS), STROKE),
        Marker::Dash => pen.fill(&polygon(&BAR.map(|(x, y)| (y, x)))),
    }
}

/// The hollow triangle of a zero, pointing down, or to the left on the horizontal axis.
pub(super) fn zero(pen: &Pen<'_>, at: Point, on_x: bool) -> Result<(), Fault> {
    let corners = TRIANGLE.map(|(x, y)| if on_x { (-y, x) } else { (x, -y) });
    pen.outline(&around(at, &corners), STROKE)
}

/// An interval: a line with caps.
pub(super) fn bar(pen: &Pen<'_>, x: f64, low: f64, high: f64) -> Result<(), Fault> {
    // One stroke, since a page has thousands of them.
    let (left, right) = (x - CAP, x + CAP);
    pen.line(&[(left, low), (right, low), (x, low), (x, high), (left, high), (right, high)], 1.0)
}

const SQUARE: [Point; 4] = [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)];
const TRIANGLE: [Point; 3] = [(0.0, -1.15), (1.05, 0.8), (-1.05, 0.8)];
const DIAMOND: [Point; 4] = [(0.0, -1.25), (1.25, 0.0), (0.0, 1.25), (-1.25, 0.0)];
const RIGHT: [Point; 3] = [(1.15, 0.0), (-0.85, 1.1), (-0.85, -1.1)];
const HOURGLASS: [Point; 4] = [(-1.0, -1.15), (1.0, -1.15), (-1.0, 1.15), (1.0, 1.15)];
const BAR: [Point; 4] = [(-0.4, -1.2), (0.4, -1.2), (0.4, 1.2), (-0.4, 1.2)];
const UPRIGHT: [[Point; 2]; 2] = [[(-1.2, 0.0), (1.2, 0.0)], [(0.0, -1.2), (0.0, 1.2)]];
const SLANTED: [[Point; 2]; 2] = [[(-0.9, -0.9), (0.9, 0.9)], [(-0.9, 0.9), (0.9, -0.9)]];

/// A circle as a polygon, since plotters fills and outlines polygons alike.
fn round(radius: f64) -> [Point; 16] {
    std::array::from_fn(|i| {
        let (sin, cos) = (i as f64 * std::f64::consts::PI / 8.0).sin_cos();
        (radius * cos, radius * sin)
    })
}

/// Five corners, one of them on top.
fn pentagon() -> [Point; 5] {
    std::array::from_fn(|i| {
        let (sin, cos) = (i as f64 * std::f64::consts::TAU / 5.0).sin_cos();
        (1.1 * sin, -1.1 * cos)
    })
}

fn around(at: Point, corners: &[Point]) -> Vec<Point> {
    corners.iter().map(|(x, y)| (at.0 + x * REACH, at.1 + y * REACH)).collect()
}
