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
