//! A guarded store in a folder, opened for one command and closed after it.

use crate::output::warn;
use anyhow::anyhow;
use std::path::Path;
use twiceshy_store::{Error, Guard, Options, RedbError, RedbStore};

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
    Read,
    /// To learn from it if possible. A store that cannot be written is only read.
    Query,
}

/// Opens an existing store, runs `work` on it and closes it, even if `work` failed.
pub(crate) fn with<T>(
    path: &Path,
    access: Access,
    work: impl FnOnce(&Guard<RedbStore>) -> anyhow::Result<T>,
) -> anyhow::Result<Done<T>> {
    let read_only = Options::new().create(false).read_only(true);
    let opened = match access {
        Access::Write => Options::new().create(false).open_folder(path),
        Access::Read => read_only.open_damaged(true).open_folder(path),
        Access::Query => Options::new().create(false).open_folder(path).or_else(|error| match error {
            Error::Store(error) if error.is_unwritable() => read_only.open_folder(path),
            error => Err(error),
        }),
    };
    let guard = opened.map_err(|error| refusal(path, error))?;
    let worked = work(&guard);
    if access == Access::Read {
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
    let shown = path.display();
    match error {
        Error::NoStore => anyhow!("{shown}: no guarded store here: make one with `twiceshy create {shown}`"),
        Error::IsThere => anyhow!(
            "{shown}: there is already a guarded store here: add keys with `twiceshy insert {shown}`, or choose \
             another folder"
        ),
        // `info` looks for this one.
        Error::Store(error @ RedbError::InUse(_)) => error.into(),
        Error::Store(error @ RedbError::Open { .. }) => anyhow!("{error}"),
        Error::Io { .. } if path.is_file() => anyhow!("{shown} is a file: name the folder of a guarded store"),
        error @ Error::Io { .. } => anyhow!("{error}"),
        error => anyhow!("{shown}: {error}"),
    }
}
