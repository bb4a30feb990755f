//! Runs the tasks of experiments on several threads and records each as it ends.

use super::folder::failed;
use super::journal::Journal;
use super::kept::Kept;
use super::{Budget, Experiment, Folder, FolderError, Point, Setup, Table, Task, TaskError};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An experiment starts.
    Begun {
        /// Its name.
        experiment: &'a str,
        /// Its tasks.
        tasks: usize,
        /// Tasks that an earlier run has finished.
        measured: usize,
    },
    /// Something is left out.
    Note {
        /// The experiment's name.
        experiment: &'a str,
        /// What is left out, and why.
        note: &'a str,
    },
    /// Nothing to measure: the experiment's data is missing.
    Nothing {
        /// Its name.
        experiment: &'a str,
    },
    /// A task has ended.
    Ended {
        /// The experiment's name.
        experiment: &'a str,
        /// The task's name.
        task: &'a str,
        /// Its work, as estimated by the experiment.
        work: f64,
    },
    /// Statements are open: more trials follow.
    More {
        /// The experiment's name.
        experiment: &'a str,
        /// Their work.
        work: f64,
    },
    /// An experiment's table is complete.
    Complete {
        /// Its name.
        experiment: &'a str,
        /// The total time of its tasks.
        seconds: f64,
    },
}

/// Why a run ended early. Finished tasks are kept, and the next run continues from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A task failed.
    #[error("{experiment}, {task}: {error}")]
    Task {
        /// The experiment.
        experiment: String,
        /// The task.
        task: String,
        /// The cause.
        error: TaskError,
    },
    /// An experiment measures something else than its data say, so that no trials can be added.
    #[error(
        "{experiment}: {point} was measured again and gives other data than before: remove {experiment}.csv and \
         unfinished/{experiment}.jsonl to measure all of it again"
    )]
    Changed {
        /// The experiment.
        experiment: String,
        /// The point.
        point: String,
    },
    /// An experiment's data end before the first look at them.
    #[error(
        "{experiment} has {trials} trials, fewer than the {first} that a run takes before it looks at the data. They cannot be \
         continued: the intervals do not allow for an earlier look. Remove {experiment}.csv to measure it again"
    )]
    Short {
        /// The experiment.
        experiment: String,
        /// The most trials of a point.
        trials: u64,
        /// The trials that it plans before it looks.
        first: u64,
    },
    /// Two tasks of an experiment have the same name: a bug in the experiment.
    #[error("{0} has two tasks with the same name")]
    TwoAlike(String),
}

/// An experiment that is not complete, with its journal.
struct Open<'a> {
    experiment: &'a dyn Experiment,
    /// Its points, each with the number of trials in `tasks`.
    points: Vec<(Point, u64)>,
    tasks: Vec<Task>,
    journal: Journal,
    /// What was measured before, if trials are added to it.
    kept: Kept,
}

impl Open<'_> {
    /// All tasks, with those that measure trials again.
    fn all(&self) -> impl Iterator<Item = &Task> {
        self.tasks.iter().chain(self.kept.tasks())
    }

    /// The tasks that are not in the journal.
    fn missing(&self) -> impl Iterator<Item = &Task> {
        self.all().filter(|task| !self.journal.has(task))
    }

    /// Those of them that measure trials again.
    fn unchecked(&self) -> impl Iterator<Item = &Task> {
        self.kept.tasks().filter(|task| !self.journal.has(task))
    }

    /// An error if a trial that was measured again came out otherwise.
    fn check(&self) -> Result<(), RunError> {
        let again = |task: &Task| self.journal.all(std::slice::from_ref(task)).map(|(lines, _)| lines);
        let Some(point) = self.kept.changed(again) else { return Ok(()) };
        Err(RunError::Changed { experiment: self.experiment.name().to_owned(), point: point.to_owned() })
    }

    /// Adds tasks for the points that an open statement asks for, if they can get more trials. Returns their work.
    fn ask(&mut self, table: &Table, setup: &Setup) -> f64 {
        let experiment = self.experiment;
        let looks = experiment.looks(table, setup.size);
        let statements = experiment.statements(table, setup.size);
        let asked: Vec<String> = statements.iter().flat_map(|statement| statement.judge_and_ask(looks).1).collect();
        let Budget { first, most } = setup.budget(experiment);
        let wanted = |(point, trials): &(Point, u64)| {
            let doubled = trials.saturating_mul(2).min(most);
            // A limit may end before the next look that was planned. A look in between would be one too many.
            let is_look = looks.share(doubled as usize) < looks.share(*trials as usize);
            let more = if is_look && asked.contains(&point.name) { doubled } else { *trials };
            // A point that the plan did not have before begins like the others.
            more.max(first)
        };
        extend(self, setup, wanted)
    }
}

