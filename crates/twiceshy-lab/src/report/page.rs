//! The report as one HTML page without network access or scripts.

use super::findings::{self, Score};
use super::number::grouped;
use super::papers::PAPERS;
use super::{Report, Section, cells, svg};
use crate::experiment::Picture;
use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");

/// The page of a report.
pub fn page(report: &Report) -> String {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without it, a browser requests an icon that does not exist.
                link rel="icon" href="data:,";
                title { "twiceshy: the papers' experiments, measured again" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (head(report))
                main { @for section in &report.sections { (section_markup(section)) } }
            }
        }
    }
    .into_string()
}

fn head(report: &Report) -> Markup {
    html! {
        header {
            h1 { "The papers' experiments, measured again with twiceshy" }
            p {
                "What papers claim about adaptive membership filters, next to what this code measured. Every picture is \
                 drawn from a CSV file next to this page."
            }
            dl.facts {
                div { dt { "Version" } dd { (report.version) } }
                div { dt { "Seed" } dd { (report.seed) } }
                div { dt { "Size" } dd { (report.size.as_str()) } }
            }
            (summary(report))
            h2.minor { "The papers" }
            dl.papers { @for paper in PAPERS {
                dt { (paper.number) }
                dd { (paper.authors) ": " cite { (paper.title) } ", " (paper.year) }
            } }
        }
    }
}

fn summary(report: &Report) -> Markup {
    let all = Score::of(report.sections.iter().flat_map(|section| &section.findings));
    html! {
        table.summary {
            thead { tr {
                th scope="col" { "Experiment" } th scope="col" { "Source" }
                th.number scope="col" { "Agree" } th.number scope="col" { "Differ" } th.number scope="col" { "Open" }
            } }
            tbody {
                @for section in &report.sections {
                    tr {
                        td { a href={ "#" (section.name) } { (section.claim) } }
                        td.source-cell data-label="Source" { (section.source) }
                        (counts(Score::of(&section.findings)))
                    }
                }
                tr { td { "All experiments" } td {} (counts(all)) }
            }
        }
        @if all.unexplained > 0 {
            p { (all.unexplained) " of the differences " @if all.unexplained == 1 { "is" } @else { "are" } " not explained." }
        }
    }
}

fn counts(score: Score) -> Markup {
    html! {
        td.number data-label="Agree" { (score.agree) }
        td.number data-label="Differ" { (score.differ) }
        td.number data-label="Open" { (score.open) }
    }
}

fn section_markup(section: &Section) -> Markup {
    html! {
        section id=(section.name) {
            h2 { (section.claim) }
            p.source { (section.source) " · " code { (section.name) } }
            @for paragraph in &section.method { p { (paragraph) } }
            @if let Some(time) = section.seconds.and_then(duration) { p.source { "Measured in " (time) "." } }
            @if !section.pictures.is_empty() {
                div.pictures { @for picture in &section.pictures { (figure(picture)) } }
            }
            @if !section.findings.is_empty() {
                h3 { "Findings" }
                (findings::table(&section.findings))
            }
            (data(section))
        }
    }
}

fn figure(picture: &Picture) -> Markup {
    match svg(picture) {
        Ok(drawing) => html! {
            figure {
                (PreEscaped(drawing))
                figcaption { a href=(file(&picture.name, "svg")) { (picture.name) ".svg" } }
            }
        },
        Err(error) => html! { figure { p { (error) } } },
    }
}

fn data(section: &Section) -> Markup {
    let csv = format!("{}.csv", section.name);
    html! {
        details {
            summary { "Data: " (lines(section.table.len())) }
            // Boxes that scroll must be reachable by keyboard.
            div.box tabindex="0" role="region" aria-label={ "Data of " (section.name) } { (cells::table(&section.table)) }
            @if let Some(rest) = cells::left_out(&section.table) { p.files { (rest) } }
        }
        p.files { "All digits: " a href=(file(&section.name, "csv")) { (csv) } }
    }
}

fn lines(count: usize) -> String {
    format!("{} {}", grouped(count as u64), if count == 1 { "line" } else { "lines" })
}

/// A link to a file next to the page. Names are experiment names; other characters are escaped.
fn file(name: &str, ending: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    format!("./{}.{ending}", name.bytes().map(escaped).collect::<String>())
}

fn duration(seconds: f64) -> Option<String> {
    match seconds {
        s if !s.is_finite() || s < 0.0 => None,
        s if s < 120.0 => Some(format!("{s:.1} seconds")),
        s if s < 7200.0 => Some(format!("{:.0} minutes", s / 60.0)),
        s => Some(format!("{:.1} hours", s / 3600.0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Size, Statement, Table};
    use crate::line;

    fn report() -> Report {
        let mut table = Table::new(["filter <x>", "rate"]);
        table.push(line!["<script>alert(1)</script>", 1.5e-7]);
        let section = Section {
            name: "uniform".into(),
            claim: "Swapping & cyclic agree".into(),
            source: "003, Figure 1".into(),
            method: vec!["Once.".into()],
            pictures: vec![],
            findings: vec![Statement::new("003: <b>", "nothing").judge()],
            table,
            seconds: Some(95.0),
        };
        Report { version: "0.1.0".into(), seed: 7, size: Size::Quick, sections: vec![section] }
    }

    #[test]
    fn text_from_data_is_never_markup() {
        let page = page(&report());
        assert!(!page.contains("<script") && !page.contains("003: <b>") && !page.contains("<x>"));
        assert!(page.contains("&lt;script&gt;") && page.contains("Swapping &amp; cyclic"));
    }

    #[test]
    fn the_summary_leads_to_each_section_and_the_section_to_its_files() {
        let page = page(&report());
        assert!(page.contains("href=\"#uniform\"") && page.contains("id=\"uniform\""));
        assert!(page.contains("href=\"./uniform.csv\"") && page.contains("Measured in 95.0 seconds."));
        assert!(page.contains("1 of the differences is not explained."));
        assert!(PAPERS.iter().all(|paper| page.contains(paper.title)));
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        let page = page(&report()).replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("@import"));
        assert_eq!(file("a b/../c", "svg"), "./a%20b%2F..%2Fc.svg");
    }

    #[test]
    fn times_are_shown_in_the_unit_that_fits() {
        let told = [0.25, 600.0, 9000.0, f64::NAN].map(duration);
        assert_eq!(told.map(Option::unwrap_or_default), ["0.2 seconds", "10 minutes", "2.5 hours", ""]);
    }
}
