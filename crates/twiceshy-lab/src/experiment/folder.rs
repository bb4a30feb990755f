//! The folder of a run. It holds exactly one run.

use super::kept::Kept;
use super::origin::build;
use super::{Experiment, Origin, Setup, Size, Table, TableError};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What all experiments in a folder have in common, and where the data of each come from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Facts {
    /// How much was measured.
    pub size: Size,
    /// The random seed.
    pub seed: u64,
    /// The version of the code that measured last.
    pub version: String,
    /// The program that measured last.
    #[serde(default)]
    pub build: String,
    /// The origin of each experiment's data, by its name.
    #[serde(default)]
    pub origins: BTreeMap<String, Origin>,
}

impl Facts {
    /// The facts of a run by this program, before it has measured anything.
    pub fn new(setup: &Setup) -> Facts {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let (Setup { size, seed, .. }, build) = (setup, build().to_owned());
        Facts { size: *size, seed: *seed, version, build, origins: BTreeMap::new() }
    }
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} size, seed {}", self.size.as_str(), self.seed)
    }
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    /// It holds another run.
    #[error("{folder} holds a run of {found}, not of {wanted}: name another folder with --out", folder = .folder.display())]
    Another {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        found: Box<Facts>,
        /// What was wanted.
        wanted: Box<Facts>,
    },
    /// It holds data of an experiment that another program has measured.
    #[error(
        "{folder} holds data of {experiment} by another build ({found}): remove {experiment}.csv and \
         unfinished/{experiment}.jsonl there to measure it again, add trials to complete data with --more, or name another \
         folder with --out",
        folder = .folder.display()
    )]
    OtherBuild {
        /// The folder.
        folder: PathBuf,
        /// The experiment.
        experiment: String,
        /// The build that measured it.
        found: String,
    },
    /// Another program has begun to add trials to it.
    #[error(
        "{folder} holds trials of {experiment} that another build ({found}) has begun to add: remove \
         unfinished/{experiment}.jsonl there to measure these again, or go on with that build",
        folder = .folder.display()
    )]
    AddedByOther {
        /// The folder.
        folder: PathBuf,
        /// The experiment.
        experiment: String,
        /// The build that has begun to add trials.
        found: String,
    },
    /// Another process writes to it.
    #[error("another run is writing to {}: wait until it ends, or name another folder with --out", .0.display())]
    InUse(PathBuf),
    /// It holds no run.
    #[error("{} holds no run of the lab: run.json is missing. Make one with `twiceshy lab run`", .0.display())]
    NoRun(PathBuf),
    /// A file in it is damaged.
    #[error("cannot read {path} ({why}): remove it and run again", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {error}", path = .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
}

/// A folder that holds the tables of one run.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    facts: Mutex<Facts>,
    /// The most trials of a point in this run, if it is limited.
    trials: Option<u64>,
    /// Held while the folder is written to. The system releases it when the process ends.
    _lock: Option<File>,
}

/// The columns of a trial, behind an experiment's own.
pub(super) const OF_TRIAL: [&str; 2] = ["point", "trial"];

const FACTS: &str = "run.json";
const LOCK: &str = ".lock";

impl Folder {
    /// The folder to measure into; created if missing.
    pub fn for_run(path: &Path, setup: &Setup) -> Result<Folder, FolderError> {
        let at = |path: &Path| failed(path.to_owned());
        fs::create_dir_all(path.join("unfinished")).map_err(at(path))?;
        let lock = File::create(path.join(LOCK)).map_err(at(&path.join(LOCK)))?;
        if let Err(fs::TryLockError::WouldBlock) = lock.try_lock() {
            return Err(FolderError::InUse(path.to_owned()));
        }
        let mut facts = Facts::new(setup);
        match read_facts(path) {
            Ok(found) if (found.size, found.seed) != (facts.size, facts.seed) => {
                let (found, wanted) = (Box::new(found), Box::new(facts));
                return Err(FolderError::Another { folder: path.to_owned(), found, wanted });
            }
            Ok(found) => facts.origins = found.origins,
            Err(FolderError::NoRun(_)) => {}
            Err(error) => return Err(error),
        }
        let folder =
            Folder { path: path.to_owned(), facts: Mutex::new(facts), trials: setup.trials, _lock: Some(lock) };
        folder.write_facts()?;
        Ok(folder)
    }

    /// A folder that already holds a run, for drawing.
    pub fn to_draw(path: &Path) -> Result<Folder, FolderError> {
        Ok(Folder { path: path.to_owned(), facts: Mutex::new(read_facts(path)?), trials: None, _lock: None })
    }