/// The remaining work of a run, in the unit of [`Task::work`]. More may follow where a statement stays open.
pub fn work_ahead(experiments: &[&dyn Experiment], folder: &Folder, setup: &Setup) -> Result<f64, RunError> {
    let mut ahead = 0.0;
    for experiment in experiments {
        if let Some(open) = open(*experiment, folder, setup)? {
            ahead += open.missing().map(|task| task.work).sum::<f64>();
        }
    }
    Ok(ahead)
}

/// Measures what is missing: first some trials of every point, then more of those that an open statement needs, until
/// none is open or the budget ends. Experiments that measure time come last, one task at a time.
pub fn run(
    experiments: &[&dyn Experiment],
    folder: &Folder,
    setup: &Setup,
    jobs: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), RunError> {
    let (timed, others): (Vec<&dyn Experiment>, Vec<_>) =
        experiments.iter().partition(|experiment| experiment.is_timed());
    for (group, jobs) in [(others, jobs.max(1)), (timed, 1)] {
        let mut open_ones = Vec::new();
        for experiment in group {
            if setup.more && experiment.is_timed() && folder.csv(experiment).exists() {
                let note = "times of two runs do not belong together, so no trials are added";
                tell(Event::Note { experiment: experiment.name(), note });
            }
            if let Some(open) = open(experiment, folder, setup)? {
                for note in experiment.notes(setup) {
                    tell(Event::Note { experiment: experiment.name(), note: &note });
                }
                if open.all().next().is_none() {
                    tell(Event::Nothing { experiment: experiment.name() });
                    continue;
                }
                let (tasks, missing) = (open.all().count(), open.missing().count());
                tell(Event::Begun { experiment: experiment.name(), tasks, measured: tasks - missing });
                open_ones.push(open);
            }
        }
        // First what must come out the same again, so that no new trial is measured in vain.
        measure_all(&tasks(&open_ones, |open| open.unchecked().collect()), folder, jobs, tell)?;
        open_ones.iter().try_for_each(Open::check)?;
        while !open_ones.is_empty() {
            measure_all(&tasks(&open_ones, |open| open.missing().collect()), folder, jobs, tell)?;
            let mut still_open = Vec::new();
            for mut open in open_ones {
                if complete_or_extend(&mut open, folder, setup, tell)? {
                    continue;
                }
                still_open.push(open);
            }
            open_ones = still_open;
        }
    }
    Ok(())
}

/// `None` if the experiment's table is complete.
fn open<'a>(experiment: &'a dyn Experiment, folder: &Folder, setup: &Setup) -> Result<Option<Open<'a>>, RunError> {
    let table = folder.table(experiment)?;
    if let Some(table) = &table
        && setup.more
    {
        return if experiment.is_timed() { Ok(None) } else { open_again(experiment, table, folder, setup) };
    }
    folder.claim(experiment)?;
    if table.is_some() {
        return Ok(None);
    }
    let path = folder.journal(experiment);
    let journal = Journal::open(&path).map_err(failed(path))?;
    let points: Vec<(Point, u64)> = experiment.points(setup).into_iter().map(|point| (point, 0)).collect();
    let mut open = Open { experiment, points, tasks: Vec::new(), journal, kept: Kept::default() };
    let first = setup.budget(experiment).first;
    extend(&mut open, setup, |_| first);
    let mut names: Vec<&str> = open.tasks.iter().map(|task| task.name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(RunError::TwoAlike(experiment.name().to_owned()));
    }
    Ok(Some(open))
}

