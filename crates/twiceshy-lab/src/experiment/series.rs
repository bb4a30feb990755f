//! The points of a curve, each with its interval over the trials.

use super::{Row, Table};
use crate::interval;
use std::collections::BTreeMap;

/// Points by rising x, each with the 95 % interval over its trials where there are trials enough.
///
/// A list of points without trials converts into one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub(super) points: Vec<(f64, f64)>,
    pub(super) intervals: Vec<Option<(f64, f64)>>,
}

impl From<Vec<(f64, f64)>> for Series {
    fn from(points: Vec<(f64, f64)>) -> Series {
        Series { points, intervals: Vec::new() }
    }
}

impl IntoIterator for Series {
    type Item = (f64, f64);
    type IntoIter = std::vec::IntoIter<(f64, f64)>;

    /// The points without their intervals.
    fn into_iter(self) -> Self::IntoIter {
        self.points.into_iter()
    }
}

impl std::ops::Deref for Series {
    type Target = [(f64, f64)];

    fn deref(&self) -> &[(f64, f64)] {
        &self.points
    }
}

/// The trials at one x.
#[derive(Default)]
struct Group {
    x: f64,
    values: Vec<f64>,
    /// `false` if a line does not say which trial it is of.
    are_trials: bool,
}

impl Table {
    /// The means of a column over another, for curves, with Student's intervals over the trials: each x once.
    pub fn means(&self, x: &str, y: &str) -> Series {
        self.means_by(x, |rows| mean_of(rows, y))
    }

    /// The means of what a function makes of the lines that a trial has at an x.
    pub fn means_by(&self, x: &str, of: impl Fn(&[Row<'_>]) -> Option<f64>) -> Series {
        self.series(x, of, |values| values.iter().sum::<f64>() / values.len() as f64, interval::student)
    }

    /// The medians of a column over another, with their intervals by order statistics: each x once. For values of which a
    /// few trials decide the mean.
    pub fn medians(&self, x: &str, y: &str) -> Series {
        self.medians_by(x, |rows| mean_of(rows, y))
    }

    /// The medians of what a function makes of the lines that a trial has at an x.
    pub fn medians_by(&self, x: &str, of: impl Fn(&[Row<'_>]) -> Option<f64>) -> Series {
        self.series(x, of, median, interval::of_median)
    }

    fn series(
        &self,
        x: &str,
        of: impl Fn(&[Row<'_>]) -> Option<f64>,
        middle: impl Fn(&[f64]) -> f64,
        interval: impl Fn(&[f64]) -> Option<(f64, f64)>,
    ) -> Series {
        let mut series = Series::default();
        for Group { x, values, are_trials } in self.groups(x, of) {
            series.points.push((x, middle(&values)));
            series.intervals.push(if are_trials { interval(&values) } else { None });
        }
        series
    }

    /// One value for each trial at each x, by rising x. A trial of one point is another trial than that of another.
    fn groups(&self, x: &str, of: impl Fn(&[Row<'_>]) -> Option<f64>) -> Vec<Group> {
        let mut trials: BTreeMap<(u64, String, Option<u64>), Vec<Row<'_>>> = BTreeMap::new();
        for row in self.rows() {
            let trial = row.number("trial").map(|trial| trial as u64);
            if let Some(at) = row.number(x) {
                // The sum brings the two zeros together.
                trials.entry(((at + 0.0).to_bits(), row.text("point"), trial)).or_default().push(row);
            }
        }
        let mut groups: BTreeMap<u64, Group> = BTreeMap::new();
        for ((x, _, trial), rows) in &trials {
            if let Some(value) = of(rows) {
                let new = || Group { x: f64::from_bits(*x), values: Vec::new(), are_trials: true };
                let group = groups.entry(*x).or_insert_with(new);
                group.values.push(value);
                group.are_trials &= trial.is_some();
            }
        }
        let mut groups: Vec<Group> = groups.into_values().collect();
        groups.sort_by(|a, b| a.x.total_cmp(&b.x));
        groups
    }
}

/// The mean of a column over some lines.
fn mean_of(rows: &[Row<'_>], column: &str) -> Option<f64> {
    let values: Vec<f64> = rows.iter().filter_map(|row| row.number(column)).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match (sorted.len(), sorted.len() / 2) {
        (0, _) => f64::NAN,
        (count, half) if count % 2 == 1 => sorted[half],
        (_, half) => f64::midpoint(sorted[half - 1], sorted[half]),
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
    fn a_curve_goes_through_the_means_in_order() {
        assert_eq!(*table().means("x", "y"), [(1.0, 4.0), (2.0, 2.0)]);
        assert_eq!(*table().medians("x", "y"), [(1.0, 4.0), (2.0, 2.0)]);
        let halves = table().means_by("x", |rows| Some(rows.len() as f64 / 2.0));
        assert_eq!(*halves, [(1.0, 0.5), (2.0, 1.0)]);
    }

    #[test]
    fn an_interval_is_over_trials_and_not_over_lines() {
        let series = table().means("x", "y");
        assert!(series.intervals[0].is_some_and(|(low, high)| low == 0.0 && high > 16.0), "{series:?}");
        assert_eq!(series.intervals[1], None, "two lines of one trial");
        let mut untold = Table::new(["x", "y"]);
        (0..9).for_each(|y| untold.push(line![1.0, f64::from(y)]));
        assert_eq!(untold.means("x", "y").intervals, [None], "lines that name no trial");
    }

    #[test]
    fn equal_numbers_of_trials_of_two_points_are_different_trials() {
        let mut table = table();
        table.push(line![1u32, 4.0, "c", 0u32]);
        let narrower = table.means("x", "y").intervals[0];
        assert!(narrower.is_some_and(|(low, high)| low > 1.0 && high < 7.0), "{narrower:?}");
    }
}
