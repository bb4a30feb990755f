//! The lab's report: pictures as SVG, a page with the papers' statements next to the measurements, and a page about what
//! was found, for the papers' authors.
//!
//! Nothing is measured here. A [`Report`] is built from stored tables, and drawing it twice gives the same bytes.

mod authors;
mod cells;
mod draw;
mod facts;
mod findings;
mod gaps;
mod looks;
mod markdown;
mod memory;
mod number;
mod page;
mod papers;
mod shell;
mod summary;
mod svg;

pub use authors::findings_page;
pub use draw::{Drawn, ReportError, draw};
pub use looks::{Colour, Look, Marker, look};
pub use markdown::markdown;
pub use page::page;
pub use svg::{DrawError, svg};

use crate::experiment::{Finding, Origin, Picture, Size, Table};

/// The results of a run of experiments.
#[derive(Clone, Debug)]
pub struct Report {
    /// The version of the code that drew it.
    pub version: String,
    /// The random seed.
    pub seed: u64,
    /// How much was measured.
    pub size: Size,
    /// The experiments, in the order of the page.
    pub sections: Vec<Section>,
    /// The experiments without data.
    pub absent: Vec<Absent>,
}

/// One experiment of a report.
#[derive(Clone, Debug)]
pub struct Section {
    /// The experiment's name, also the name of its CSV file.
    pub name: String,
    /// What it measures: the heading.
    pub measures: String,
    /// What the paper claims.
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
    /// What of it was not measured, in sentences.
    pub gaps: Vec<String>,
    /// Where the data come from, if that was recorded.
    pub origin: Option<Origin>,
}

/// An experiment that a report has no data of.
#[derive(Clone, Debug)]
pub struct Absent {
    /// The experiment's name.
    pub name: String,
    /// What it measures.
    pub measures: String,
    /// The place in the paper that it reproduces.
    pub source: String,
    /// Why there are no data.
    pub why: String,
}
