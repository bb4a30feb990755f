//! Pictures as SVG.
//! A picture scales with its container, takes over the text colour there, and uses no ids, so that any number of
//! pictures fit into one page. Opened on its own it has its own colours, for light and dark mode.

mod curve;
mod frame;
mod legend;
mod marks;
mod ruler;
mod sheet;
mod span;
mod text;
mod ticks;

use crate::experiment::Picture;
use frame::Edges;
use legend::Legend;
use maud::html;
use ruler::Ruler;
use sheet::{Anchor, FINE, Fault, drawn};
use text::{clean, wrapped};

/// Why a picture was not drawn.
#[derive(Debug, thiserror::Error)]
#[error("the picture {name} could not be drawn: {why}; its data is in the experiment's CSV file")]
pub struct DrawError {
    name: String,
    why: String,
}

/// The width of a picture in its own units; text is about 12 units high. Narrow enough for a phone.
const WIDTH: f64 = 440.0;
const MARGIN: f64 = 6.0;
const PLOT_HEIGHT: f64 = 270.0;
/// The gap between the vertical axis and the nearest points, so that their markers do not cover the axis.
const INSET: f64 = 9.0;
const TITLE: f64 = 15.0;
const TITLE_LINE: f64 = 20.0;
const NAME: f64 = 13.0;
const NAME_LINE: f64 = 17.0;
/// The most room for the numbers on the left; with more, nothing would be left for the plot.
const MOST_NUMBERS: f64 = WIDTH * 0.45;

/// For a picture that is its own document. Inside a page, `svg:root` does not match and the page's colours apply.
const ALONE: &str = "svg:root{color:#1b1f24;background:#fff}\
    @media (prefers-color-scheme:dark){svg:root{color:#e4e7eb;background:#15181d}}";

/// Draws a picture.
pub fn svg(picture: &Picture) -> Result<String, DrawError> {
    drawing(picture).map_err(|why| DrawError { name: picture.name.clone(), why: why.to_string() })
}

fn drawing(picture: &Picture) -> Result<String, Fault> {
    let (x_zeros, y_zeros) = ruler::zeros(picture);
    let (x_span, y_span) = (ruler::x_span(picture), ruler::y_span(picture));
    let across = WIDTH - 2.0 * MARGIN;
    // Headings are wider than other text.
    let title = wrapped(&picture.title, TITLE * 1.15, across);
    let y_name = wrapped(&format!("↑ {}", picture.y.label), NAME, across);
    let x_name = wrapped(&format!("{} →", picture.x.label), NAME, across);
    let legend = Legend::new(picture, x_zeros || y_zeros, across);

    let names_top = MARGIN + TITLE_LINE * title.len() as f64 + 4.0;
    let top = names_top + NAME_LINE * y_name.len() as f64 + 10.0;
    let left = MARGIN + frame::room_for_numbers(y_span).min(MOST_NUMBERS);
    let edges = Edges { left, right: WIDTH - MARGIN - 10.0, top, bottom: top + PLOT_HEIGHT };
    let x_name_top = edges.bottom + 24.0;
    let legend_top = x_name_top + NAME_LINE * x_name.len() as f64 + 8.0;
    let height = legend_top + legend.height() + MARGIN;

    let x_ruler = Ruler::new(x_span, edges.left + INSET, edges.right - INSET, x_zeros);
    let y_ruler = Ruler::new(y_span, edges.bottom, edges.top, y_zeros);
    let mut shapes = frame::shapes(edges, &x_ruler, &y_ruler)?;
    shapes += &curves(picture, &x_ruler, &y_ruler, edges)?;
    shapes += &drawn(|pen| {
        for (i, line) in title.iter().enumerate() {
            pen.heading(line, TITLE, (MARGIN, MARGIN + TITLE_LINE * (i as f64 + 0.5)))?;
        }
        for (i, line) in y_name.iter().enumerate() {
            pen.text(line, NAME, (MARGIN, names_top + NAME_LINE * (i as f64 + 0.5)), Anchor::Start)?;
        }
        for (i, line) in x_name.iter().enumerate() {
            pen.text(line, NAME, (edges.right, x_name_top + NAME_LINE * (i as f64 + 0.5)), Anchor::End)?;
        }
        Ok(())
    })?;
    shapes += &legend.shapes(MARGIN, legend_top)?;
    Ok(document(picture, height, &shapes))
}

fn curves(picture: &Picture, x_ruler: &Ruler, y_ruler: &Ruler, edges: Edges) -> Result<String, Fault> {
    let (mut shapes, mut with_zeros, mut any) = (String::new(), 0, false);
    for line in &picture.lines {
        let placed = curve::placed(line, x_ruler, y_ruler);
        shapes += &curve::shapes(line, &placed, with_zeros)?;
        with_zeros += usize::from(!placed.zeros.is_empty());
        any |= !placed.zeros.is_empty() || !placed.runs.is_empty();
    }
    if !any {
        let middle = ((edges.left + edges.right) / 2.0, (edges.top + edges.bottom) / 2.0);
        shapes += &drawn(|pen| pen.text("no data", NAME, middle, Anchor::Middle))?;
    }
    Ok(shapes)
}

/// The shapes as a document.
fn document(picture: &Picture, height: f64, shapes: &str) -> String {
    let title = clean(&picture.title);
    let lines: Vec<_> = picture.lines.iter().map(|line| clean(&line.label)).collect();
    let (x, y) = (clean(&picture.x.label), clean(&picture.y.label));
    let spoken = format!("{title}. Vertical axis: {y}. Horizontal axis: {x}. Lines: {}.", lines.join("; "));
    let view = format!("0 0 {:.0} {:.0}", WIDTH * FINE, height * FINE);
    html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(view) role="img" aria-label=(spoken)
            font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"
            stroke-linejoin="round" fill="currentColor" {
            title { (title) }
            style { (maud::PreEscaped(ALONE)) }
            (maud::PreEscaped(shapes))
        }
    }
    .into_string()
}

#[cfg(test)]
mod tests;
