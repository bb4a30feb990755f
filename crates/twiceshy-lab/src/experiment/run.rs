//! Runs the tasks of experiments on several threads and records each as it ends.

use super::folder::failed;
use super::journal::Journal;
use super::{Experiment, Folder, FolderError, Setup, Task, TaskError};
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
    /// Two tasks of an experiment have the same name: a bug in the experiment.
    #[error("{0} has two tasks with the same name")]
    TwoAlike(String),
}

/// An experiment that is not complete, with its journal.
struct Open<'a> {
    experiment: &'a dyn Experiment,
    tasks: Vec<Task>,
    journal: Journal,
    left: AtomicUsize,
}

/// The remaining work of a run, in the unit of [`Task::work`].
pub fn work_ahead(experiments: &[&dyn Experiment], folder: &Folder, setup: &Setup) -> Result<f64, RunError> {
    let mut ahead = 0.0;
    for experiment in experiments {
        if let Some(open) = open(*experiment, folder, setup)? {
            let left = open.tasks.iter().filter(|task| !open.journal.has(task));
            ahead += left.map(|task| task.work).sum::<f64>();
        }
    }
    Ok(ahead)
}

/// Measures what is missing. Experiments that measure time come last, one task at a time.
pub fn run(
    experiments: &[&dyn Experiment],
    folder: &Folder,
    setup: &Setup,
    jobs: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), RunError> {
    let (timed, others): (Vec<_>, Vec<_>) = experiments.iter().partition(|experiment| experiment.is_timed());
    for (group, jobs) in [(others, jobs.max(1)), (timed, 1)] {
        let mut open_ones = Vec::new();
        for experiment in group {
            if let Some(open) = open(experiment, folder, setup)? {
                if open.tasks.is_empty() {
                    tell(Event::Nothing { experiment: experiment.name() });
                    continue;
                }
                let measured = open.tasks.len() - open.left.load(Ordering::Relaxed);
                tell(Event::Begun { experiment: experiment.name(), tasks: open.tasks.len(), measured });
                open_ones.push(open);
            }
        }
        measure_all(&open_ones, folder, jobs, tell)?;
    }
    Ok(())
}

/// `None` if the experiment's table is complete.
fn open<'a>(experiment: &'a dyn Experiment, folder: &Folder, setup: &Setup) -> Result<Option<Open<'a>>, RunError> {
    if folder.table(experiment)?.is_some() {
        return Ok(None);
    }
    let tasks = experiment.tasks(setup);
    let mut names: Vec<&str> = tasks.iter().map(|task| task.name.as_str()).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(RunError::TwoAlike(experiment.name().to_owned()));
    }
    let path = folder.journal(experiment);
    let journal = Journal::open(&path).map_err(failed(path))?;
    let left = AtomicUsize::new(tasks.iter().filter(|task| !journal.has(task)).count());
    Ok(Some(Open { experiment, tasks, journal, left }))
}

fn measure_all(
    open_ones: &[Open<'_>],
    folder: &Folder,
    jobs: usize,
    tell: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(), RunError> {
    let missing = |open: &&Open<'_>| open.left.load(Ordering::Relaxed) == 0;
    for open in open_ones.iter().filter(missing) {
        complete(open, folder, tell)?;
    }
    let all = open_ones.iter().flat_map(|open| open.tasks.iter().map(move |task| (open, task)));
    let ahead: Vec<(&Open<'_>, &Task)> = all.filter(|(open, task)| !open.journal.has(task)).collect();
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
    if open.left.fetch_sub(1, Ordering::Relaxed) == 1 {
        complete(open, folder, tell)?;
    }
    Ok(())
}

/// Turns the journal into the table.
fn complete(open: &Open<'_>, folder: &Folder, tell: &(dyn Fn(Event<'_>) + Sync)) -> Result<(), RunError> {
    if let Some((lines, seconds)) = open.journal.all(&open.tasks) {
        folder.keep(open.experiment, lines)?;
        let journal = folder.journal(open.experiment);
        std::fs::remove_file(&journal).map_err(failed(journal))?;
        tell(Event::Complete { experiment: open.experiment.name(), seconds });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Picture, Size, Table, line};
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// Ten tasks; one of them fails a given number of times.
    struct Failing {
        failures: AtomicU32,
        measured: AtomicU32,
    }

    static FAILING: Failing = Failing { failures: AtomicU32::new(2), measured: AtomicU32::new(0) };

    impl Experiment for Failing {
        fn name(&self) -> &'static str {
            "failing"
        }
        fn claim(&self) -> &'static str {
            "A run continues where it stopped"
        }
        fn source(&self) -> &'static str {
            "a test"
        }
        fn method(&self, _: Size) -> Vec<String> {
            Vec::new()
        }
        fn columns(&self) -> &'static [&'static str] {
            &["number", "square"]
        }
        fn tasks(&self, _: &Setup) -> Vec<Task> {
            let task = |number: u64| {
                Task::new(format!("{number}"), 1.0, move || {
                    FAILING.measured.fetch_add(1, Ordering::Relaxed);
                    let fails = |left: u32| left.checked_sub(1);
                    if number == 5 && FAILING.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fails).is_ok()
                    {
                        return Err(TaskError::new("not now"));
                    }
                    Ok(vec![line![number, number * number]])
                })
            };
            (0..10).map(task).collect()
        }
        fn pictures(&self, _: &Table) -> Vec<Picture> {
            Vec::new()
        }
        fn findings(&self, _: &Table, _: Size) -> Vec<Finding> {
            Vec::new()
        }
    }

    #[test]
    fn a_run_continues_where_it_stopped_and_measures_nothing_twice() {
        let place = tempfile::tempdir().expect("a folder");
        let setup = Setup { size: Size::Quick, seed: 7, data: None };
        let again = || -> Result<Option<Table>, RunError> {
            let folder = Folder::for_run(place.path(), &setup)?;
            run(&[&FAILING], &folder, &setup, 1, &|_| ())?;
            Ok(folder.table(&FAILING)?)
        };
        assert!(matches!(again(), Err(RunError::Task { task, .. }) if task == "5"));
        assert!(again().is_err());
        assert_eq!(FAILING.measured.load(Ordering::Relaxed), 7, "six, and one again");
        let table = again().expect("no failure is left").expect("complete");
        assert_eq!(FAILING.measured.load(Ordering::Relaxed), 12);
        let numbers: Vec<(f64, f64)> = (0..10).map(|number| (f64::from(number), f64::from(number * number))).collect();
        assert_eq!(table.pairs("number", "square"), numbers);
        assert_eq!(table.first("seed"), Some(7.0));
        again().expect("nothing to do");
        assert_eq!(FAILING.measured.load(Ordering::Relaxed), 12);
    }

    #[test]
    fn a_folder_of_another_run_is_refused_and_left_unchanged() {
        let place = tempfile::tempdir().expect("a folder");
        let setup = |seed| Setup { size: Size::Quick, seed, data: None };
        let first = Folder::for_run(place.path(), &setup(1)).expect("a new folder");
        assert!(matches!(Folder::for_run(place.path(), &setup(1)), Err(FolderError::InUse(_))));
        drop(first);
        assert!(matches!(Folder::for_run(place.path(), &setup(2)), Err(FolderError::Another { .. })));
        assert_eq!(Folder::to_draw(place.path()).expect("a run").facts().seed, 1);
        let elsewhere = tempfile::tempdir().expect("a folder");
        assert!(matches!(Folder::to_draw(elsewhere.path()), Err(FolderError::NoRun(_))));
    }
}
