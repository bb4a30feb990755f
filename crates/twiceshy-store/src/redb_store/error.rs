//! Errors of a redb file.

use crate::error::ADOPT;
use crate::folder::KEYS_FILE;
use redb::{DatabaseError, StorageError};
use std::io;
use std::path::{Path, PathBuf};

/// An error of a redb file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedbError {
    /// The file is open already, here or in another process.
    #[error("{} is open already: close it first, since two guards of one set would give wrong answers", .0.display())]
    InUse(PathBuf),
    /// The file could not be opened.
    #[error("{} cannot be opened: {}", .path.display(), why(.path, .error))]
    Open {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        error: Box<DatabaseError>,
    },
    /// The file holds bytes that redb did not write, or lacks some that it wrote. Answers that need them are not possible.
    #[error("the store's file is damaged ({0}): run `twiceshy check --repair`, or restore the file from a backup; {adopt}", adopt = ADOPT)]
    Damaged(String),
    /// The file is open for reading only.
    #[error("{} is open for reading only: open it for writing to change it", .0.display())]
    ReadOnly(PathBuf),
    /// redb failed.
    #[error("redb: {0}")]
    Redb(#[source] Box<redb::Error>),
}

impl RedbError {
    /// `true` if the file can only be read: its medium is read-only, or it belongs to someone else. See
    /// [`Options::read_only`](crate::Options::read_only).
    pub fn is_unwritable(&self) -> bool {
        let RedbError::Open { error, .. } = self else { return false };
        let DatabaseError::Storage(StorageError::Io(error)) = &**error else { return false };
        matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
    }
}

impl<E: Into<redb::Error>> From<E> for RedbError {
    fn from(error: E) -> RedbError {
        let error = error.into();
        match damage(&error) {
            Some(what) => RedbError::Damaged(what),
            None => RedbError::Redb(Box::new(error)),
        }
    }
}

/// What is wrong with the file, if that is why redb failed.
fn damage(error: &redb::Error) -> Option<String> {
    use redb::Error as E;
    match error {
        // redb says this of pointers to pages that do not exist, and of pages that the fence has replaced.
        E::Corrupted(what) if what.contains("has order greater") => Some("a page makes no sense".to_owned()),
        E::Corrupted(what) => Some(what.clone()),
        E::LockPoisoned(_) => Some("redb met a damaged page before, and cannot go on".to_owned()),
        E::RepairAborted => Some("it was not closed properly, and redb could not repair it".to_owned()),
        E::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => Some("it ends too early".to_owned()),
        // This crate makes all four tables in one commit, and always with the same types.
        E::TableTypeMismatch { .. }
        | E::TableIsMultimap(_)
        | E::TableIsNotMultimap(_)
        | E::TypeDefinitionChanged { .. }
        | E::TableDoesNotExist(_) => Some(error.to_string()),
        _ => None,
    }
}

/// Why a file cannot be opened, and what to do.
fn why(path: &Path, error: &DatabaseError) -> String {
    let restore = if path.ends_with(KEYS_FILE) { ADOPT } else { "restore the file from a backup" };
    match error {
        DatabaseError::Storage(StorageError::Corrupted(what)) if what.contains("magic") => {
            format!("it is not a redb file, or its first bytes are damaged: check the path, or {restore}")
        }
        DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
            format!("it is not a redb file, or its first bytes are damaged ({error}): check the path, or {restore}")
        }
        DatabaseError::Storage(StorageError::Corrupted(what)) => format!("it is damaged ({what}): {restore}"),
        DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            format!("it is damaged (it ends too early): {restore}")
        }
        DatabaseError::RepairAborted => format!("it was not closed properly, and redb could not repair it: {restore}"),
        DatabaseError::UpgradeRequired(version) => {
            format!("it has redb's file format {version}: upgrade it with an older redb, or {restore}")
        }
        error => error.to_string(),
    }
}

/// Sorts the errors of opening a file.
pub(super) fn from_open(path: &Path, error: DatabaseError) -> RedbError {
    match error {
        DatabaseError::DatabaseAlreadyOpen => RedbError::InUse(path.to_owned()),
        error => RedbError::Open { path: path.to_owned(), error: Box::new(error) },
    }
}

/// The same for errors of the operating system.
pub(super) fn from_io(path: &Path, error: io::Error) -> RedbError {
    from_open(path, error.into())
}
