//! A picture before it is drawn: lines over two axes.

use super::Series;

/// A chart: lines over a horizontal and a vertical axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The name of its file, without an extension: `uniform-queries-8-bits`.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The lines, in the order of the legend.
    pub lines: Vec<Curve>,
}

/// An axis with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// What it shows, with the unit.
    pub label: String,
    /// How values are spread over it.
    pub scale: Scale,
}

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Linear, from zero if the values allow it.
    Linear,
    /// Linear, over the values' own range.
    LinearOwnRange,
    /// Logarithmic, for rates that span decades. Zeros are drawn at the lower edge with their own marker.
    Log,
}

impl Axis {
    /// An axis that begins at zero.
    pub fn linear(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Linear }
    }

    /// An axis over the values' own range.
    pub fn own_range(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::LinearOwnRange }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Axis {
        Axis { label: label.into(), scale: Scale::Log }
    }
}

/// A line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// The index of its look (colour, dash and marker together). A filter has the same look in all pictures.
    pub look: usize,
    /// Whether it was measured or computed by a formula.
    pub kind: Kind,
    /// Its points, by rising x.
    pub points: Vec<(f64, f64)>,
    /// The interval around each point that has one; may be shorter than the points.
    pub intervals: Vec<Option<(f64, f64)>>,
}

/// Where a line comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Measured: drawn with markers.
    Measured,
    /// A formula or a paper's statement: drawn thin and without markers.
    Model,
}

impl Curve {
    /// A measured line, with the intervals that its points have.
    pub fn measured(label: impl Into<String>, look: usize, series: impl Into<Series>) -> Curve {
        let Series { points, intervals } = series.into();
        Curve { label: label.into(), look, kind: Kind::Measured, points, intervals }
    }

    /// A line computed by a formula: it has no intervals.
    pub fn model(label: impl Into<String>, look: usize, series: impl Into<Series>) -> Curve {
        let Series { points, .. } = series.into();
        Curve { label: label.into(), look, kind: Kind::Model, points, intervals: Vec::new() }
    }

    /// The same line with another interval around each point.
    #[must_use]
    pub fn within(mut self, intervals: Vec<(f64, f64)>) -> Curve {
        self.intervals = intervals.into_iter().map(Some).collect();
        self
    }
}
