//! A sheet to draw on: plotters' SVG backend, with its output rewritten.
//!
//! Plotters writes a colour and a width into every shape and supports no dashes. So each part of a picture is drawn on
//! its own sheet, in one colour that is then replaced by `currentColor`; colour and dash are set on the group around
//! the part's shapes.

use plotters::coord::Shift;
use plotters::prelude::{Color, SVGBackend, ShapeStyle};
use plotters::prelude::{DrawingArea, DrawingAreaErrorKind, IntoDrawingArea, PathElement, Polygon, RGBColor, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontFamily, FontStyle};

/// A point, in units of the picture.
pub(super) type Point = (f64, f64);
pub(super) type Fault = DrawingAreaErrorKind<std::io::Error>;

/// Plotters draws at whole coordinates, so its unit is a tenth of the picture's.
pub(super) const FINE: f64 = 10.0;
/// A placeholder for `currentColor`.
const INK: RGBColor = RGBColor(1, 2, 3);
const INK_WRITTEN: &str = "=\"#010203\"";
/// Plotters divides font sizes by this.
const FONT_SCALE: f64 = 1.24;
/// The size of a sheet, larger than any picture: plotters moves everything beyond it to the edge.
const SHEET: u32 = 99_999;

/// Which end of a text is at its position.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Draws on a sheet.
pub(super) struct Pen<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// The shapes that were drawn, without the surrounding sheet.
pub(super) fn drawn(draw: impl FnOnce(&Pen<'_>) -> Result<(), Fault>) -> Result<String, Fault> {
    let mut text = String::new();
    {
        let pen = Pen { area: SVGBackend::with_string(&mut text, (SHEET, SHEET)).into_drawing_area() };
        draw(&pen)?;
        pen.area.present()?;
    }
    // The first line opens the sheet and the last one closes it. Quotes in texts are escaped, so only attributes match.
    let shapes = text.split_once('\n').map_or("", |(_, rest)| rest).trim_end().trim_end_matches("</svg>");
    Ok(shapes
        .replace(INK_WRITTEN, "=\"currentColor\"")
        .replace(" opacity=\"1\"", "")
        .replace(" font-family=\"sans-serif\"", ""))
}

/// Shapes in a group with attributes.
pub(super) fn group(attributes: &str, shapes: &str) -> String {
    if shapes.is_empty() { String::new() } else { format!("<g {attributes}>\n{shapes}</g>\n") }
}

fn fine((x, y): Point) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

fn stroke(width: f64) -> ShapeStyle {
    INK.stroke_width((width * FINE).round() as u32)
}

impl Pen<'_> {
    /// A line through points.
    pub(super) fn line(&self, points: &[Point], width: f64) -> Result<(), Fault> {
        let mut fine: Vec<_> = points.iter().copied().map(fine).collect();
        fine.dedup();
        self.area.draw(&PathElement::new(fine, stroke(width)))
    }

    /// The outline of a shape.
    pub(super) fn outline(&self, points: &[Point], width: f64) -> Result<(), Fault> {
        // The first side is drawn twice, so that its corner is joined like the others.
        let closed: Vec<_> = points.iter().chain(points.iter().take(2)).copied().collect();
        self.line(&closed, width)
    }

    /// A filled shape.
    pub(super) fn fill(&self, points: &[Point]) -> Result<(), Fault> {
        self.area.draw(&Polygon::new(points.iter().copied().map(fine).collect::<Vec<_>>(), INK.filled()))
    }

    /// A line of text, vertically centred at its position.
    pub(super) fn text(&self, text: &str, size: f64, at: Point, anchor: Anchor) -> Result<(), Fault> {
        self.written(text, size, at, anchor, FontStyle::Normal)
    }

    /// A line of a heading.
    pub(super) fn heading(&self, text: &str, size: f64, at: Point) -> Result<(), Fault> {
        self.written(text, size, at, Anchor::Start, FontStyle::Bold)
    }

    fn written(&self, text: &str, size: f64, at: Point, anchor: Anchor, style: FontStyle) -> Result<(), Fault> {
        let horizontal = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let font = FontDesc::new(FontFamily::SansSerif, size * FINE * FONT_SCALE, style);
        let style = font.color(&INK).pos(Pos::new(horizontal, VPos::Center));
        self.area.draw(&Text::new(text.to_owned(), fine(at), style))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shapes_are_left_in_the_colour_of_their_group() {
        let shapes = drawn(|pen| {
            pen.line(&[(0.0, 0.0), (1.5, 2.0)], 1.2)?;
            pen.text("a < \"#010203\" & b", 12.0, (3.0, 4.0), Anchor::End)
        })
        .expect("drawn");
        assert!(shapes.starts_with("<polyline") && shapes.trim_end().ends_with("</text>"), "{shapes}");
        assert_eq!(shapes.matches("currentColor").count(), 2, "{shapes}");
        assert!(shapes.contains("a &lt; &quot;#010203&quot; &amp; b"), "{shapes}");
        assert!(shapes.contains("0,0 15,20") && shapes.contains("font-size=\"120"), "{shapes}");
    }
}
