//! The papers' experiments. Each measures with this code what a paper claims, and reports where the two agree.
//!
//! An [`Experiment`] is a list of [`Point`]s that are measured in independent trials and fill a [`Table`], the
//! [`Picture`]s drawn from it, and the [`Statement`]s of the paper, each with its evidence in the table. Points get more
//! trials while a statement that needs them is open and the [`Budget`] lasts. Measuring ([`run`]) and drawing
//! ([`report`](crate::report)) are separate: pictures and [`Finding`]s are made from the tables alone.

mod contender;
pub mod contest;
mod evidence;
mod finding;
mod folder;
mod journal;
mod kept;
mod origin;
mod picture;
mod point;
mod run;
mod sample;
mod series;
mod statement;
mod table;

pub use contender::{Contender, SECOND_BROOM};
pub use evidence::{Estimate, Evidence};
pub use finding::{Finding, Verdict};
use folder::OF_TRIAL;
pub(crate) use folder::write_whole;
pub use folder::{Facts, Folder, FolderError};
pub use origin::Origin;
pub use picture::{Axis, Curve, Kind, Picture, Scale};
pub use point::{Budget, Point};
pub use run::{Event, RunError, run, work_ahead};
pub use sample::Sample;
pub use series::Series;
#[cfg(test)]
pub(crate) use statement::STATEMENTS;
pub use statement::Statement;
pub use table::{Line, Row, Table, TableError, Value, line};

use crate::statistics::Looks;
use std::path::PathBuf;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// Takes a second or two: as small as the statements allow. For tests.
    Tiny,
    /// Takes seconds: smaller tables, fewer trials.
    Quick,
    /// As in the paper.
    Paper,
}

impl Size {
    /// Selects one of two values by size. The tiny size takes the quick one.
    pub fn pick<T>(self, quick: T, paper: T) -> T {
        match self {
            Size::Tiny | Size::Quick => quick,
            Size::Paper => paper,
        }
    }

    /// Selects one of three values by size.
    pub fn of<T>(self, tiny: T, quick: T, paper: T) -> T {
        match self {
            Size::Tiny => tiny,
            Size::Quick => quick,
            Size::Paper => paper,
        }
    }

    /// The size's name in files.
    pub fn as_str(self) -> &'static str {
        self.of("tiny", "quick", "paper")
    }
}

/// Settings shared by all tasks of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How much is measured.
    pub size: Size,
    /// The random seed.
    pub seed: u64,
    /// The folder of recorded traces, if there is one.
    pub data: Option<PathBuf>,
    /// The most trials of a point; `None` for as many as each experiment plans.
    pub trials: Option<u64>,
    /// `true` to add trials to complete data whose statements are open, also to data of another build if its trials can be
    /// measured again with the same result.
    pub more: bool,
    /// A deliberate error.
    pub planted: Planted,
}

impl Setup {
    /// A setup without recorded traces and without a deliberate error.
    pub fn new(size: Size, seed: u64) -> Setup {
        Setup { size, seed, data: None, trials: None, more: false, planted: Planted::Nothing }
    }

    /// How many trials a point of an experiment gets in this run.
    pub(crate) fn budget(&self, experiment: &dyn Experiment) -> Budget {
        let (Budget { first, most }, limit) = (experiment.budget(self.size), self.trials.unwrap_or(u64::MAX));
        Budget { first: first.min(limit), most: most.min(limit) }
    }
}

/// A deliberate error, planted to see that the findings catch it. For tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Planted {
    /// All is as it should be.
    #[default]
    Nothing,
    /// Filters break their rule: each experiment says how.
    WrongRule,
    /// Models and formulas are a tenth too high.
    BiasedModel,
}

impl Planted {
    /// A model's value: a tenth too high if that error is planted.
    pub fn model(self, value: f64) -> f64 {
        if self == Planted::BiasedModel { value * 1.1 } else { value }
    }
}

/// An experiment.
pub trait Experiment: Sync {
    /// Its name on the command line and in file names.
    fn name(&self) -> &str;

    /// What the paper claims, in a sentence without a full stop.
    fn claim(&self) -> &str;

    /// What it measures, as a heading that is true whatever comes out: "Insertions a second, over the load".
    fn measures(&self) -> &str;

    /// What it reproduces: "003, Figures 1 to 3".
    fn source(&self) -> &str;

    /// How it is measured at a size, and where that departs from the paper: paragraphs for the report.
    fn method(&self, size: Size) -> Vec<String>;

    /// The columns of its table.
    fn columns(&self) -> &'static [&'static str];

    /// The points, in the order of the table.
    fn points(&self, setup: &Setup) -> Vec<Point>;

    /// What is left out of the points, and why: a line for each.
    fn notes(&self, _: &Setup) -> Vec<String> {
        Vec::new()
    }

    /// How many trials a point gets.
    fn budget(&self, size: Size) -> Budget {
        size.pick(Budget { first: 10, most: 40 }, Budget { first: 10, most: 100 })
    }

    /// The pictures of a table.
    fn pictures(&self, table: &Table) -> Vec<Picture>;

    /// The paper's statements, with their evidence in a table.
    fn statements(&self, table: &Table, size: Size) -> Vec<Statement>;

    /// The paper's statements, compared with a table.
    fn findings(&self, table: &Table, size: Size) -> Vec<Finding> {
        let looks = self.looks(table, size);
        self.statements(table, size).iter().map(|statement| statement.judge(looks)).collect()
    }

    /// When a run looks at its data: first after the planned trials, or after fewer if the run was limited to them.
    fn looks(&self, table: &Table, size: Size) -> Looks {
        let measured = table.rows().filter_map(|row| row.number("trial")).fold(0.0, f64::max) as u64;
        Looks::from(self.budget(size).first.min(measured.saturating_add(1)) as usize)
    }

    /// `true` if it measures time and must have the machine to itself.
    fn is_timed(&self) -> bool {
        false
    }
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TaskError(String);

impl TaskError {
    /// An error with this cause.
    pub fn new(why: impl std::fmt::Display) -> TaskError {
        TaskError(why.to_string())
    }
}

impl From<crate::replay::ReplayError> for TaskError {
    fn from(error: crate::replay::ReplayError) -> TaskError {
        TaskError::new(error)
    }
}

impl From<crate::game::GameError> for TaskError {
    fn from(error: crate::game::GameError) -> TaskError {
        TaskError::new(error)
    }
}

/// A part of an experiment that is measured in one go, independently of the others. An interrupted run continues at the
/// next task.
pub struct Task {
    /// Its name, unique within the experiment.
    pub name: String,
    /// The estimated time in seconds, for the progress bar.
    pub work: f64,
    /// All its settings. A journal entry counts only for the same settings.
    pub(crate) settings: String,
    /// Tasks with a smaller number are measured first.
    pub(crate) turn: u64,
    measure: Box<Measure>,
}

type Measure = dyn Fn() -> Result<Vec<Line>, TaskError> + Send + Sync;

impl Task {
    /// A task that fills lines of the table.
    pub fn new(
        name: impl Into<String>,
        work: f64,
        measure: impl Fn() -> Result<Vec<Line>, TaskError> + Send + Sync + 'static,
    ) -> Task {
        Task { name: name.into(), work, settings: String::new(), turn: 0, measure: Box::new(measure) }
    }

    /// The same task, with all its settings written out.
    #[must_use]
    pub fn with_settings(mut self, settings: &impl std::fmt::Debug) -> Task {
        self.settings = format!("{settings:?}");
        self
    }

    /// Measures it.
    pub fn measure(&self) -> Result<Vec<Line>, TaskError> {
        (self.measure)()
    }
}
