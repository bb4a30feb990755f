//! Complete data that a run adds trials to.
//!
//! The data may come from another build. So one trial of each point that is continued is measured again, and must give the
//! same lines: then the new trials belong to the same experiment.

use super::{Experiment, Line, OF_TRIAL, Point, Row, Setup, Table, Task, Value};

/// The data of an earlier run, and the trials of it that are measured again.
#[derive(Default)]
pub(super) struct Kept {
    lines: Vec<Line>,
    /// The columns that a task fills; behind them are the facts of the run that measured the line.
    own: usize,
    checks: Vec<Check>,
}

/// A trial that is measured again, and the lines that it must give.
struct Check {
    task: Task,
    point: String,
    expected: Vec<Line>,
}

impl Kept {
    /// The lines of an experiment's table, in the order of these columns.
    pub(super) fn new(experiment: &dyn Experiment, table: &Table, columns: &[&str]) -> Kept {
        let cell = |row: Row<'_>, column: &str| row.get(column).cloned().unwrap_or_else(|| Value::from(""));
        let line = |row: Row<'_>| columns.iter().map(|column| cell(row, column)).collect();
        let own = experiment.columns().len() + OF_TRIAL.len();
        Kept { lines: table.rows().map(line).collect(), own, checks: Vec::new() }
    }

    /// The lines, for a table of all trials.
    pub(super) fn lines(&self) -> Vec<Line> {
        self.lines.clone()
    }

    /// The lines of a trial, or of all trials of a point, without the facts of their run.
    fn of<'a>(&'a self, point: &'a str, trial: Option<u64>) -> impl Iterator<Item = &'a [Value]> {
        let is_wanted = move |line: &&[Value]| {
            let is_trial = |trial: u64| line[line.len() - 1].to_string() == trial.to_string();
            line[line.len() - OF_TRIAL.len()].to_string() == point && trial.is_none_or(is_trial)
        };
        self.lines.iter().map(|line| &line[..self.own]).filter(is_wanted)
    }

    /// The number of a point's trials.
    pub(super) fn trials(&self, point: &str) -> u64 {
        let last = self.of(point, None).filter_map(|line| line[line.len() - 1].number()).reduce(f64::max);
        last.map_or(0, |last| (last as u64).saturating_add(1))
    }

    /// Measures the last trial of a point again, if the point has trials.
    pub(super) fn check(&mut self, point: &Point, trials: u64, setup: &Setup) {
        let Some(last) = trials.checked_sub(1) else { return };
        let expected: Vec<Line> = self.of(&point.name, Some(last)).map(<[Value]>::to_vec).collect();
        // One trial is one task.
        let tasks = point.tasks(setup.seed, last..trials, self.own - OF_TRIAL.len()).into_iter().take(1);
        self.checks.extend(tasks.map(|task| {
            let task = Task { name: format!("{}, trial {last} again", point.name), ..task };
            Check { task, point: point.name.clone(), expected: expected.clone() }
        }));
    }

    /// The tasks that measure trials again.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.checks.iter().map(|check| &check.task)
    }

    /// The first point that now measures something else, given the lines of a task.
    pub(super) fn changed(&self, lines: impl Fn(&Task) -> Option<Vec<Line>>) -> Option<&str> {
        let text = |lines: &[Line]| lines.iter().map(|line| line.iter().map(ToString::to_string).collect()).collect();
        let differs = |check: &&Check| {
            let [found, expected]: [Vec<Vec<String>>; 2] =
                [text(&lines(&check.task).unwrap_or_default()), text(&check.expected)];
            found != expected
        };
        self.checks.iter().find(differs).map(|check| check.point.as_str())
    }
}
