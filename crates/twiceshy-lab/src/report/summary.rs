//! The statements of each paper in a table, and how many of them agree.

use super::findings::{self, Score};
use super::papers::{Author, PAPERS};
use super::shell::words;
use super::{Report, Section};
use crate::experiment::{Finding, Verdict};
use maud::{Markup, html};

/// The statements of one author, by experiment.
pub(super) struct Statements<'a> {
    author: Author,
    pub(super) by_experiment: Vec<(&'a Section, Vec<&'a Finding>)>,
}

impl<'a> Statements<'a> {
    /// Those of each author, in the order of the page.
    pub(super) fn all(sections: &'a [Section]) -> impl Iterator<Item = Statements<'a>> {
        Author::all().map(|author| Statements::of(sections, author))
    }

    fn of(sections: &'a [Section], author: Author) -> Statements<'a> {
        let own = |section: &'a Section| {
            let is_own = |finding: &&Finding| Author::of(&finding.paper, &section.source) == author;
            (section, section.findings.iter().filter(is_own).collect::<Vec<_>>())
        };
        let by_experiment = sections.iter().map(own).filter(|(_, findings)| !findings.is_empty()).collect();
        Statements { author, by_experiment }
    }

    pub(super) fn score(&self) -> Score {
        Score::of(self.by_experiment.iter().flat_map(|(_, findings)| findings.iter().copied()))
    }

    fn id(&self) -> String {
        match self.author {
            Author::Paper(at) => format!("paper-{}", PAPERS[at].number),
            Author::Own => "this-project".into(),
        }
    }

    pub(super) fn title(&self) -> String {
        match self.author {
            Author::Paper(at) => format!("{} {}", PAPERS[at].number, PAPERS[at].title),
            Author::Own => "This project's own statements".into(),
        }
    }

    fn heading(&self) -> Markup {
        match self.author {
            Author::Paper(at) => html! { (PAPERS[at].number) " " cite { (PAPERS[at].title) } },
            Author::Own => html! { "This project's own statements" },
        }
    }
}

/// How many statements of each paper agree, differ and are open.
pub(super) fn totals(report: &Report) -> Markup {
    let all: Vec<Statements<'_>> = Statements::all(&report.sections).collect();
    let total = Score::of(report.sections.iter().flat_map(|section| &section.findings));
    html! {
        table.summary {
            thead { tr {
                th scope="col" { "Statements of" }
                @for name in ["Agree", "Differ", "Open", "Unexplained"] { th.number scope="col" { (name) } }
            } }
            tbody {
                @for statements in &all {
                    tr {
                        td {
                            @if statements.by_experiment.is_empty() { (statements.heading()) ": nothing in this run" }
                            @else { a href={ "#" (statements.id()) } { (statements.heading()) } }
                        }
                        (counts(statements.score()))
                    }
                }
                tr.total { td { "All" } (counts(total)) }
            }
        }
    }
}

fn counts(score: Score) -> Markup {
    html! {
        td.number data-label="Agree" { (score.agree) }
        td.number data-label="Differ" { (score.differ) }
        td.number data-label="Open" { (score.open) }
        td.number data-label="Unexplained" { (score.unexplained) }
    }
}

/// A table of the statements of each paper.
pub(super) fn by_paper(report: &Report) -> Markup {
    let all = Statements::all(&report.sections);
    html! {
        section #statements {
            h2 { "The statements, paper by paper" }
            p {
                "Each statement with the estimate that decides it. All estimates of a statement, and what was tested, are with its \
                 experiment."
            }
            @for statements in all.filter(|statements| !statements.by_experiment.is_empty()) { (table(&statements)) }
        }
    }
}

fn table(statements: &Statements<'_>) -> Markup {
    html! {
        h3 id=(statements.id()) { (statements.heading()) }
        p.source { (statements.score().told()) "." }
        table.findings.statements {
            thead { tr {
                th scope="col" { "Statement" } th scope="col" { "Estimate and interval" } th scope="col" { "Verdict" }
            } }
            @for (section, findings) in &statements.by_experiment {
                tbody {
                    tr { th.experiment scope="rowgroup" colspan="3" {
                        a href={ "#" (section.name) } { (section.measures) } " · " (section.source)
                    } }
                    @for finding in findings { tr {
                        td data-label="Statement" { (words(&finding.paper)) }
                        td data-label="Estimate" { (words(&deciding(finding))) }
                        td data-label="Verdict" { (short(&finding.verdict)) }
                    } }
                }
            }
        }
    }
}

/// The verdict in a word: the reason is with the experiment.
fn short(verdict: &Verdict) -> Markup {
    match verdict {
        Verdict::Differs(_) => html! { span.verdict.differs { "differs" } ", explained" },
        other => findings::verdict(other),
    }
}

/// What was measured, with the first of the estimates: the one that decides, if one does.
pub(super) fn deciding(finding: &Finding) -> String {
    match finding.measured.split_once("; ") {
        Some((first, _)) => format!("{first}; …"),
        None => finding.measured.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Evidence, Statement};
    use crate::report::page::tests::report;

    #[test]
    fn statements_are_counted_with_their_paper_and_this_project_s_apart() {
        let mut report = report();
        let of = |paper: &str, value: f64| {
            let values = [value, 0.5].map(|value| Evidence::exact("rate", value).below(1.0));
            Statement::new(paper, "rate").every(values.into()).judge(crate::statistics::Looks::from(10))
        };
        report.sections[0].findings =
            vec![of("section 4.1: low", 0.5), of("004 Theorem 1: low", 2.0), of("This project: low", 0.5)];
        let totals = totals(&report).into_string();
        let row = |id: &str| totals.split("<tr>").find(|row| row.contains(id)).unwrap_or_default().to_owned();
        let numbers = |row: String| {
            row.split("</td>").map(|cell| cell.rsplit('>').next().unwrap_or("").to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(numbers(row("#paper-003"))[1..5], ["1", "0", "0", "0"]);
        assert_eq!(numbers(row("#paper-004"))[1..5], ["0", "0", "0", "1"]);
        assert_eq!(numbers(row("#this-project"))[1..5], ["1", "0", "0", "0"]);
        assert!(totals.contains("nothing in this run"));
        let tables = by_paper(&report).into_string();
        assert!(tables.contains("1 holds, 1 does not, of 2: rate: 2, wanted: at most 1; …"), "{tables}");
        assert_eq!(tables.matches("<h3").count(), 3);
    }
}
