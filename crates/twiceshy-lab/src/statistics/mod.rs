//! Intervals that hold at every look: confidence sequences.
//!
//! An ordinary 95 % interval is valid for a number of trials fixed beforehand. If trials are added until the answer is
//! clear, it is wrong far more often. The intervals here are valid at all numbers of trials at once: the probability
//! that the truth is *ever* outside is at most `error`. So a run may look after every trial, and stop when it likes.
//!
//! Each is the set of hypotheses that a test martingale has not refuted: a bet against the hypothesis that starts with
//! 1, cannot win on average while the hypothesis holds, and has at some time 1/`error` with a probability of at most
//! `error` (Ville's inequality).
//!
//! - [`mean`] and [`ratio`]: the mixture of Gaussian means under an unknown variance (T. L. Lai, 1976; H. Wang and A.
//!   Ramdas, *Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance*, 2024). They take
//!   the trials' values for nearly normal. That holds if a trial counts ten events or more and no single one decides.
//! - [`median`]: no assumption at all. For heavy tails.
//! - [`share`]: a probability, from independent yes and no.

mod gaussian;
mod yes_no;

pub use gaussian::{mean, ratio};
pub use yes_no::{median, share};

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
