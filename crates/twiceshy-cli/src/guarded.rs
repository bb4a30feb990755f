//! A guarded store in a folder, opened for one command and closed after it.

use anyhow::anyhow;
use std::path::Path;
use twiceshy_store::{Error, Guard, Options, RedbError, RedbStore};

/// Opens an existing store, runs `work` on it and closes it, even if `work` failed.
pub(crate) fn with<T>(path: &Path, work: impl FnOnce(&Guard<RedbStore>) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let guard = Options::new().create(false).open_folder(path).map_err(|error| refusal(path, error))?;
    let worked = work(&guard);
    let closed = guard.close().map_err(|error| refusal(path, error));
    let value = worked?;
    closed.map(|()| value)
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
        Error::Store(error @ (RedbError::InUse(_) | RedbError::Open { .. })) => anyhow!("{error}"),
        Error::Io { .. } if path.is_file() => anyhow!("{shown} is a file: name the folder of a guarded store"),
        error @ Error::Io { .. } => anyhow!("{error}"),
        error => anyhow!("{shown}: {error}"),
    }
}
