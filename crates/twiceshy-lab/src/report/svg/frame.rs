//! The plot's frame: its edges, its grid and the numbers along it.

use super::ruler::Ruler;
use super::sheet::{Anchor, Fault, drawn, group};
use super::text::width;
use super::ticks::{Tick, ticks};

/// The size of the numbers along the axes.
pub(super) const SIZE: f64 = 13.0;
/// The gap between an axis and its numbers.
const OFF: f64 = 6.0;

/// The edges of the plot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edges {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// The room that the numbers of a vertical axis need on its left.
pub(super) fn room_for_numbers(span: super::span::Span) -> f64 {
    let labels = ticks(span).into_iter().filter_map(|tick| tick.label);
    labels.map(|label| width(&label, SIZE)).fold(0.0, f64::max) + OFF
}

/// Draws the grid, the two axes and their numbers.
pub(super) fn shapes(edges: Edges, x_ruler: &Ruler, y_ruler: &Ruler) -> Result<String, Fault> {
    let (x_ticks, y_ticks) = (ticks(x_ruler.span), ticks(y_ruler.span));
    let grid = |labelled: bool| {
        let wanted = move |tick: &&Tick| tick.label.is_some() == labelled;
        drawn(|pen| {
            for x in x_ticks.iter().filter(wanted).map(|tick| x_ruler.along(tick.at)) {
                pen.line(&[(x, edges.top), (x, edges.bottom)], 0.8)?;
            }
            for y in y_ticks.iter().filter(wanted).map(|tick| y_ruler.along(tick.at)) {
                pen.line(&[(edges.left, y), (edges.right, y)], 0.8)?;
            }
            Ok(())
        })
    };
    let axes = drawn(|pen| {
        pen.line(&[(edges.left, edges.top), (edges.left, edges.bottom), (edges.right, edges.bottom)], 1.2)
    })?;
    let numbers = drawn(|pen| {
        for (at, label) in numbers(x_ruler, &x_ticks, |label| width(label, SIZE) * 0.9 + 4.0) {
            pen.text(&label, SIZE, (at, edges.bottom + OFF + SIZE * 0.7), Anchor::Middle)?;
        }
        for (at, label) in numbers(y_ruler, &y_ticks, |_| SIZE * 1.1) {
            pen.text(&label, SIZE, (edges.left - OFF, at), Anchor::End)?;
        }
        Ok(())
    })?;
    let faint = group("opacity=\"0.1\"", &grid(false)?) + &group("opacity=\"0.24\"", &grid(true)?);
    Ok(faint + &group("opacity=\"0.75\"", &axes) + &numbers)
}

/// The numbers to write and their positions, without those that would touch the one before. A zero at the edge comes
/// first.
fn numbers(ruler: &Ruler, ticks: &[Tick], extent: impl Fn(&str) -> f64) -> Vec<(f64, String)> {
    let zero = ruler.zero.map(|at| (at, "0".to_owned()));
    let others = ticks.iter().filter_map(|tick| Some((ruler.along(tick.at), tick.label.clone()?)));
    let mut kept: Vec<(f64, String)> = Vec::new();
    for (at, label) in zero.into_iter().chain(others) {
        let touches = |(other, text): &(f64, String)| (at - other).abs() < (extent(text) + extent(&label)) / 2.0;
        if !kept.last().is_some_and(touches) {
            kept.push((at, label));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::span::Span;
    use super::*;

    #[test]
    fn numbers_that_would_touch_are_left_out() {
        let ruler = Ruler::new(Span::Log(0.0, 4.0), 0.0, 100.0, false);
        let kept = numbers(&ruler, &ticks(ruler.span), |_| 30.0);
        assert_eq!(kept.iter().map(|(_, label)| label.as_str()).collect::<Vec<_>>(), ["1", "100", "10,000"]);
    }

    #[test]
    fn a_zero_at_the_edge_has_its_number() {
        let ruler = Ruler::new(Span::Log(-7.0, -2.0), 300.0, 20.0, true);
        let kept = numbers(&ruler, &ticks(ruler.span), |_| 13.0);
        assert_eq!(kept[0].1, "0");
        assert_eq!(kept[1].1, "10⁻⁷");
    }
}
