//! The lab's report: pictures as SVG, and a page with the papers' statements next to the measurements.
//!
//! Nothing is measured here. A [`Report`] is built from stored tables, and drawing it twice gives the same bytes.

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

/// The results of a run of experiments.
#[derive(Clone, Debug)]
pub struct Report {
    /// The version of the code that measured.
    pub version: String,
    /// The random seed.
    pub seed: u64,
    /// How much was measured.
    pub size: Size,
    /// The experiments, in the order of the page.
    pub sections: Vec<Section>,
}

/// One experiment of a report.
#[derive(Clone, Debug)]
pub struct Section {
    /// The experiment's name, also the name of its CSV file.
    pub name: String,
    /// What it claims.
    pub claim: String,
    /// The place in the paper that it reproduces.
    pub source: String,
    /// How it was measured, in paragraphs.
    pub method: Vec<String>,
    /// The pictures drawn from its table.
    pub pictures: Vec<Picture>,
    /// The paper's statements next to the measurements.
    pub findings: Vec<Finding>,
    /// The data.
    pub table: Table,
    /// How long it took, if that was recorded.
    pub seconds: Option<f64>,
}
