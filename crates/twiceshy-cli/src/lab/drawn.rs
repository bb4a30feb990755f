//! The summary printed at the end of a run.

use crate::output::{columns, print, print_json};
use serde::Serialize;
use std::path::PathBuf;
use twiceshy_lab::experiment::{Facts, Finding, Folder, Verdict};
use twiceshy_lab::experiments::ALL;
use twiceshy_lab::report::{Section, draw, markdown};

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    facts: Facts,
    folder: PathBuf,
    report: PathBuf,
    findings: PathBuf,
    experiments: Vec<Measured<'a>>,
}

#[derive(Serialize)]
struct Measured<'a> {
    name: &'a str,
    source: &'a str,
    measures: &'a str,
    claim: &'a str,
    csv: String,
    pictures: Vec<String>,
    rows: usize,
    findings: &'a [Finding],
}

/// How the summary is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Json,
    Markdown,
}

/// Draws everything in a folder and prints a summary. Returns `true` if every difference from the papers is
/// explained.
pub(super) fn draw_and_print(folder: &Folder, form: Form) -> anyhow::Result<bool> {
    let drawn = draw(folder, ALL)?;
    let sections = &drawn.sections;
    if form == Form::Markdown {
        print(&markdown(sections))?;
    } else if form == Form::Json {
        let experiments = sections.iter().map(measured).collect();
        let folder_path = folder.path().to_owned();
        let (report, findings) = (drawn.page.clone(), drawn.findings.clone());
        print_json(&Summary { facts: folder.facts(), folder: folder_path, report, findings, experiments })?;
    } else {
        let mut rows = vec![["", "agree", "differ", "open", "unexplained"].map(String::from).to_vec()];
        rows.extend(sections.iter().map(row));
        let unexplained = sections
            .iter()
            .flat_map(|section| section.findings.iter().filter(is_unexplained).map(|it| line(section, it)));
        let unexplained: String = unexplained.collect();
        print(&format!(
            "{}\n{unexplained}The report: {}\nFor the papers' authors: {}\n",
            columns(&rows),
            drawn.page.display(),
            drawn.findings.display()
        ))?;
    }
    Ok(!sections.iter().any(|section| section.findings.iter().any(|finding| is_unexplained(&finding))))
}

fn measured(section: &Section) -> Measured<'_> {
    Measured {
        name: &section.name,
        source: &section.source,
        measures: &section.measures,
        claim: &section.claim,
        csv: format!("{}.csv", section.name),
        pictures: section.pictures.iter().map(|picture| format!("{}.svg", picture.name)).collect(),
        rows: section.table.len(),
        findings: &section.findings,
    }
}

fn row(section: &Section) -> Vec<String> {
    let count = |wanted: fn(&Verdict) -> bool| {
        let count = section.findings.iter().filter(|finding| wanted(&finding.verdict)).count();
        if count == 0 { "-".to_owned() } else { count.to_string() }
    };
    vec![
        section.name.clone(),
        count(|verdict| *verdict == Verdict::Agrees),
        count(|verdict| matches!(verdict, Verdict::Differs(_))),
        count(|verdict| matches!(verdict, Verdict::Open(_))),
        count(|verdict| *verdict == Verdict::Unexplained),
    ]
}

fn is_unexplained(finding: &&Finding) -> bool {
    finding.verdict == Verdict::Unexplained
}

fn line(section: &Section, finding: &Finding) -> String {
    format!(
        "{} differs from the paper without a reason. {} Measured: {}\n",
        section.name, finding.paper, finding.measured
    )
}
