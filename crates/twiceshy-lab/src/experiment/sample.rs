//! What the trials of some points gave: one value for each trial.

use super::{Row, Table};
use std::collections::BTreeMap;

/// One value for each trial, and the points of the experiment that it was measured at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    points: Vec<String>,
    values: BTreeMap<u64, f64>,
}

impl Sample {
    /// The points that more trials are needed of, if the sample is too small.
    pub fn points(&self) -> &[String] {
        &self.points
    }

    /// The number of trials.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The number of trials up to the last that gave a value. Some may have given none.
    pub(super) fn looked_at(&self) -> usize {
        self.values.last_key_value().map_or(0, |(last, _)| last.saturating_add(1) as usize)
    }

    /// `true` if there are no trials.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values, in the order of the trials.
    pub fn values(&self) -> Vec<f64> {
        self.values.values().copied().collect()
    }

    /// The sum of all values.
    pub fn sum(&self) -> f64 {
        self.values.values().sum()
    }

    /// The mean of all values; NaN without trials.
    pub fn mean(&self) -> f64 {
        self.sum() / self.len() as f64
    }

    /// The sample of a function of the value.
    #[must_use]
    pub fn map(mut self, of: impl Fn(f64) -> f64) -> Sample {
        self.values.values_mut().for_each(|value| *value = of(*value));
        self
    }

    /// The sample of a function of two values, over the trials that both have.
    #[must_use]
    pub fn with(&self, other: &Sample, of: impl Fn(f64, f64) -> f64) -> Sample {
        let pairs = self.pairs(other);
        let trials = self.values.keys().filter(|trial| other.values.contains_key(trial));
        let values = trials.zip(pairs).map(|(trial, (a, b))| (*trial, of(a, b))).collect();
        let mut points = self.points.clone();
        points.extend(other.points.iter().filter(|point| !self.points.contains(point)).cloned());
        Sample { points, values }
    }

    /// The pairs of the trials that both have.
    pub fn pairs(&self, other: &Sample) -> Vec<(f64, f64)> {
        self.values.iter().filter_map(|(trial, value)| Some((*value, *other.values.get(trial)?))).collect()
    }
}

impl Table {
    /// For each trial the mean of a column over the trial's lines.
    pub fn sample(&self, column: &str) -> Sample {
        self.sample_by(|rows| {
            let values: Vec<f64> = rows.iter().filter_map(|row| row.number(column)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        })
    }

    /// For each trial a value computed from all its lines.
    pub fn sample_by(&self, of: impl Fn(&[Row<'_>]) -> Option<f64>) -> Sample {
        let mut trials: BTreeMap<u64, Vec<Row<'_>>> = BTreeMap::new();
        for row in self.rows() {
            if let Some(trial) = row.number("trial") {
                trials.entry(trial as u64).or_default().push(row);
            }
        }
        let points = self.values("point").iter().map(ToString::to_string).collect();
        let values = trials.iter().filter_map(|(trial, rows)| Some((*trial, of(rows)?))).collect();
        Sample { points, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line;

    fn table() -> Table {
        let mut table = Table::new(["x", "y", "point", "trial"]);
        for (x, y, point, trial) in [(2u32, 1.0, "b", 0u32), (1, 3.0, "a", 0), (1, 5.0, "a", 1), (2, 3.0, "b", 0)] {
            table.push(line![x, y, point, trial]);
        }
        table
    }

    #[test]
    fn a_trial_of_many_lines_is_one_value_and_pairs_are_of_the_same_trial() {
        let (a, b) = (table().only("x", 1u32).sample("y"), table().only("x", 2u32).sample("y"));
        assert_eq!((a.values(), b.values()), (vec![3.0, 5.0], vec![2.0]));
        assert_eq!(a.pairs(&b), [(3.0, 2.0)]);
        let both = a.with(&b, |a, b| a - b);
        assert_eq!((both.values(), both.points().join(" ")), (vec![1.0], "a b".to_owned()));
    }
}