    /// What all its experiments have in common.
    pub fn facts(&self) -> Facts {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write_facts(&self) -> Result<(), FolderError> {
        let text = serde_json::to_string_pretty(&*self.lock()).unwrap_or_default() + "\n";
        write_whole(&self.path.join(FACTS), text.as_bytes())
    }

    /// Where the data of an experiment come from; `None` if there are none.
    pub fn origin(&self, experiment: &dyn Experiment) -> Option<Origin> {
        self.lock().origins.get(experiment.name()).cloned()
    }

    /// Notes that this program measures an experiment. An error if another program has begun to: its points may be others
    /// under the same names.
    pub(super) fn claim(&self, experiment: &dyn Experiment) -> Result<(), FolderError> {
        let has_data = self.csv(experiment).exists() || self.is_begun(experiment);
        match self.origin(experiment).filter(|_| has_data) {
            Some(found) if found.build != build() => Err(FolderError::OtherBuild {
                folder: self.path.clone(),
                experiment: experiment.name().to_owned(),
                found: found.build,
            }),
            Some(_) => Ok(()),
            None => self.note(experiment, Origin::here()),
        }
    }

    /// Notes that this program adds trials to the complete data of an experiment. An error if another program has begun to.
    pub(super) fn claim_more(&self, experiment: &dyn Experiment) -> Result<(), FolderError> {
        let Some(mut origin) = self.origin(experiment) else { return self.note(experiment, Origin::here()) };
        let begun_by = origin.adding.as_ref().map_or(&origin.build, |adding| &adding.build);
        if self.is_begun(experiment) && begun_by != build() {
            let (experiment, found) = (experiment.name().to_owned(), begun_by.clone());
            return Err(FolderError::AddedByOther { folder: self.path.clone(), experiment, found });
        }
        origin.adding = (origin.build != build()).then(|| Box::new(Origin::here()));
        self.note(experiment, origin)
    }

    /// `true` if tasks of an experiment are finished that are not in its data.
    pub(super) fn is_begun(&self, experiment: &dyn Experiment) -> bool {
        fs::metadata(self.journal(experiment)).is_ok_and(|journal| journal.len() > 0)
    }

    fn note(&self, experiment: &dyn Experiment, origin: Origin) -> Result<(), FolderError> {
        self.lock().origins.insert(experiment.name().to_owned(), origin);
        self.write_facts()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of an experiment's data.
    pub fn csv(&self, experiment: &dyn Experiment) -> PathBuf {
        self.path.join(experiment.name()).with_extension("csv")
    }

    pub(super) fn journal(&self, experiment: &dyn Experiment) -> PathBuf {
        self.path.join("unfinished").join(experiment.name()).with_extension("jsonl")
    }

    /// An experiment's data; `None` if it is not complete.
    pub fn table(&self, experiment: &dyn Experiment) -> Result<Option<Table>, FolderError> {
        let path = self.csv(experiment);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(FolderError::File { path, error }),
        };
        let damaged = |why: String| FolderError::Damaged { path: path.clone(), why };
        let table = Table::read(file).map_err(|error: TableError| damaged(error.to_string()))?;
        let mut wanted = experiment.columns().iter().chain(&OF_TRIAL);
        let missing = wanted.find(|column| !table.columns().iter().any(|name| name == *column));
        match missing {
            Some(column) => Err(damaged(format!("it has no column {column}"))),
            None => Ok(Some(table)),
        }
    }

    /// The columns of an experiment's data: its own, those of a trial, and the facts of the run.
    fn columns(experiment: &dyn Experiment) -> Vec<&'static str> {
        experiment.columns().iter().copied().chain(OF_TRIAL).chain(["size", "seed", "version"]).collect()
    }

    /// An experiment's data, to add trials to.
    pub(super) fn kept(&self, experiment: &dyn Experiment, table: &Table) -> Kept {
        Kept::new(experiment, table, &Folder::columns(experiment))
    }

    /// An experiment's data so far. Lines that this run has measured get its facts.
    pub(super) fn table_of(&self, experiment: &dyn Experiment, lines: Vec<super::Line>) -> Table {
        let facts = self.lock();
        let columns = Folder::columns(experiment);
        let own = experiment.columns().len() + OF_TRIAL.len();
        let mut table = Table::new(columns.iter().copied());
        for mut line in lines {
            if line.len() < columns.len() {
                line.resize(own, super::Value::from(""));
                line.extend(super::line![facts.size.as_str(), facts.seed, facts.version.as_str()]);
            }
            table.push(line);
        }
        table
    }

    /// Writes an experiment's data. The tasks of this run took so long together.
    pub(super) fn keep(&self, experiment: &dyn Experiment, table: &Table, seconds: f64) -> Result<(), FolderError> {
        let path = self.csv(experiment);
        let mut bytes = Vec::new();
        table.write(&mut bytes).map_err(|error| FolderError::Damaged { path: path.clone(), why: error.to_string() })?;
        write_whole(&path, &bytes)?;
        let mut origin = self.origin(experiment).unwrap_or_else(Origin::here);
        if let Some(adding) = origin.adding.take() {
            let mut earlier = std::mem::take(&mut origin.earlier);
            earlier.push(origin);
            origin = Origin { earlier, ..*adding };
        }
        // The time of an earlier run of the same build is in `origin.seconds`.
        let seconds = seconds + origin.seconds;
        self.note(experiment, Origin { seconds, trials: self.trials, ..origin })
    }
}

/// Writes a file completely or not at all.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let written = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    written.map_err(failed(path.to_owned()))
}

pub(super) fn failed(path: PathBuf) -> impl FnOnce(io::Error) -> FolderError {
    move |error| FolderError::File { path, error }
}

fn read_facts(folder: &Path) -> Result<Facts, FolderError> {
    let path = folder.join(FACTS);
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| FolderError::Damaged { path, why: error.to_string() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FolderError::NoRun(folder.to_owned())),
        Err(error) => Err(FolderError::File { path, error }),
    }
}
