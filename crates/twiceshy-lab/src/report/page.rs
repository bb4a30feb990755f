//! The report as one HTML page without network access or scripts.

use super::findings::{self, Score};
use super::number::grouped;
use super::papers::{Author, PAPERS};
use super::shell::{file, shell, words};
use super::{Report, Section, cells, facts, gaps, memory, summary, svg};
use crate::experiment::Picture;
use maud::{Markup, PreEscaped, html};

/// The page of a report.
pub fn page(report: &Report) -> String {
    let body = html! {
        (head(report))
        main {
            (summary::by_paper(report))
            @for section in &report.sections { (section_markup(report, section)) }
        }
    };
    shell("twiceshy: the papers' experiments, measured again", &body)
}

fn head(report: &Report) -> Markup {
    html! {
        header {
            h1 { "The papers' experiments, measured again with twiceshy" }
            p {
                "What papers claim about adaptive membership filters, next to what this code measured. Every picture is \
                 drawn from a CSV file next to this page."
            }
            p { a href="./findings.html" { "What we found" } ": for the papers' authors." }
            (facts::of_report(report))
            (summary::totals(report))
            (guide())
            (left_out(report))
            h2.minor { "The papers" }
            dl.papers { @for paper in PAPERS {
                dt { (paper.number) }
                dd { (paper.authors) ": " cite { (paper.title) } ", " (paper.year) }
            } }
            h2.minor { "The experiments" }
            ul.contents { @for section in &report.sections {
                li { a href={ "#" (section.name) } { (section.measures) } " " span.source { (section.source) } }
            } }
        }
    }
}

/// What the intervals and verdicts mean, once for the whole page.
fn guide() -> Markup {
    html! {
        h2.minor { "How to read it" }
        p {
            "Every point of a picture is the mean over independent trials, and its bar is Student's 95 % interval of that mean. Where \
             the axis says median, it is the median over the trials with the 95 % interval between two of them (order statistics); \
             where it says games won, the share with Wilson's 95 % interval. A point without a bar has fewer than two trials \
             (a median: fewer than six), or all its trials gave the same value. Lines without markers are formulas."
        }
        p {
            "Verdicts do not come from these bars, but from wider intervals: the probability that any verdict of a run is wrong is 1 %, \
             shared by all statements and by all times that the run looked at its data to decide whether it needs more trials. This \
             assumes nearly normal trials; for the rarest counts that are taken for normal it is up to 1.6 times as much. It does not count that some \
             limits, where a paper gives none, were chosen after a first run: " code { "docs/lab.md" } " lists them."
        }
        p {
            strong { "Agrees" } ": every interval lies where the statement says. " strong { "Differs" } ": one lies elsewhere (where \
             the statement is about most points, too many do), and a reason that was measured too explains it. "
            strong { "Unexplained" } ": the same without a reason. " strong { "Open" } ": the trials do not decide. The typical trial is the \
             median one; where fewer than 22 trials were planned, the mean takes its place, for ratios of counts the geometric mean."
        }
    }
}

fn left_out(report: &Report) -> Markup {
    html! {
        h2.minor { "Left out" }
        @if report.absent.is_empty() {
            p { "No experiment is left out." }
        } @else {
            p { "These experiments have no data in this run:" }
            ul { @for absent in &report.absent {
                li { code { (absent.name) } " (" (absent.source) "), " (lower_first(&absent.measures)) ": " (words(&absent.why)) "." }
            } }
        }
    }
}

/// A heading within a sentence.
fn lower_first(heading: &str) -> String {
    let mut letters = heading.chars();
    let first = letters.next().map(|letter| letter.to_lowercase().to_string());
    // A name such as A/S keeps its letters.
    match letters.clone().next() {
        Some(second) if !second.is_lowercase() && !second.is_whitespace() => heading.to_owned(),
        _ => first.unwrap_or_default() + letters.as_str(),
    }
}

fn section_markup(report: &Report, section: &Section) -> Markup {
    html! {
        section id=(section.name) {
            h2 { (section.measures) }
            p.source { (section.source) " · " code { (section.name) } }
            (claim(section))
            @for paragraph in &section.method { p { (words(paragraph)) } }
            @for gap in &section.gaps { p { (gap) } }
            @if let Some(line) = facts::of_section(report, section) { p.source { (sentence(&line)) } }
            @if !section.pictures.is_empty() {
                div.pictures { @for picture in &section.pictures { (figure(picture)) } }
            }
            @if !section.findings.is_empty() {
                h3 { "Findings" }
                (findings::table(&section.findings))
            }
            @if let Some(memory) = memory::table(&section.table) { (memory) }
            (data(section))
        }
    }
}

