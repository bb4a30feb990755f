//! Complete data that a run adds trials to.
//!
//! The data may come from another build. So one trial of each point that is continued is measured again, and must give the
//! same lines: then the new trials belong to the same experiment.

use super::{Experiment, Line, Point, Setup, Table, Task};

/// The data of an earlier run, and the trials of it that are measured again.
#[derive(Default)]
pub(super) struct Kept {
    lines: Vec<Line>,
    checks: Vec<Check>,
}

/// A trial that is measured again, and the lines that it must give.
struct Check {
    task: Task,
    point: String,
    expected: Vec<Line>,
}

impl Kept {
    /// The lines of an experiment's table, without the facts of the run.
    pub(super) fn new(table: &Table, columns: usize) -> Kept {
        let own = |row: super::Row<'_>| row.values().iter().take(columns + super::OF_TRIAL.len()).cloned().collect();
        Kept { lines: table.rows().map(own).collect(), checks: Vec::new() }
    }

    /// The lines, for a table of all trials.
    pub(super) fn lines(&self) -> Vec<Line> {
        self.lines.clone()
    }

    /// Each point with the number of its trials in the table.
    pub(super) fn points(experiment: &dyn Experiment, setup: &Setup, table: &Table) -> Vec<(Point, u64)> {
        let with_trials = |point: Point| {
            let trials = table.only("point", point.name.as_str()).values("trial").len() as u64;
            (point, trials)
        };
        experiment.points(setup).into_iter().map(with_trials).collect()
    }

    /// Measures the last trial of a point again, if the point has trials.
    pub(super) fn check(&mut self, point: &Point, trials: u64, setup: &Setup, columns: usize) {
        let Some(last) = trials.checked_sub(1) else { return };
        let of_trial = [point.name.clone(), last.to_string()];
        let is_own =
            |line: &&Line| line[line.len() - of_trial.len()..].iter().map(ToString::to_string).eq(of_trial.clone());
        let expected: Vec<Line> = self.lines.iter().filter(is_own).cloned().collect();
        // One trial is one task.
        let tasks = point.tasks(setup.seed, last..trials, columns).into_iter().take(1);
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
