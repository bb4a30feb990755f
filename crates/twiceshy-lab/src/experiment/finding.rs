//! A paper's statement next to the measurement.

use super::Estimate;

/// One statement of a paper, compared with the data.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// What the paper says, with its place: "003 section 4.1: the second variant is better in almost all cases".
    pub paper: String,
    /// What was estimated to test it.
    pub tested: String,
    /// What was measured, in numbers, with intervals.
    pub measured: String,
    /// Whether they agree.
    pub verdict: Verdict,
    /// Every estimate with its interval.
    pub estimates: Vec<Estimate>,
}

/// Whether paper and measurement agree.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case", tag = "verdict", content = "why")]
pub enum Verdict {
    /// They agree: every interval lies where the statement says.
    Agrees,
    /// They differ, for this reason, which was measured too.
    Differs(String),
    /// They differ, without a reason that the data support.
    Unexplained,
    /// The data cannot decide within the budget of trials.
    Open(String),
}

/// For experiments that are not statements yet.
#[doc(hidden)]
impl Finding {
    pub fn new(paper: impl Into<String>, measured: impl Into<String>, holds: bool) -> Finding {
        let verdict = if holds { Verdict::Agrees } else { Verdict::Unexplained };
        Finding {
            paper: paper.into(),
            tested: String::new(),
            measured: measured.into(),
            verdict,
            estimates: Vec::new(),
        }
    }

    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Finding {
        if self.verdict == Verdict::Unexplained {
            self.verdict = Verdict::Differs(why.into());
        }
        self
    }

    #[must_use]
    pub fn of(mut self, points: usize) -> Finding {
        if points == 0 {
            self.verdict = Verdict::Unexplained;
        }
        self
    }

    #[must_use]
    pub fn open_if(mut self, thin: bool, why: impl Into<String>) -> Finding {
        if thin {
            self.verdict = Verdict::Open(why.into());
        }
        self
    }

    pub fn open(paper: impl Into<String>, measured: impl Into<String>, why: impl Into<String>) -> Finding {
        Finding::new(paper, measured, false).open_if(true, why)
    }
}
