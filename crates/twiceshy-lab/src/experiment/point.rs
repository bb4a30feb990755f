//! A point of an experiment: what is measured again in every trial.

use super::{Line, Task, TaskError, Value};
use crate::workload::rng::Rng;
use std::sync::Arc;

/// What is measured in every trial: a filter under a workload at one ratio, say.
///
/// Trials are independent of each other. All points of an experiment have the same seed in a trial, so that filters
/// which are compared can have the same keys and queries.
#[derive(Clone)]
pub struct Point {
    /// Its name, unique within the experiment.
    pub name: String,
    /// The estimated time of a trial in seconds.
    pub work: f64,
    /// The most trials, if a trial takes so long that the budget would be too much.
    pub(super) most: Option<u64>,
    settings: String,
    measure: Arc<Measure>,
}

type Measure = dyn Fn(u64) -> Result<Vec<Line>, TaskError> + Send + Sync;

/// How many trials a point gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// At once, before the first look at the data. With fewer than ten few intervals say anything.
    pub first: u64,
    /// In all, as long as a statement is open that needs the point.
    pub most: u64,
}

/// How much work a task may have, in seconds, if it has several trials.
const TASK_WORK: f64 = 1.0;

impl Point {
    /// A point. `settings` are all its settings: an interrupted run continues only with the same. `measure` fills the
    /// lines of a trial, given the trial's seed.
    pub fn new(
        name: impl Into<String>,
        work: f64,
        settings: &impl std::fmt::Debug,
        measure: impl Fn(u64) -> Result<Vec<Line>, TaskError> + Send + Sync + 'static,
    ) -> Point {
        Point { name: name.into(), work, most: None, settings: format!("{settings:?}"), measure: Arc::new(measure) }
    }

    /// The same point with at most this many trials, whatever the budget.
    #[must_use]
    pub fn at_most(mut self, trials: u64) -> Point {
        self.most = Some(trials);
        self
    }

    /// The same point under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Point {
        self.name = name.into();
        self
    }

    /// Measures one trial of a run.
    pub fn trial(&self, seed: u64, trial: u64) -> Result<Vec<Line>, TaskError> {
        (self.measure)(Rng::stream(seed, trial).word())
    }

    /// The tasks of some trials. Each line has the point's name and the trial's number behind the experiment's columns.
    pub(super) fn tasks(&self, seed: u64, trials: std::ops::Range<u64>, columns: usize) -> Vec<Task> {
        let each = ((TASK_WORK / self.work) as u64).clamp(1, 1_000) as usize;
        let task = |first: u64| {
            let (point, last) = (self.clone(), trials.end.min(first + each as u64));
            let name = format!("{}, trials {first} to {}", self.name, last - 1);
            let measure = move || {
                let mut lines = Vec::new();
                for trial in first..last {
                    for mut line in point.trial(seed, trial)? {
                        line.resize(columns, Value::from(""));
                        line.extend([Value::from(point.name.as_str()), Value::from(trial)]);
                        lines.push(line);
                    }
                }
                Ok(lines)
            };
            let task = Task::new(name, self.work * (last - first) as f64, measure).with_settings(&self.settings);
            Task { turn: first, ..task }
        };
        trials.clone().step_by(each).map(task).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::line;

    #[test]
    fn tasks_cover_every_trial_once_and_name_it() {
        let point = Point::new("here", 0.3, &"settings", |seed| Ok(vec![line![seed % 7]]));
        let tasks = point.tasks(5, 4..12, 2);
        assert_eq!(tasks.len(), 3, "three trials each, and the rest");
        let lines: Vec<Line> = tasks.iter().flat_map(|task| task.measure().expect("lines")).collect();
        for (line, trial) in lines.iter().zip(4u64..) {
            assert_eq!(line[1..], line!["", "here", trial]);
            assert_eq!(line[..1], point.trial(5, trial).expect("a line")[0]);
        }
        assert_eq!(lines.len(), 8);
    }
}
