//! A guarded store in a folder, opened for one command and closed after it.

use anyhow::anyhow;
use std::path::Path;
use twiceshy_store::{Error, Guard, Options, RedbError, RedbStore};

/// Opens the store that is there, works with it and closes it, whatever came of the work.
pub(crate) fn with<T>(path: &Path, work: impl FnOnce(&Guard<RedbStore>) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let guard = Options::new().create(false).open_folder(path).map_err(|error| refusal(path, error))?;
    let worked = work(&guard);
    let closed = guard.close().map_err(|error| refusal(path, error));
    let value = worked?;
    closed.map(|()| value)
}

/// What went wrong with a store, and the command that helps. The errors name their sources in their own words, so here they
/// become one text: a chain would say everything twice.
pub(crate) fn refusal(path: &Path, error: Error<RedbError>) -> anyhow::Error {
    let shown = path.display();
    match error {
        Error::NoStore => anyhow!("{shown}: there is no guarded store here: make one with `twiceshy create {shown}`"),
        Error::IsThere => anyhow!(
            "{shown}: there is a guarded store here already: put keys into it with `twiceshy insert {shown}`, or take \
             another place"
        ),
        Error::Store(error @ (RedbError::InUse(_) | RedbError::Open { .. })) => anyhow!("{error}"),
        Error::Io { .. } if path.is_file() => anyhow!("{shown} is a file: name the folder of a guarded store"),
        error @ Error::Io { .. } => anyhow!("{error}"),
        error => anyhow!("{shown}: {error}"),
    }
}
