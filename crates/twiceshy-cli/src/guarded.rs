//! A guarded store in a folder, opened for one command and closed after it.

use crate::output::{note, quoted, warn};
use anyhow::anyhow;
use std::fmt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use twiceshy_store::{Error, Guard, Options, RedbError, RedbStore, Status};

/// What a command found or did, and a warning if the store could not be closed properly.
pub(crate) struct Done<T> {
    pub(crate) value: T,
    /// The warning that was printed, for the JSON report.
    pub(crate) warning: Option<String>,
}

/// How a command opens a store.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// To change it.
    Write,
    /// To change nothing. A store whose state record is damaged is opened too.
    Read(Wait),
    /// To learn from it if possible. A store that cannot be written is only read.
    Query(Wait),
}

/// How long a command waits for another process that has the store open.
#[derive(Clone, Copy, PartialEq, Eq, clap::Args)]
pub(crate) struct Wait {
    /// How long to wait for another process that has the folder, such as 500ms or 2min. A shared set is never waited for
    #[arg(long = "wait", value_name = "TIME", default_value = "10s", value_parser = crate::durations::duration)]
    time: Duration,
}

/// The time between two attempts to open a store.
const PAUSE: Duration = Duration::from_millis(20);

/// A notice for a person, if nothing has happened for this time.
const LONG: Duration = Duration::from_millis(500);

impl Wait {
    /// Not at all.
    pub(crate) const NOT: Wait = Wait { time: Duration::ZERO };

    /// Tries until no other process has the store, or the time is over.
    pub(crate) fn until_free<T>(self, mut attempt: impl FnMut() -> anyhow::Result<T>) -> anyhow::Result<T> {
        let (begun, mut told) = (Instant::now(), false);
        loop {
            let tried = attempt();
            let in_use = tried.as_ref().err().and_then(|error| error.downcast_ref::<InUse>());
            let left = self.time.saturating_sub(begun.elapsed());
            match in_use {
                Some(InUse(who)) if !left.is_zero() => {
                    if !told && begun.elapsed() >= LONG {
                        note(&format!("waiting: {who}"));
                        told = true;
                    }
                    thread::sleep(PAUSE.min(left));
                }
                _ => return tried,
            }
        }
    }
}

/// Another process has the store open.
#[derive(Debug)]
pub(crate) struct InUse(String);

impl fmt::Display for InUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: close it first, or try again", self.0)
    }
}

impl std::error::Error for InUse {}

/// Who has a store open, as far as that is known: one that only reads it tells nobody.
fn who_has(path: &Path) -> String {
    let shown = path.display();
    match Status::read(path) {
        Ok(Status { pid, .. }) if exists(pid) != Some(false) => format!("{shown} is open in the process {pid}"),
        _ => format!("{shown} is open in another process"),
    }
}

/// `true` if there is such a process.
#[cfg(unix)]
pub(crate) fn exists(pid: u32) -> Option<bool> {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return Some(false) };
    // A process of someone else may not be signalled, but it is there.
    Some(rustix::process::test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
pub(crate) fn exists(_: u32) -> Option<bool> {
    None
}

/// Opens an existing store, runs `work` on it and closes it, even if `work` failed.
pub(crate) fn with<T>(
    path: &Path,
    access: Access,
    work: impl FnOnce(&Guard<RedbStore>) -> anyhow::Result<T>,
) -> anyhow::Result<Done<T>> {
    let read_only = Options::new().create(false).read_only(true);
    let refused = |error| refusal(path, error);
    let guard = match access {
        Access::Write => Options::new().create(false).open_folder(path).map_err(refused)?,
        Access::Read(wait) => {
            wait.until_free(|| read_only.clone().open_damaged(true).open_folder(path).map_err(refused))?
        }
        Access::Query(wait) => wait.until_free(|| {
            let opened = Options::new().create(false).open_folder(path).or_else(|error| match error {
                Error::Store(error) if error.is_unwritable() => read_only.clone().open_folder(path),
                error => Err(error),
            });
            opened.map_err(refused)
        })?,
    };
    let worked = work(&guard);
    if matches!(access, Access::Read(_)) {
        // Nothing is saved.
        drop(guard);
        return worked.map(|value| Done { value, warning: None });
    }
    let warning = close(path, guard, worked.is_ok());
    worked.map(|value| Done { value, warning })
}

/// Closes a store. A failure is a warning, printed and returned: all changes are on disk by then, and only the filter
/// is not saved. If the work has failed as well, an error of the store itself is the same one again.
///
/// Reports are printed after this, because they include the warning. A crash before that leaves the command without an
/// answer, never with a wrong one.
pub(crate) fn close(path: &Path, guard: Guard<RedbStore>, worked: bool) -> Option<String> {
    let error = match guard.close().err()? {
        Error::Store(_) | Error::Unknown(_) if !worked => return None,
        // No change of a key has failed or is in doubt, so the store's own words would mislead.
        Error::Store(error) | Error::Unknown(error) => anyhow!("{}: {error}", path.display()),
        error => refusal(path, error),
    };
    let warning = format!(
        "{error}: the filter could not be saved, and the next command makes it from the last one that was, or from the keys"
    );
    warn(&warning);
    Some(warning)
}

/// The error of a store as one message, with the command that helps. The store's errors include their sources in
/// their text, so a chain would say everything twice.
pub(crate) fn refusal(path: &Path, error: Error<RedbError>) -> anyhow::Error {
    let (shown, quoted) = (path.display(), quoted(path));
    match error {
        Error::NoStore => anyhow!("{shown}: no guarded store here: make one with `twiceshy create {quoted}`"),
        Error::IsThere => anyhow!(
            "{shown}: there is already a guarded store here: add keys with `twiceshy insert {quoted}`, or choose \
             another folder"
        ),
        // `info` looks for this one.
        Error::Store(RedbError::InUse(_)) => InUse(who_has(path)).into(),
        Error::Store(error @ RedbError::Open { .. }) => anyhow!("{error}"),
        Error::Io { .. } if path.is_file() => anyhow!("{shown} is a file: name the folder of a guarded store"),
        error @ Error::Io { .. } => anyhow!("{error}"),
        error => anyhow!("{shown}: {error}"),
    }
}