/// A complete experiment with the tasks that an open statement asks for, and a trial of each of these points that is measured
/// again. `None` if there are none.
fn open_again<'a>(
    experiment: &'a dyn Experiment,
    table: &Table,
    folder: &Folder,
    setup: &Setup,
) -> Result<Option<Open<'a>>, RunError> {
    let kept = folder.kept(experiment, table);
    let with_trials = |point: Point| {
        let trials = kept.trials(&point.name);
        (point, trials)
    };
    let points: Vec<(Point, u64)> = experiment.points(setup).into_iter().map(with_trials).collect();
    let before: Vec<u64> = points.iter().map(|(_, trials)| *trials).collect();
    let first = experiment.budget(setup.size).first;
    let first = points.iter().map(|(point, _)| first.min(point.most.unwrap_or(first))).max().unwrap_or(0);
    let trials = before.iter().copied().max().unwrap_or(0);
    if trials < first {
        return Err(RunError::Short { experiment: experiment.name().to_owned(), trials, first });
    }
    let path = folder.journal(experiment);
    let was_begun = folder.is_begun(experiment);
    let journal = Journal::open(&path).map_err(failed(path.clone()))?;
    let mut open = Open { experiment, points, tasks: Vec::new(), journal, kept };
    if open.ask(table, setup) == 0.0 {
        if !was_begun {
            std::fs::remove_file(&path).map_err(failed(path))?;
        }
        return Ok(None);
    }
    folder.claim_more(experiment)?;
    for ((point, trials), before) in open.points.iter().zip(before) {
        if *trials > before {
            open.kept.check(point, before, setup);
        }
    }
    Ok(Some(open))
}

/// Adds tasks so that each point has as many trials as `wanted` says. Returns their work.
fn extend(open: &mut Open<'_>, setup: &Setup, wanted: impl Fn(&(Point, u64)) -> u64) -> f64 {
    let columns = open.experiment.columns().len();
    let mut work = 0.0;
    for point in &mut open.points {
        let trials = point.1..wanted(point).min(point.0.most.unwrap_or(u64::MAX)).max(point.1);
        point.1 = trials.end;
        let tasks = point.0.tasks(setup.seed, trials, columns);
        work += tasks.iter().map(|task| task.work).sum::<f64>();
        open.tasks.extend(tasks);
    }
    work
}

/// Writes the table if no statement is open, or none can get more trials; else adds tasks and returns `false`.
fn complete_or_extend(
    open: &mut Open<'_>,
    folder: &Folder,
    setup: &Setup,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<bool, RunError> {
    let Some((new, seconds)) = open.journal.all(&open.tasks) else { return Ok(false) };
    let experiment = open.experiment;
    let table = folder.table_of(experiment, [open.kept.lines(), new].concat());
    let work = open.ask(&table, setup);
    if work > 0.0 {
        let missing = open.missing().map(|task| task.work).sum();
        tell(Event::More { experiment: experiment.name(), work: missing });
        return Ok(false);
    }
    folder.keep(experiment, &table, seconds)?;
    let journal = folder.journal(experiment);
    std::fs::remove_file(&journal).map_err(failed(journal))?;
    tell(Event::Complete { experiment: experiment.name(), seconds });
    Ok(true)
}

/// Some tasks of all experiments, point by point in turn, so that a change of the machine's speed affects all of them.
fn tasks<'a, 'b>(
    open_ones: &'a [Open<'b>],
    of: impl Fn(&'a Open<'b>) -> Vec<&'a Task>,
) -> Vec<(&'a Open<'b>, &'a Task)> {
    let mut tasks: Vec<_> =
        open_ones.iter().flat_map(|open| of(open).into_iter().map(move |task| (open, task))).collect();
    tasks.sort_by_key(|(_, task)| task.turn);
    tasks
}

fn measure_all(
    ahead: &[(&Open<'_>, &Task)],
    folder: &Folder,
    jobs: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), RunError> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let failure = Mutex::new(None);
    std::thread::scope(|threads| {
        for _ in 0..jobs.min(ahead.len()) {
            threads.spawn(|| {
                while !stop.load(Ordering::Relaxed)
                    && let Some((open, task)) = ahead.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    if let Err(error) = measure(open, task, folder, tell) {
                        stop.store(true, Ordering::Relaxed);
                        if let Ok(mut failure) = failure.lock() {
                            failure.get_or_insert(error);
                        }
                    }
                }
            });
        }
    });
    failure.into_inner().unwrap_or_default().map_or(Ok(()), Err)
}

fn measure(open: &Open<'_>, task: &Task, folder: &Folder, tell: &(dyn Fn(Event<'_>) + Sync)) -> Result<(), RunError> {
    let begun = Instant::now();
    let lines = task.measure().map_err(|error| RunError::Task {
        experiment: open.experiment.name().to_owned(),
        task: task.name.clone(),
        error,
    })?;
    let noted = open.journal.note(task, begun.elapsed().as_secs_f64(), lines);
    noted.map_err(failed(folder.journal(open.experiment)))?;
    tell(Event::Ended { experiment: open.experiment.name(), task: &task.name, work: task.work });
    Ok(())
}

#[cfg(test)]
mod tests;
