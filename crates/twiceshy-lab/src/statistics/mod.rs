//! Intervals for a run that looks at its data several times.
//!
//! An ordinary 95 % interval is valid for a number of trials fixed beforehand. If trials are added until the answer is
//! clear, it is wrong far more often. So a run plans when it looks ([`Looks`]), and each look has a share of the error.
//!
//! - [`mean`] and [`ratio`], for one look: Student's intervals. They take the trials' values for nearly normal. That holds if a
//!   trial counts ten events or more and no single one decides.
//! - [`median`], for one look: order statistics, with no assumption at all. For heavy tails.
//! - [`share`], for all looks at once: a probability, from independent yes and no. It is a *confidence sequence*: the set of
//!   hypotheses that a test martingale has not refuted, which is a bet against the hypothesis that starts with 1, cannot win on
//!   average while the hypothesis holds, and has at some time 1/`error` with a probability of at most `error` (Ville's
//!   inequality).

mod looks;
mod median;
mod share;
mod student;

pub use looks::Looks;
pub use median::median;
pub use share::share;
pub(crate) use student::quantile;
pub use student::{mean, ratio};

/// An estimate, and an interval that holds the truth.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The best guess.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Nothing is known yet beside the estimate.
    pub fn unknown(estimate: f64) -> Interval {
        Interval { estimate, low: f64::NEG_INFINITY, high: f64::INFINITY }
    }

    /// The interval of a value that is not a sample: computed, or counted in whole.
    pub fn exact(value: f64) -> Interval {
        Interval { estimate: value, low: value, high: value }
    }

    /// The interval of an increasing function of the quantity.
    #[must_use]
    pub fn map(self, increasing: impl Fn(f64) -> f64) -> Interval {
        Interval { estimate: increasing(self.estimate), low: increasing(self.low), high: increasing(self.high) }
    }
}
