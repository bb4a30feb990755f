//! The papers' statements next to the measurements, as markup.

use crate::experiment::{Finding, Verdict};
use maud::{Markup, html};

/// How many findings of a section agree, differ and are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) agree: usize,
    /// With or without a reason.
    pub(super) differ: usize,
    /// The differing ones without a reason.
    pub(super) unexplained: usize,
    pub(super) open: usize,
}

impl Score {
    pub(super) fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Score {
        let mut score = Score::default();
        for finding in findings {
            match finding.verdict {
                Verdict::Agrees => score.agree += 1,
                Verdict::Differs(_) => score.differ += 1,
                Verdict::Unexplained => {
                    score.differ += 1;
                    score.unexplained += 1;
                }
                Verdict::Open(_) => score.open += 1,
            }
        }
        score
    }
}

/// The findings of a section as a table.
pub(super) fn table(findings: &[Finding]) -> Markup {
    html! {
        table.findings {
            thead { tr {
                th scope="col" { "The paper" } th scope="col" { "Measured, with intervals" } th scope="col" { "Verdict" }
            } }
            tbody { @for finding in findings {
                tr {
                    td data-label="The paper" {
                        (finding.paper)
                        @if !finding.tested.is_empty() { " " span.tested { "Tested: " (finding.tested) "." } }
                    }
                    td data-label="Measured" { (finding.measured) }
                    td data-label="Verdict" { (verdict(&finding.verdict)) }
                }
            } }
        }
    }
}

fn verdict(verdict: &Verdict) -> Markup {
    let (class, word, why) = match verdict {
        Verdict::Agrees => ("agrees", "agrees", None),
        Verdict::Differs(why) => ("differs", "differs", Some(why)),
        Verdict::Unexplained => ("unexplained", "differs, unexplained", None),
        Verdict::Open(why) => ("open", "open", Some(why)),
    };
    html! {
        span class={ "verdict " (class) } { (word) }
        @if let Some(why) = why { " " span.why { (why) } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Evidence, Statement};

    #[test]
    fn every_verdict_has_a_word_and_its_reason() {
        let of = |value: f64| Statement::new("a", "b").every(vec![Evidence::exact("c", value).below(1.0)]);
        let reason = Statement::new("the table is fuller", "load").every(vec![Evidence::exact("", 0.5).below(1.0)]);
        let findings = [of(0.5), of(2.0).because(reason), of(2.0), of(f64::NAN)].map(|statement| statement.judge());
        assert_eq!(Score::of(&findings), Score { agree: 1, differ: 2, unexplained: 1, open: 1 });
        let text = table(&findings).into_string();
        for words in [
            "agrees</span>",
            "differs</span> <span class=\"why\">the table is fuller",
            "unexplained<",
            "not clear after",
            "Tested: b.",
        ] {
            assert!(text.contains(words), "{words} is missing in {text}");
        }
    }
}
