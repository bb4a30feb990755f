//! Every statement of the run that differs.

use super::command;
use crate::experiment::{Finding, Verdict};
use crate::report::papers::{Author, PAPERS};
use crate::report::{Report, Section, findings};
use maud::{Markup, html};

pub(super) const HEADING: &str = "All statements of this run that differ";

/// The statements that differ, by paper and experiment.
pub(super) fn section(report: &Report) -> Markup {
    let by_author = Author::all().map(|author| (author, of(report, author)));
    let by_author: Vec<_> = by_author.filter(|(_, all)| !all.is_empty()).collect();
    html! {
        section #differing {
            h2 { (HEADING) }
            @if by_author.is_empty() { p { "No statement of this run differs." } }
            @else {
                p {
                    "With the paper's statement in our words, what was measured, and the reason if one was measured too. “Unexplained” means that we \
                     have no reason that the data support: it may be our reading, our code, or the effect size that we chose for words such as \
                     “similar”."
                }
            }
            @for (author, sections) in &by_author {
                h3 { (heading(*author)) }
                @for (section, differing) in sections {
                    p.source { (section.source) ": " (section.measures) " · " code { (command(report, &section.name)) } }
                    (findings::table(differing))
                }
            }
        }
    }
}

fn of(report: &Report, author: Author) -> Vec<(&Section, Vec<Finding>)> {
    let differs = |finding: &Finding| matches!(finding.verdict, Verdict::Differs(_) | Verdict::Unexplained);
    let own = |section: &'_ Section| -> Vec<Finding> {
        let wanted = |finding: &&Finding| differs(finding) && Author::of(&finding.paper, &section.source) == author;
        section.findings.iter().filter(wanted).cloned().collect()
    };
    report.sections.iter().map(|section| (section, own(section))).filter(|(_, all)| !all.is_empty()).collect()
}

fn heading(author: Author) -> String {
    match author {
        Author::Paper(at) => format!("{}: {}, {}", PAPERS[at].number, PAPERS[at].title, PAPERS[at].authors),
        Author::Own => "This project's own statements".into(),
    }
}
