//! The legend: below the plot, so that it never covers data.

use super::sheet::{Anchor, Fault, Pen, drawn, group};
use super::text::{width, wrapped};
use super::{curve, marks};
use crate::experiment::{Curve, Kind, Picture};
use crate::report::looks::look;

const SIZE: f64 = 11.5;
const LINE: f64 = 17.0;
/// The length of a line's sample.
const SAMPLE: f64 = 28.0;
const GAP: f64 = 5.0;
/// The gap between columns.
const COLUMN_GAP: f64 = 8.0;
const MOST_COLUMNS: usize = 3;
const ZERO: &str = "zero: not on a logarithmic axis";

/// A legend after layout.
pub(super) struct Legend<'a> {
    entries: Vec<Entry<'a>>,
    room: f64,
    columns: usize,
}

/// A sample and its label.
struct Entry<'a> {
    sample: Sample<'a>,
    words: Vec<String>,
}

enum Sample<'a> {
    Line(&'a Curve),
    Zero,
}

impl<'a> Legend<'a> {
    /// Lays out the legend of a picture within a width.
    pub(super) fn new(picture: &'a Picture, zeros: bool, room: f64) -> Legend<'a> {
        let samples = picture.lines.iter().map(|line| (Sample::Line(line), line.label.as_str()));
        let samples: Vec<_> = samples.chain(zeros.then_some((Sample::Zero, ZERO))).collect();
        let lines = samples.iter().filter(|(sample, _)| matches!(sample, Sample::Line(_)));
        let widest = lines.map(|(_, label)| width(label, SIZE) + SAMPLE + GAP).fold(0.0, f64::max);
        let fits = |columns: &usize| widest * *columns as f64 + COLUMN_GAP * (*columns as f64 - 1.0) <= room;
        let columns = (1..=MOST_COLUMNS.min(picture.lines.len())).rev().find(fits).unwrap_or(1);
        let wrap = |(sample, label)| Entry { sample, words: wrapped(label, SIZE, room - SAMPLE - GAP) };
        Legend { entries: samples.into_iter().map(wrap).collect(), room, columns }
    }

    /// The position of each entry, and the total height. Columns are filled from top to bottom; the note about zeros
    /// comes last, on its own line.
    fn places(&self) -> (Vec<(f64, f64)>, f64) {
        let lines = self.entries.iter().filter(|entry| matches!(entry.sample, Sample::Line(_))).count();
        let in_column = lines.div_ceil(self.columns).max(1);
        let (mut places, mut lowest) = (Vec::new(), 0.0f64);
        let mut y = 0.0;
        for (i, entry) in self.entries.iter().enumerate() {
            let column = if i < lines { i / in_column } else { 0 };
            if i >= lines {
                y = lowest;
            } else if i % in_column == 0 {
                y = 0.0;
            }
            places.push((column as f64 * (self.room + COLUMN_GAP) / self.columns as f64, y));
            y += LINE * entry.words.len().max(1) as f64;
            lowest = lowest.max(y);
        }
        (places, lowest)
    }

    /// Its height.
    pub(super) fn height(&self) -> f64 {
        self.places().1
    }

    /// Draws it with its upper left corner at the given position.
    pub(super) fn shapes(&self, left: f64, top: f64) -> Result<String, Fault> {
        let mut shapes = String::new();
        for (entry, (x, y)) in self.entries.iter().zip(self.places().0) {
            let (x, y) = (left + x, top + y + LINE / 2.0);
            shapes += &match entry.sample {
                Sample::Line(line) => sample(line, x, y)?,
                Sample::Zero => drawn(|pen| marks::zero(pen, (x + SAMPLE / 2.0, y), false))?,
            };
            shapes += &drawn(|pen| words(pen, &entry.words, x + SAMPLE + GAP, y))?;
        }
        Ok(shapes)
    }
}

fn words(pen: &Pen<'_>, lines: &[String], x: f64, y: f64) -> Result<(), Fault> {
    let mut numbered = lines.iter().enumerate();
    numbered.try_for_each(|(i, line)| pen.text(line, SIZE, (x, y + LINE * i as f64), Anchor::Start))
}

fn sample(line: &Curve, x: f64, y: f64) -> Result<String, Fault> {
    let look = look(line.look);
    let stroke = drawn(|pen| pen.line(&[(x, y), (x + SAMPLE, y)], curve::stroke_width(line.kind)))?;
    let marker = match line.kind {
        Kind::Measured => drawn(|pen| marks::marker(pen, look.marker, (x + SAMPLE / 2.0, y)))?,
        Kind::Model => String::new(),
    };
    Ok(group(&format!("color=\"{}\"", look.colour.hex()), &(group(&curve::dashes(look), &stroke) + &marker)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Axis;

    fn picture(labels: &[&str]) -> Picture {
        let lines = labels.iter().map(|label| Curve::measured(*label, 0, vec![])).collect();
        Picture { name: "p".into(), title: String::new(), x: Axis::linear(""), y: Axis::log(""), lines }
    }

    #[test]
    fn no_two_entries_overlap() {
        let names = ["cyclic, 12.6 bits a key"; 7];
        let picture = picture(&names);
        let legend = Legend::new(&picture, true, 430.0);
        let (places, height) = legend.places();
        assert_eq!(legend.columns, 2);
        for (i, a) in places.iter().enumerate() {
            for b in &places[i + 1..] {
                assert!((a.0 - b.0).abs() >= 200.0 || (a.1 - b.1).abs() >= LINE, "{a:?} {b:?}");
            }
        }
        assert_eq!(height, LINE * 5.0, "four lines of two columns, and the note about zeros");
    }

    #[test]
    fn filters_with_their_bits_a_key_stand_in_two_columns() {
        let picture = picture(&["cuckoo filter, 12.63 bits a key", "telescoping, 11.58 bits a key"]);
        assert_eq!(Legend::new(&picture, false, super::super::WIDTH - 2.0 * super::super::MARGIN).columns, 2);
    }

    #[test]
    fn a_long_label_takes_several_lines_of_one_column() {
        let picture = picture(&["short", &"a label that goes on ".repeat(8)]);
        let legend = Legend::new(&picture, false, 430.0);
        assert_eq!(legend.columns, 1);
        assert!(legend.height() >= LINE * 3.0, "{}", legend.height());
    }
}
