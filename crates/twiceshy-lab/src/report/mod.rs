//! The lab's report: pictures as SVG, and a page that holds what the papers say beside what was measured.
//!
//! Nothing is measured here. A [`Report`] is put together from tables that were kept, and drawing it twice gives the same
//! bytes.

mod cells;
mod draw;
mod findings;
mod looks;
mod number;
mod page;
mod papers;
mod svg;

pub use draw::{Drawn, ReportError, draw};
pub use looks::{Colour, Look, Marker, look};
pub use page::page;
pub use svg::{DrawError, svg};

use crate::experiment::{Finding, Picture, Size, Table};

/// What a run of experiments found.
#[derive(Clone, Debug)]
pub struct Report {
    /// The version of the code that measured.
    pub version: String,
    /// Where all randomness came from.
    pub seed: u64,
    /// How much was measured.
    pub size: Size,
    /// The experiments, in the order of the page.
    pub sections: Vec<Section>,
}

/// One experiment of a report.
#[derive(Clone, Debug)]
pub struct Section {
    /// The experiment's name, which is its CSV file's name too.
    pub name: String,
    /// What it claims.
    pub claim: String,
    /// The paper's place that it makes again.
    pub source: String,
    /// How it was measured, in paragraphs.
    pub method: Vec<String>,
    /// What is drawn from its table.
    pub pictures: Vec<Picture>,
    /// The paper's statements beside the measurements.
    pub findings: Vec<Finding>,
    /// What was measured.
    pub table: Table,
    /// How long it took, where that was kept.
    pub seconds: Option<f64>,
}
