//! One estimate with its interval, and where a statement says that it lies.

use super::Sample;
use super::statement::Errors;
use crate::statistics::{self, Interval, Looks};

/// An estimate, how it is judged, and what a statement wants of it.
#[derive(Clone, Debug)]
pub struct Evidence {
    label: String,
    points: Vec<String>,
    /// The trials that gave a value.
    trials: usize,
    /// All trials that the run has looked at.
    looked_at: usize,
    quantity: Quantity,
    wanted: Region,
}

#[derive(Clone, Debug)]
enum Quantity {
    Mean(Vec<f64>),
    Median(Vec<f64>),
    /// The median, or the mean if few trials were planned; of logarithms, as a power of e.
    Typical {
        values: Vec<f64>,
        is_log: bool,
    },
    Ratio(Vec<(f64, f64)>),
    Share {
        yes: u64,
        of: u64,
    },
    Exact(f64),
}

/// Where a statement says that a quantity lies.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Region {
    low: f64,
    high: f64,
}

/// Where an interval lies, compared with the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Surely inside.
    Inside,
    /// Surely outside.
    Outside,
    /// Across a border.
    Unclear,
}

/// An estimate as it is shown.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// What was estimated.
    pub label: String,
    /// The estimate.
    #[serde(flatten)]
    pub interval: Interval,
    /// Where the statement says that it lies: "below 1".
    pub wanted: String,
    /// The number of trials.
    pub trials: usize,
}

impl Evidence {
    fn new(label: impl Into<String>, sample: &Sample, quantity: Quantity) -> Evidence {
        let nowhere = Region { low: f64::INFINITY, high: f64::NEG_INFINITY };
        let (points, trials, looked_at) = (sample.points().to_vec(), sample.len(), sample.looked_at());
        Evidence { label: label.into(), points, trials, looked_at, quantity, wanted: nowhere }
    }

    /// The mean over the trials. For values that are nearly normal: no single event decides a trial.
    pub fn mean(label: impl Into<String>, sample: &Sample) -> Evidence {
        Evidence::new(label, sample, Quantity::Mean(sample.values()))
    }

    /// The median over the trials. For values of any law.
    pub fn median(label: impl Into<String>, sample: &Sample) -> Evidence {
        Evidence::new(label, sample, Quantity::Median(sample.values()))
    }

    /// The mean of one over the mean of the other, over the trials that both have. For values that are nearly normal.
    pub fn ratio(label: impl Into<String>, top: &Sample, bottom: &Sample) -> Evidence {
        Evidence::new(label, &top.with(bottom, |_, _| 0.0), Quantity::Ratio(top.pairs(bottom)))
    }

    /// The median over the trials of the ratio of two counts, each half an event higher, so that two zeros are equal.
    /// For counts of any law, such as those that a few popular keys decide.
    pub fn median_ratio(label: impl Into<String>, top: &Sample, bottom: &Sample) -> Evidence {
        Evidence::median(label, &top.with(bottom, |top, bottom| (top + 0.5) / (bottom + 0.5)))
    }

    /// The median over the trials, or the mean if the run planned too few trials for medians, as the papers do.
    pub fn typical(label: impl Into<String>, sample: &Sample) -> Evidence {
        Evidence::new(label, sample, Quantity::Typical { values: sample.values(), is_log: false })
    }

    /// The same of the ratio of two counts, each half an event higher: the median, or the geometric mean.
    pub fn typical_ratio(label: impl Into<String>, top: &Sample, bottom: &Sample) -> Evidence {
        let logs = top.with(bottom, |top, bottom| ((top + 0.5) / (bottom + 0.5)).ln());
        Evidence::new(label, &logs, Quantity::Typical { values: logs.values(), is_log: true })
    }

    /// A probability: `yes` of `of` over all trials, each an independent yes or no.
    pub fn share(label: impl Into<String>, yes: &Sample, of: &Sample) -> Evidence {
        let pairs = yes.pairs(of);
        let sum = |pick: fn(&(f64, f64)) -> f64| pairs.iter().map(pick).sum::<f64>() as u64;
        let quantity = Quantity::Share { yes: sum(|pair| pair.0), of: sum(|pair| pair.1) };
        Evidence::new(label, &yes.with(of, |_, _| 0.0), quantity)
    }

    /// A value that is not a sample: computed, or a bound that held in every trial seen.
    pub fn exact(label: impl Into<String>, value: f64) -> Evidence {
        Evidence::new(label, &Sample::default(), Quantity::Exact(value))
    }

    /// The statement says that the quantity is at most this.
    #[must_use]
    pub fn below(self, high: f64) -> Evidence {
        self.within(f64::NEG_INFINITY, high)
    }

    /// The statement says that the quantity is at least this.
    #[must_use]
    pub fn above(self, low: f64) -> Evidence {
        self.within(low, f64::INFINITY)
    }

    /// The statement says that the quantity lies between these.
    #[must_use]
    pub fn within(mut self, low: f64, high: f64) -> Evidence {
        self.wanted = Region { low, high };
        self
    }

    /// The points of the experiment that it needs.
    pub(super) fn points(&self) -> &[String] {
        &self.points
    }

    /// The estimate with the interval that decides where it lies. If none does, with one that crosses a border.
    pub(super) fn judge(&self, errors: Errors, looks: Looks) -> (Estimate, Place) {
        let (inside, outside) = (self.at(errors.inside, looks), self.at(errors.outside, looks));
        match (inside.1, outside.1) {
            (Place::Inside, _) => inside,
            (_, Place::Outside) => outside,
            (Place::Unclear, _) => inside,
            (Place::Outside, _) => (outside.0, Place::Unclear),
        }
    }

