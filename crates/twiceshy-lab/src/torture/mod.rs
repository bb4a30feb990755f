//! The kill test of guarded stores.
//!
//! In each round a child process works on a store: it inserts, removes, asks, saves, and says after each operation that it has
//! returned. At a random moment it is killed. Then the store is opened and checked: it must hold what the acknowledged
//! operations have made, and the filter must know every key of it. The next child goes on with the store as the last has left
//! it. Between two rounds the snapshot may be lost, damaged, or an old one again; even the store may be an old one again.
//!
//! Killing a process loses what it had in memory, and nothing that it has given to the operating system: this shows what a
//! crash of the process does, not what a loss of power does.

mod checking;
mod child;
mod damage;
mod fate;
mod folder;
mod keys;
mod model;
mod process;
mod report;
mod round;
mod script;
mod word;

pub use child::work;
pub use report::Report;

use round::Torture;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_store::{FilterKind, Options, RedbError};

/// What to do.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where all randomness comes from, but for the machine's own: no two runs kill at the same instruction.
    pub seed: u64,
    /// How many children live.
    pub rounds: u64,
    /// The stores' filter; all of them in turn where there is none.
    pub filter: Option<FilterKind>,
    /// An existing folder for the stores. One that something is wrong with stays there.
    pub folder: PathBuf,
}

/// What a child is told.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The settings' seed.
    pub seed: u64,
    /// The round; its operations follow from it and the seed.
    pub round: u64,
    /// The store's filter.
    pub filter: FilterKind,
    /// The filter's false-positive rate.
    pub rate: f64,
    /// How many operations it does before it ends.
    pub operations: u64,
}

impl Turn {
    fn options(&self) -> Options {
        Options::new().filter(self.filter).false_positive_rate(self.rate)
    }
}

/// What is wrong with a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Wrong {
    /// It failed.
    #[error(transparent)]
    Store(#[from] twiceshy_store::Error<RedbError>),
    /// It answered wrongly.
    #[error("{0}")]
    Answer(String),
    /// Nothing: nobody listens to the child any more.
    #[error("nobody listens: {0}")]
    Nobody(#[from] io::Error),
}

/// How many failures are enough.
const ENOUGH: usize = 10;

/// Tortures stores. `launch` makes the command for a process that calls [`work`] with the same turn and folder, and its
/// standard output. `progress` is told the number of rounds that have ended. An error is of the surroundings, not of a store.
pub fn run(
    settings: &Settings,
    launch: &dyn Fn(&Turn, &Path) -> Command,
    progress: &dyn Fn(u64),
) -> io::Result<Report> {
    let mut torture = Torture::new(settings, launch);
    for round in 0..settings.rounds {
        torture.round(round)?;
        progress(round + 1);
        if torture.failures() >= ENOUGH {
            break;
        }
    }
    torture.end()
}
