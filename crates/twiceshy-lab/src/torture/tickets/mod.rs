//! The kill test of a guard beside a store.
//!
//! In each round a child process opens a guard, takes tickets, has its rows written and deleted, closes tickets or drops
//! them, resyncs, and is killed at a random moment. The rows are in the parent, as they would be in a server: it hears of
//! every step before and after it. Then a copy of the guard's folder is opened. It must let every row's key pass, and may
//! have keys without a row only where a ticket was open, dropped, or overlapped with another.
//!
//! With [`TicketSettings::power`] the guard's file is on a disk that forgets what was not synced, so a kill is a loss of power.

mod child;
mod server;

pub use child::work_with_tickets;

use super::folder::Folder;
use super::{ENOUGH, Wrong};
use crate::workload::rng::Rng;
use serde::Serialize;
use server::{Fate, Server};
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_store::{Beside, KEYS_FILE, Kind, Options, RedbStore, SNAPSHOT_FILE};

/// The input of [`run_tickets`].
#[derive(Clone, Debug)]
pub struct TicketSettings {
    /// The random seed. The moments of the kills also depend on the machine, so no two runs are the same.
    pub seed: u64,
    /// The number of rounds.
    pub rounds: u64,
    /// The guards' filter; `None` for all of them in turn.
    pub filter: Option<Kind>,
    /// `true` if a kill also loses what was not synced.
    pub power: bool,
    /// An existing folder for the guards. That of a failure stays there.
    pub folder: PathBuf,
}

/// The instructions of a child.
#[derive(Clone, Debug)]
pub struct TicketTurn {
    /// It determines the steps, together with the round.
    pub seed: u64,
    /// The round.
    pub round: u64,
    /// The guard's filter.
    pub filter: Kind,
    /// `true` if the guard's file forgets what was not synced.
    pub power: bool,
    /// How many steps to take before it ends.
    pub steps: u64,
}

impl TicketTurn {
    /// Opens the guard. The rate is high, so that there is always something to learn. A check of an absent answer could hide that a row is
    /// denied.
    fn open(&self, folder: &Path) -> Result<Beside<RedbStore>, Wrong> {
        let options = Options::new().filter(self.filter).false_positive_rate(1.0 / 16.0).spot_check(None);
        if !self.power {
            return Ok(options.beside(folder)?);
        }
        let file = RedbStore::open_volatile(folder.join(KEYS_FILE)).map_err(twiceshy_store::Error::Store)?;
        Ok(options.snapshot(folder.join(SNAPSHOT_FILE)).open_beside(file)?)
    }
}

/// The key of a row.
fn key(number: u64) -> Vec<u8> {
    format!("row-{number}").into_bytes()
}

/// What [`run_tickets`] found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TicketReport {
    /// The seed.
    pub seed: u64,
    /// Rounds that were run.
    pub rounds: u64,
    /// Guards that were made.
    pub guards: u64,
    /// Children that were killed.
    pub killed: u64,
    /// Children that ended by themselves.
    pub ended: u64,
    /// Kills by the last thing that the child had said: what it was about to do, or had just done.
    pub killed_after: std::collections::BTreeMap<String, u64>,
    /// Tickets that were closed.
    pub closed: u64,
    /// Tickets that were open when the child was killed.
    pub cut_off: u64,
    /// Keys without a row that a resync took out after a kill: of tickets that were open, dropped or overlapping.
    pub drifted: u64,
    /// What went wrong.
    pub failures: Vec<String>,
}

/// How many rounds a guard is used for.
const ROUNDS: u64 = 12;

/// Kills processes that hold tickets. `child` makes the command of a process that calls [`work_with_tickets`]. An error comes
/// from the environment, not from a guard.
pub fn run_tickets(
    settings: &TicketSettings,
    child: &dyn Fn(&TicketTurn, &Path) -> Command,
    progress: &dyn Fn(u64),
) -> io::Result<TicketReport> {
    let mut report = TicketReport { seed: settings.seed, ..TicketReport::default() };
    let mut victim: Option<(Folder, Server, Kind, u64)> = None;
    for round in 0..settings.rounds {
        let mut rng = Rng::stream(settings.seed, 2 * round + 1);
        let (folder, mut server, filter, used) = match victim.take() {
            Some(victim) => victim,
            None => {
                let number = report.guards;
                report.guards += 1;
                let in_turn = Kind::ALL[number as usize % Kind::ALL.len()];
                let folder = Folder::make(settings.folder.join(format!("tickets-{number}")))?;
                (folder, Server::new(&mut rng), settings.filter.unwrap_or(in_turn), 0)
            }
        };
        let fate = Fate::draw(&mut rng);
        let turn = TicketTurn { seed: settings.seed, round, filter, power: settings.power, steps: 80 };
        let checked = match server.serve(child(&turn, &folder.store()), fate, &mut report)? {
            Some(wrong) => Err(Wrong::Answer(wrong)),
            None => check(&turn, &folder.copy()?, &server),
        };
        report.rounds += 1;
        progress(round + 1);
        match checked {
            Ok(drifted) => report.drifted += drifted,
            Err(wrong) => {
                let kept = folder.path().display();
                report.failures.push(format!("round {round}, {filter}: {wrong}; the guard is kept in {kept}"));
                if report.failures.len() >= ENOUGH {
                    break;
                }
                continue;
            }
        }
        if used + 1 == ROUNDS {
            folder.delete()?;
        } else {
            victim = Some((folder, server, filter, used + 1));
        }
    }
    victim.map_or(Ok(()), |(folder, ..)| folder.delete())?;
    Ok(report)
}

/// Opens a guard as the child has left it, and compares it with the rows. Returns how many keys had none.
fn check(turn: &TicketTurn, folder: &Path, server: &Server) -> Result<u64, Wrong> {
    let answer = |wrong: String| Err(Wrong::Answer(wrong));
    let guard = turn.open(folder)?;
    guard.wait()?;
    if let Some(lost) = server.rows.iter().find(|row| !guard.may_contain(key(**row))) {
        return answer(format!("row {lost} was turned away after a kill"));
    }
    let cursor = || Ok::<_, Infallible>(server.rows.iter().map(|row| Ok(key(*row))));
    let was_complete = guard.is_complete();
    let resync = || guard.resync(cursor).map_err(|error| Wrong::Answer(error.to_string()));
    let found = resync()?;
    let allowed = server.loose().filter(|row| !server.rows.contains(row)).count() as u64;
    if was_complete && (found.added > 0 || found.removed > allowed) {
        return answer(format!("{found:?}, and {allowed} keys may have drifted"));
    }
    let again = resync()?;
    let rows = server.rows.len() as u64;
    if (again.added, again.removed, again.settled, again.keys) != (0, 0, 0, rows) {
        return answer(format!("{again:?} in a second resync with {rows} rows"));
    }
    match server.rows.iter().find(|row| !guard.may_contain(key(**row))) {
        Some(lost) => answer(format!("row {lost} was turned away after a resync")),
        None => Ok(if was_complete { found.removed } else { 0 }),
    }
}
