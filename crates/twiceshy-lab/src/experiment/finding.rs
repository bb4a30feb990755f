//! A paper's statement next to the measurement.

/// One statement of a paper, compared with the data.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// What the paper says, with its place: "003 section 4.1: the second variant is better in almost all cases".
    pub paper: String,
    /// What was measured, in numbers.
    pub measured: String,
    /// Whether they agree.
    pub verdict: Verdict,
}

/// Whether paper and measurement agree.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub enum Verdict {
    /// They agree.
    Agrees,
    /// They differ, for this reason.
    Differs(String),
    /// They differ, without a known reason.
    Unexplained,
    /// The data cannot decide: too few false positives, or not measured at this size.
    Open(String),
}

impl Finding {
    /// A statement that holds in the data or does not.
    pub fn new(paper: impl Into<String>, measured: impl Into<String>, holds: bool) -> Finding {
        let verdict = if holds { Verdict::Agrees } else { Verdict::Unexplained };
        Finding { paper: paper.into(), measured: measured.into(), verdict }
    }

    /// A statement that the data cannot decide.
    pub fn open(paper: impl Into<String>, measured: impl Into<String>, why: impl Into<String>) -> Finding {
        Finding { paper: paper.into(), measured: measured.into(), verdict: Verdict::Open(why.into()) }
    }

    /// Sets the reason for a difference, if there is one: it is known and understood.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Finding {
        if self.verdict == Verdict::Unexplained {
            self.verdict = Verdict::Differs(why.into());
        }
        self
    }

    /// Sets the number of points that the statement was compared with. With 0 points nothing agrees: nothing was
    /// measured, or a name has changed.
    #[must_use]
    pub fn of(mut self, points: usize) -> Finding {
        if points == 0 {
            self.verdict = Verdict::Unexplained;
        }
        self
    }

    /// Marks the statement as open if there is too little data to decide it either way.
    #[must_use]
    pub fn open_if(mut self, thin: bool, why: impl Into<String>) -> Finding {
        if thin {
            self.verdict = Verdict::Open(why.into());
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_counts_only_where_paper_and_data_differ() {
        assert_eq!(Finding::new("", "", true).because("a reason").verdict, Verdict::Agrees);
        assert_eq!(Finding::new("", "", false).because("a reason").verdict, Verdict::Differs("a reason".into()));
        assert_eq!(Finding::new("", "", false).verdict, Verdict::Unexplained);
        for holds in [true, false] {
            assert_eq!(Finding::new("", "", holds).open_if(true, "thin").verdict, Verdict::Open("thin".into()));
        }
        assert_eq!(Finding::new("", "", true).because("a reason").of(0).verdict, Verdict::Unexplained);
        assert_eq!(Finding::new("", "", true).of(1).verdict, Verdict::Agrees);
        assert_eq!(Finding::new("", "", false).open_if(false, "thin").verdict, Verdict::Unexplained);
    }
}