    /// `true` if it surely contradicts the statement: there a reason is looked for.
    pub fn contradicts(&self, looks: Looks) -> bool {
        self.at(SURE, looks).1 == Place::Outside
    }

    /// The estimate with an interval that has this probability of an error over all looks, and where that lies.
    pub(super) fn at(&self, error: f64, looks: Looks) -> (Estimate, Place) {
        let at_this_look = error * looks.share(self.looked_at);
        let interval = match &self.quantity {
            Quantity::Mean(values) => statistics::mean(values, at_this_look),
            Quantity::Median(values) => statistics::median(values, at_this_look),
            Quantity::Typical { values, is_log } => {
                let center = if is_for_medians(looks) { statistics::median } else { statistics::mean };
                let interval = center(values, at_this_look);
                if *is_log { interval.map(f64::exp) } else { interval }
            }
            Quantity::Ratio(pairs) => statistics::ratio(pairs, at_this_look),
            Quantity::Share { yes, of } => statistics::share(*yes, *of, error),
            Quantity::Exact(value) => Interval::exact(*value),
        };
        let is_sampled = !matches!(self.quantity, Quantity::Exact(_));
        let place = self.wanted.place(interval, is_sampled);
        let wanted = self.wanted.to_string();
        (Estimate { label: self.label(looks), interval, wanted, trials: self.trials }, place)
    }

    /// What was estimated, and how, if that depends on the plan.
    fn label(&self, looks: Looks) -> String {
        match self.quantity {
            Quantity::Typical { is_log, .. } if !is_for_medians(looks) => {
                format!("{}, {}", self.label, if is_log { "geometric mean" } else { "mean" })
            }
            _ => self.label.clone(),
        }
    }
}

/// The error with which a point surely contradicts a statement.
const SURE: f64 = 1e-4;

/// The fewest trials of which the median says anything, even if a statement has many points that divide its error.
const FOR_MEDIANS: usize = 22;

/// `true` if a run plans enough trials for medians. The plan decides, not the number of trials so far: else a run that looks
/// twice would have two chances.
fn is_for_medians(looks: Looks) -> bool {
    looks.first() >= FOR_MEDIANS
}

impl Region {
    /// A sampled interval that touches the border is not inside: two counts that are always equal are neither better nor
    /// worse than each other.
    fn place(self, interval: Interval, is_sampled: bool) -> Place {
        let touches = is_sampled && (interval.low == self.low || interval.high == self.high);
        if interval.estimate.is_nan() {
            Place::Unclear
        } else if interval.low >= self.low && interval.high <= self.high && !touches {
            Place::Inside
        } else if interval.low > self.high || interval.high < self.low {
            Place::Outside
        } else {
            Place::Unclear
        }
    }
}

impl std::fmt::Display for Region {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Region { low, high } = self;
        match (low.is_finite(), high.is_finite()) {
            (true, true) => write!(f, "{} to {}", shown(*low), shown(*high)),
            (true, false) => write!(f, "at least {}", shown(*low)),
            (false, true) => write!(f, "at most {}", shown(*high)),
            (false, false) => f.write_str("any"),
        }
    }
}

/// "label: 0.12 (0.08 to 0.17), wanted: at most 0.2".
impl std::fmt::Display for Estimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Interval { estimate, low, high } = self.interval;
        if !self.label.is_empty() {
            write!(f, "{}: ", self.label)?;
        }
        f.write_str(&shown(estimate))?;
        if !(low.is_finite() || high.is_finite()) || (low, high) == (0.0, f64::INFINITY) {
            f.write_str(" (no interval: too few trials or events, or all trials alike)")?;
        } else if low != high {
            write!(f, " ({} to {})", shown(low), shown(high))?;
        }
        write!(f, ", wanted: {}", self.wanted)
    }
}

/// A number with about three digits.
fn shown(number: f64) -> String {
    match number.abs() {
        _ if number == f64::INFINITY => "∞".into(),
        _ if number == f64::NEG_INFINITY => "-∞".into(),
        size if size == 0.0 || size >= 1e5 => format!("{number:.0}"),
        size if size < 1e-3 => format!("{number:.2e}"),
        size => {
            let digits = (2.0 - size.log10().floor()).clamp(0.0, 5.0) as usize;
            let text = format!("{number:.digits$}");
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_interval_that_lies_wholly_on_one_side_decides() {
        let region = Region { low: 1.0, high: 2.0 };
        let place =
            |low: f64, high: f64| region.place(Interval { estimate: f64::midpoint(low, high), low, high }, false);
        assert_eq!(place(1.0, 2.0), Place::Inside);
        assert_eq!(place(2.1, 3.0), Place::Outside);
        assert_eq!(place(0.0, 0.9), Place::Outside);
        assert_eq!(place(1.5, 2.1), Place::Unclear);
        assert_eq!(place(0.0, 9.0), Place::Unclear);
        assert_eq!(region.place(Interval::unknown(f64::NAN), true), Place::Unclear);
        assert_eq!(region.place(Interval::unknown(1.5), true), Place::Unclear);
        assert_eq!(region.place(Interval::exact(1.0), true), Place::Unclear, "a tie decides nothing");
    }

    #[test]
    fn estimates_are_told_with_three_digits() {
        let told = [0.0, 0.123_45, 12.345, 1234.5, 1.5e6, 2.34e-5, f64::INFINITY, 0.5, 100.0].map(shown);
        assert_eq!(told, ["0", "0.123", "12.3", "1234", "1500000", "2.34e-5", "∞", "0.5", "100"]);
        let (estimate, _) = Evidence::exact("bits", 2.0).below(3.0).at(0.05, Looks::from(1));
        assert_eq!(estimate.to_string(), "bits: 2, wanted: at most 3");
    }
}
