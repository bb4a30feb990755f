//! The statements of each paper as Markdown, for documents that quote a run.

use super::Section;
use super::summary::{Statements, deciding};
use crate::experiment::{Finding, Verdict};
use std::fmt::Write as _;

/// A table for each paper: its statements, each with its verdict and the estimate that decides it. The origin of the data of
/// each experiment is at the end.
pub fn markdown(sections: &[Section]) -> String {
    let mut text = String::new();
    for statements in Statements::all(sections).filter(|statements| !statements.by_experiment.is_empty()) {
        // Writing to a string cannot fail.
        let _ = write!(text, "**{}**: {}.\n\n", statements.title(), statements.score().told());
        text.push_str("| experiment | statement | verdict | estimate and interval |\n|---|---|---|---|\n");
        for (section, findings) in &statements.by_experiment {
            for finding in findings {
                let _ = writeln!(text, "{}", row(section, finding));
            }
        }
        text.push('\n');
    }
    text.push_str("| experiment | trials | commit | date | time of the tasks |\n|---|---|---|---|---|\n");
    for section in sections {
        let _ = writeln!(text, "{}", origin(section));
    }
    text
}

fn row(section: &Section, finding: &Finding) -> String {
    let verdict = match &finding.verdict {
        Verdict::Agrees => "agrees".to_owned(),
        Verdict::Differs(why) => format!("differs: {}", cell(why)),
        Verdict::Unexplained => "differs, unexplained".to_owned(),
        Verdict::Open(_) => "open".to_owned(),
    };
    format!("| `{}` | {} | {verdict} | {} |", section.name, cell(&finding.paper), cell(&deciding(finding)))
}

fn origin(section: &Section) -> String {
    let most = section.table.rows().filter_map(|row| row.number("trial")).reduce(f64::max);
    let trials = most.map_or_else(String::new, |most| format!("up to {}", most + 1.0));
    match &section.origin {
        Some(origin) => {
            let (commit, date, minutes) = (&origin.commit, &origin.date, origin.all_seconds() / 60.0);
            format!("| `{}` | {trials} | {commit} | {date} | {minutes:.1} min |", section.name)
        }
        None => format!("| `{}` | {trials} | | | |", section.name),
    }
}

/// Text that does not end a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::tests::report;

    #[test]
    fn every_statement_is_a_row_of_its_paper_s_table() {
        let mut sections = report().sections;
        sections[0].findings[0].paper = "003: |A|".into();
        let text = markdown(&sections);
        assert!(text.starts_with("**003 Adaptive Cuckoo Filters**: "), "{text}");
        assert!(text.contains("| `uniform` | 003: \\|A\\| | differs, unexplained |"), "{text}");
        let columns = |line: &str| line.replace("\\|", "").matches('|').count();
        assert!(text.lines().filter(|line| line.starts_with('|')).all(|line| columns(line) == 5 || columns(line) == 6));
    }
}
