//! The pictures, as SVG.

use crate::row::Row;
use crate::sizes::Point;
use anyhow::anyhow;
use plotters::prelude::{
    ChartBuilder, Circle, Color, DrawingAreaErrorKind, IntoDrawingArea, IntoLogRange, LineSeries, PathElement,
    RGBColor, Rectangle, SVGBackend, Text, WHITE,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{IntoFont, TextStyle};
use std::path::Path;

type Fault = DrawingAreaErrorKind<std::io::Error>;

const INK: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(215, 215, 215);
const OURS: RGBColor = RGBColor(0, 114, 178);
const PEER: RGBColor = RGBColor(150, 150, 150);
const FLOOR: RGBColor = RGBColor(213, 94, 0);

/// The colours of lines: of one brightness for each, and distinct to colour-blind readers.
const LINES: [RGBColor; 7] = [
    OURS,
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    FLOOR,
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(110, 80, 60),
];

const WIDTH: i32 = 760;
const LEFT: i32 = 205;
const RIGHT: i32 = WIDTH - 60;
const TOP: i32 = 62;
const BAR: i32 = 20;

/// The room for the names of lines, on the right.
const LEGEND: i32 = 215;

/// Draws the look-ups of absent keys of all rows of one number of keys, as bars.
pub fn bars(rows: &[Row], path: &Path) -> anyhow::Result<()> {
    draw_bars(rows, path).map_err(|why| anyhow!("{} could not be drawn: {why}", path.display()))
}

fn draw_bars(rows: &[Row], path: &Path) -> Result<(), Fault> {
    let rows: Vec<(&Row, f64)> = rows.iter().filter_map(|row| Some((row, row.negative_mops?))).collect();
    let most = rows.iter().map(|(_, mops)| *mops).fold(1.0, f64::max);
    let bottom = TOP + BAR * rows.len() as i32;
    let area = SVGBackend::new(path, (WIDTH as u32, (bottom + 36) as u32)).into_drawing_area();
    area.fill(&WHITE)?;
    let x = |mops: f64| LEFT + (mops / most * f64::from(RIGHT - LEFT)) as i32;
    let keys = rows.first().map_or(0, |(row, _)| row.keys);
    let title = format!("Look-ups of absent keys, {keys} keys, one thread");
    area.draw(&Text::new(title, (10, 18), text(16, HPos::Left)))?;
    let legend = "blue: twiceshy; grey: other crates; orange: reading one cache line; black mark: after adapting";
    area.draw(&Text::new(legend, (10, 40), text(12, HPos::Left)))?;
    let step = step(most);
    for tick in (0..).map(|tick| f64::from(tick) * step).take_while(|tick| *tick <= most) {
        area.draw(&PathElement::new([(x(tick), TOP), (x(tick), bottom)], FAINT))?;
        area.draw(&Text::new(format!("{tick}"), (x(tick), bottom + 12), text(12, HPos::Center)))?;
    }
    area.draw(&Text::new("million look-ups in a second", (RIGHT, bottom + 28), text(12, HPos::Right)))?;
    for ((row, mops), at) in rows.into_iter().zip(0..) {
        let middle = TOP + BAR * at + BAR / 2;
        let colour = if row.ours {
            OURS
        } else if row.hash.is_empty() {
            FLOOR
        } else {
            PEER
        };
        area.draw(&Text::new(row.name.clone(), (LEFT - 6, middle), text(12, HPos::Right)))?;
        area.draw(&Rectangle::new([(LEFT, middle - 7), (x(mops), middle + 7)], colour.filled()))?;
        area.draw(&Text::new(format!("{mops:.1}"), (x(mops) + 4, middle), text(12, HPos::Left)))?;
        if let Some(adapted) = row.negative_adapted_mops {
            let (left, right) = (x(adapted) - 1, x(adapted) + 1);
            area.draw(&Rectangle::new([(left, middle - 9), (right, middle + 9)], INK.filled()))?;
        }
    }
    area.present()
}

fn text(size: i32, horizontal: HPos) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&INK).pos(Pos::new(horizontal, VPos::Center))
}

/// A round distance between ticks that gives four to ten of them.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most / 10.0).log10().ceil());
    [0.2, 0.5, 1.0].map(|share| share * power).into_iter().find(|step| most / step <= 10.0).unwrap_or(power)
}

/// Draws the nanoseconds of a look-up of an absent key over the number of keys.
pub fn lines(points: &[Point], path: &Path) -> anyhow::Result<()> {
    draw_lines(points, path).map_err(|why| anyhow!("{} could not be drawn: {why}", path.display()))
}

fn draw_lines(points: &[Point], path: &Path) -> Result<(), Fault> {
    let keys = || points.iter().map(|point| point.keys as f64);
    let (least, most) = (keys().fold(f64::INFINITY, f64::min).min(1e9), keys().fold(2.0, f64::max));
    let slowest = points.iter().map(|point| point.negative_ns).fold(1.0, f64::max);
    let mut names: Vec<&str> = Vec::new();
    for point in points {
        if !names.contains(&point.name.as_str()) {
            names.push(&point.name);
        }
    }
    let area = SVGBackend::new(path, (WIDTH as u32, 460)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption("A look-up of an absent key, one thread", text(16, HPos::Left))
        .margin(12)
        .margin_right(LEGEND)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d((least / 1.1..most * 1.1).log_scale(), 0.0..slowest * 1.1)?;
    chart
        .configure_mesh()
        .x_desc("keys")
        .y_desc("nanoseconds")
        .light_line_style(WHITE)
        .bold_line_style(FAINT)
        .x_label_formatter(&|keys| format!("{keys:e}"))
        .draw()?;
    for ((name, colour), at) in names.into_iter().zip(LINES.into_iter().cycle()).zip(0..) {
        let line: Vec<(f64, f64)> = points
            .iter()
            .filter(|point| point.name == name)
            .map(|point| (point.keys as f64, point.negative_ns))
            .collect();
        chart.draw_series(LineSeries::new(line.clone(), colour.stroke_width(2)))?;
        chart.draw_series(line.into_iter().map(|point| Circle::new(point, 3, colour.filled())))?;
        let (x, y) = (WIDTH - LEGEND + 14, 50 + 20 * at);
        area.draw(&PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)))?;
        area.draw(&Text::new(name.to_owned(), (x + 24, y), text(12, HPos::Left)))?;
    }
    area.present()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for most in [1.0, 3.0, 9.9, 10.0, 10.1, 47.0, 101.0, 950.0] {
            let ticks = most / step(most);
            assert!((4.0..=10.0).contains(&ticks), "{most}: {ticks} steps of {}", step(most));
        }
    }
}