/// The paper's claim, with how its statements fared: it is not a heading, since it may be refuted below.
fn claim(section: &Section) -> Markup {
    let author = Author::of("", &section.source);
    let whose = match author {
        Author::Paper(_) => "The paper",
        Author::Own => "This project",
    };
    let its = section.findings.iter().filter(|finding| Author::of(&finding.paper, &section.source) == author);
    html! {
        p.claim {
            (whose) ": " (words(&section.claim)) ". "
            span.told { "Of its statements here, " (Score::of(its).told()) "." }
        }
    }
}

/// A line as a sentence.
fn sentence(line: &str) -> String {
    let mut letters = line.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

fn figure(picture: &Picture) -> Markup {
    match svg(picture) {
        Ok(drawing) => html! {
            figure {
                (PreEscaped(drawing))
                figcaption {
                    a href=(file(&picture.name, "svg")) { (picture.name) ".svg" }
                    @if let Some(gap) = gaps::of_picture(picture) { br; (gap) }
                }
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::experiment::{Origin, Size, Statement, Table};
    use crate::line;
    use crate::report::Absent;

    pub(in crate::report) fn report() -> Report {
        let mut table = Table::new(["filter <x>", "rate"]);
        table.push(line!["<script>alert(1)</script>", 1.5e-7]);
        let origin = Origin {
            trials: None,
            earlier: Vec::new(),
            adding: None,
            version: "0.1.0".into(),
            build: "0123456789ab".into(),
            commit: "74cbff3".into(),
            machine: "A processor of 3 GHz".into(),
            cores: 2,
            date: "2026-11-18".into(),
            seconds: 95.0,
        };
        let section = Section {
            name: "uniform".into(),
            measures: "Rates of swapping & cyclic".into(),
            claim: "Swapping & cyclic agree".into(),
            source: "003, Figure 1".into(),
            method: vec!["Once.".into()],
            pictures: vec![],
            findings: vec![Statement::new("003: <b>", "nothing").judge(crate::statistics::Looks::from(10))],
            table,
            gaps: vec!["Planned, but without data: <i>A/S</i> 5.".into()],
            origin: Some(origin),
        };
        let absent = Absent {
            name: "firehose".into(),
            measures: "A/S <u>".into(),
            source: "004".into(),
            why: "not run, see `twiceshy lab list`".into(),
        };
        Report { version: "0.1.0".into(), seed: 7, size: Size::Quick, sections: vec![section], absent: vec![absent] }
    }

    #[test]
    fn text_from_data_is_never_markup() {
        let page = page(&report());
        for markup in ["<script", "003: <b>", "<x>", "<i>", "<u>"] {
            assert!(!page.contains(markup), "{markup}");
        }
        assert!(page.contains("&lt;script&gt;") && page.contains("swapping &amp; cyclic"));
    }

    #[test]
    fn a_heading_says_what_was_measured_and_the_claim_stands_beneath_it_with_its_verdict() {
        let page = page(&report());
        assert!(page.contains("<h2>Rates of swapping &amp; cyclic</h2>"));
        let headings = page.split("<h").skip(1).filter_map(|rest| rest.split("</h").next());
        assert!(
            headings.filter(|heading| heading.starts_with(['1', '2', '3'])).all(|it| !it.contains("agree")),
            "{page}"
        );
        assert!(page.contains("The paper: Swapping &amp; cyclic agree. "));
        assert!(page.contains("Of its statements here, 1 differs without a reason."));
    }

    #[test]
    fn the_contents_lead_to_each_section_and_the_section_to_its_files() {
        let page = page(&report());
        assert!(page.contains("href=\"#uniform\"") && page.contains("id=\"uniform\""));
        assert!(page.contains("href=\"./uniform.csv\"") && page.contains("Measured in 95.0 seconds."));
        assert!(page.contains("href=\"./findings.html\""));
        assert!(PAPERS.iter().all(|paper| page.contains(paper.title)));
    }

    #[test]
    fn what_was_left_out_is_said() {
        let mut report = report();
        let text = page(&report);
        assert!(
            text.contains("<code>firehose</code> (004), A/S &lt;u&gt;: not run, see <code>twiceshy lab list</code>.")
        );
        assert!(text.contains("Planned, but without data: &lt;i&gt;A/S"));
        report.absent.clear();
        assert!(page(&report).contains("No experiment is left out."));
        assert_eq!(lower_first("False positives"), "false positives");
    }

    #[test]
    fn nothing_is_fetched_from_elsewhere() {
        let page = page(&report()).replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
        assert!(!page.contains("http:") && !page.contains("https:") && !page.contains("@import"));
    }
}
