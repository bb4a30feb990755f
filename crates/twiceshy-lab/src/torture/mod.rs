//! The kill test of guarded stores.
//! In each round a child process works on a store: it inserts, removes, looks up, saves, and reports each finished
//! operation. At a random moment it is killed. Then the store is opened and checked: it must hold the result of the
//! acknowledged operations, and the filter must know every key. The next child continues with the store as the last one
//! left it. Between two rounds the snapshot may be deleted, damaged or replaced by an old one; even the store may be
//! replaced by an old copy.
//!
//! Most rounds end with an [`Ordeal`]: the snapshot is forged, entries of the store's maps or bytes of its file are changed,
//! or threads work on a store in memory that fails, loses answers, stalls and panics.
//!
//! Killing a process loses what it had in memory, but nothing that it has passed to the operating system. So this tests
//! a crash of the process, not a loss of power.

mod checking;
mod child;
mod damage;
mod fate;
mod flood;
mod folder;
mod forging;
mod keys;
mod model;
mod ordeal;
mod probed;
mod probing;
mod process;
mod report;
mod round;
mod script;
mod spoiling;
mod storm;
mod stormy;
mod tampering;
#[cfg(test)]
mod testing;
mod tickets;
mod trouble;
mod watch;
mod word;

pub use child::work;
pub use ordeal::Ordeal;
pub use probing::probe_damaged;
pub use report::Report;
pub use tickets::{TicketReport, TicketSettings, TicketTurn, run_tickets, work_with_tickets};

use round::Torture;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_store::{Kind, Options, RedbError};

/// The input of [`run`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The random seed. The moments of the kills also depend on the machine, so no two runs are the same.
    pub seed: u64,
    /// The number of rounds.
    pub rounds: u64,
    /// The stores' filter; `None` for all of them in turn.
    pub filter: Option<Kind>,
    /// What else is done to stores; each round has one of these, or none.
    pub ordeals: Vec<Ordeal>,
    /// An existing folder for the stores. A damaged store stays there.
    pub folder: PathBuf,
}

/// The instructions of a child.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The settings' seed.
    pub seed: u64,
    /// The round. It determines the operations, together with the seed.
    pub round: u64,
    /// The store's filter.
    pub filter: Kind,
    /// The filter's false-positive rate.
    pub rate: f64,
    /// How many operations to do before it ends.
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
    /// An operation failed.
    #[error(transparent)]
    Store(#[from] twiceshy_store::Error<RedbError>),
    /// It gave a wrong answer.
    #[error("{0}")]
    Answer(String),
    /// Not an error of the store: the parent no longer reads the child's output.
    #[error("the parent process is gone: {0}")]
    Nobody(#[from] io::Error),
}

/// A run stops after this many failures.
const ENOUGH: usize = 10;

/// The commands of the processes that [`run`] starts.
pub struct Programs<'a> {
    /// A process that calls [`work`] with the same turn and folder, and its standard output.
    pub child: &'a dyn Fn(&Turn, &Path) -> Command,
    /// A process that calls [`probe_damaged`] with the same folder, and its standard output. If that is an error, its exit
    /// code must be 1.
    pub probe: &'a dyn Fn(&Turn, &Path) -> Command,
}

/// Tortures stores. `progress` is called with the number of finished rounds. An error comes from the environment, not
/// from a store.
pub fn run(settings: &Settings, programs: &Programs<'_>, progress: &dyn Fn(u64)) -> io::Result<Report> {
    let mut torture = Torture::new(settings, programs);
    for round in 0..settings.rounds {
        torture.round(round)?;
        progress(round + 1);
        if torture.failures() >= ENOUGH {
            break;
        }
    }
    torture.end()
}
