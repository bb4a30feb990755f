//! Draws the pictures and the page of a folder of data.

use super::{DrawError, Report, Section, findings_page, gaps, page, svg};
use crate::experiment::{Experiment, Folder, FolderError, Setup, write_whole};
use std::path::PathBuf;

/// The result of drawing.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The page.
    pub page: PathBuf,
    /// The page of findings, for the papers' authors.
    pub findings: PathBuf,
    /// Its content.
    pub sections: Vec<Section>,
}

/// Why a folder could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The folder cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A picture could not be drawn.
    #[error("the picture {name}: {error}")]
    Picture {
        /// The picture's name.
        name: String,
        /// The cause.
        error: DrawError,
    },
    /// There is nothing to draw.
    #[error("{} holds no completed experiment: run it again", .0.display())]
    Nothing(PathBuf),
}

/// Draws every experiment that the folder has data of.
pub fn draw(folder: &Folder, experiments: &[&dyn Experiment]) -> Result<Drawn, ReportError> {
    let facts = folder.facts();
    let setup = Setup::new(facts.size, facts.seed);
    let (mut sections, mut absent) = (Vec::new(), Vec::new());
    for experiment in experiments {
        let Some(table) = folder.table(*experiment)?.filter(|table| !table.is_empty()) else {
            absent.push(gaps::absent(folder, *experiment));
            continue;
        };
        let pictures = experiment.pictures(&table);
        for picture in &pictures {
            let drawing = svg(picture).map_err(|error| ReportError::Picture { name: picture.name.clone(), error })?;
            write_whole(&folder.path().join(format!("{}.svg", picture.name)), drawing.as_bytes())?;
        }
        sections.push(Section {
            name: experiment.name().to_owned(),
            measures: experiment.measures().to_owned(),
            claim: experiment.claim().to_owned(),
            source: experiment.source().to_owned(),
            method: experiment.method(facts.size),
            findings: experiment.findings(&table, facts.size),
            pictures,
            gaps: gaps::of_table(*experiment, &setup, &table),
            table,
            origin: folder.origin(*experiment),
        });
    }
    if sections.is_empty() {
        return Err(ReportError::Nothing(folder.path().to_owned()));
    }
    let report = Report { version: facts.version.clone(), seed: facts.seed, size: facts.size, sections, absent };
    let path = folder.path().join("report.html");
    write_whole(&path, page(&report).as_bytes())?;
    let findings = folder.path().join("findings.html");
    write_whole(&findings, findings_page(&report).as_bytes())?;
    Ok(Drawn { page: path, findings, sections: report.sections })
}
