//! The papers' statements next to the measurements, as markup.

use super::shell::words;
use crate::experiment::{Finding, Verdict};
use maud::{Markup, html};

/// How many findings of a section agree, differ and are open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Score {
    pub(super) agree: usize,
    /// They differ, with a reason.
    pub(super) differ: usize,
    pub(super) open: usize,
    /// They differ, without a reason.
    pub(super) unexplained: usize,
}

impl Score {
    pub(super) fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>) -> Score {
        let mut score = Score::default();
        for finding in findings {
            match finding.verdict {
                Verdict::Agrees => score.agree += 1,
                Verdict::Differs(_) => score.differ += 1,
                Verdict::Unexplained => score.unexplained += 1,
                Verdict::Open(_) => score.open += 1,
            }
        }
        score
    }

    /// How many there are of each, in words: "3 agree, 1 is open".
    pub(super) fn told(self) -> String {
        let part = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let parts = [
            part(self.agree, "agrees", "agree"),
            part(self.differ, "differs, with a reason", "differ, with a reason"),
            part(self.open, "is open", "are open"),
            part(self.unexplained, "differs without a reason", "differ without a reason"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "none was tested".into() } else { parts.join(", ") }
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
                        (words(&finding.paper))
                        @if !finding.tested.is_empty() { " " span.tested { "Tested: " (words(&finding.tested)) "." } }
                    }
                    td data-label="Measured" { (words(&finding.measured)) }
                    td data-label="Verdict" { (verdict(&finding.verdict)) }
                }
            } }
        }
    }
}

/// A verdict with its reason.
pub(super) fn verdict(verdict: &Verdict) -> Markup {
    let (class, word, why) = match verdict {
        Verdict::Agrees => ("agrees", "agrees", None),
        Verdict::Differs(why) => ("differs", "differs", Some(why)),
        Verdict::Unexplained => ("unexplained", "differs, unexplained", None),
        Verdict::Open(why) => ("open", "open", Some(why)),
    };
    html! {
        span class={ "verdict " (class) } { (word) }
        @if let Some(why) = why { " " span.why { (words(why)) } }
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
        let findings = [of(0.5), of(2.0).because(reason), of(2.0), of(f64::NAN)]
            .map(|statement| statement.judge(crate::statistics::Looks::from(10)));
        assert_eq!(Score::of(&findings), Score { agree: 1, differ: 1, open: 1, unexplained: 1 });
        assert_eq!(Score::of(&findings[..2]).told(), "1 agrees, 1 differs, with a reason");
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
