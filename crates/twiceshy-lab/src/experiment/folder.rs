//! The folder of a run. It holds exactly one run.

use super::{Experiment, Setup, Size, Table, TableError};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What all experiments in a folder have in common.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Facts {
    /// How much was measured.
    pub size: Size,
    /// The random seed.
    pub seed: u64,
    /// The version of the code that measured.
    pub version: String,
    /// The program that measured: the first digits of its BLAKE3 hash. Other code may measure other points under the same
    /// names.
    #[serde(default)]
    pub build: String,
}

impl Facts {
    /// The facts of a run by this program.
    pub fn new(setup: &Setup) -> Facts {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Facts { size: setup.size, seed: setup.seed, version, build: build().to_owned() }
    }
}

/// The first digits of the hash of this program's file; empty if it cannot be read.
fn build() -> &'static str {
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        // On Linux this is the program that runs, even if its file was replaced.
        let program = File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?));
        let hash = program.and_then(|file| Ok(blake3::Hasher::new().update_reader(file)?.finalize()));
        hash.map_or_else(|_| String::new(), |hash| hash.to_hex()[..12].to_owned())
    })
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} size, seed {}, version {}, build {}", self.size.as_str(), self.seed, self.version, self.build)
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
    facts: Facts,
    /// Held while the folder is written to. The system releases it when the process ends.
    _lock: Option<File>,
}

/// The columns of a trial, behind an experiment's own.
const OF_TRIAL: [&str; 2] = ["point", "trial"];

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
        let wanted = Facts::new(setup);
        match read_facts(path) {
            Ok(found) if found != wanted => {
                let (found, wanted) = (Box::new(found), Box::new(wanted));
                return Err(FolderError::Another { folder: path.to_owned(), found, wanted });
            }
            Ok(_) => {}
            Err(FolderError::NoRun(_)) => {
                let text = serde_json::to_string_pretty(&wanted).unwrap_or_default();
                write_whole(&path.join(FACTS), text.as_bytes())?;
            }
            Err(error) => return Err(error),
        }
        Ok(Folder { path: path.to_owned(), facts: wanted, _lock: Some(lock) })
    }

    /// A folder that already holds a run, for drawing.
    pub fn to_draw(path: &Path) -> Result<Folder, FolderError> {
        Ok(Folder { path: path.to_owned(), facts: read_facts(path)?, _lock: None })
    }

    /// What all its experiments have in common.
    pub fn facts(&self) -> &Facts {
        &self.facts
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

    /// An experiment's data so far, each line with the facts of the run.
    pub(super) fn table_of(&self, experiment: &dyn Experiment, lines: Vec<super::Line>) -> Table {
        let own = experiment.columns().iter().copied().chain(OF_TRIAL);
        let mut table = Table::new(own.chain(["size", "seed", "version"]));
        for mut line in lines {
            line.resize(experiment.columns().len() + OF_TRIAL.len(), super::Value::from(""));
            line.extend(super::line![self.facts.size.as_str(), self.facts.seed, self.facts.version.as_str()]);
            table.push(line);
        }
        table
    }

    /// Writes an experiment's data.
    pub(super) fn keep(&self, experiment: &dyn Experiment, table: &Table) -> Result<(), FolderError> {
        let path = self.csv(experiment);
        let mut bytes = Vec::new();
        table.write(&mut bytes).map_err(|error| FolderError::Damaged { path: path.clone(), why: error.to_string() })?;
        write_whole(&path, &bytes)
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
