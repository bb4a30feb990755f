//! A store in a folder of fjall.

use crate::caught;
use crate::snapshot::sync_folder;
use crate::store::{Change, CommitError, Durability, Space, Store};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode, Readable};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// fjall's keys have at least one byte and at most this many. The first one says which map the entry belongs to.
const LONGEST: usize = u16::MAX as usize;

/// fjall's values have at most this many bytes.
const LONGEST_VALUE: usize = u32::MAX as usize;

/// The tree of all four maps. One, because a commit then is in one tree, and a crash cannot leave some of them uncreated.
const TREE: &str = "twiceshy";

/// Names of fjall's own files.
const LOCK: &str = "lock";
const VERSION: &str = "version";
const JOURNAL: &str = "0.jnl";
const TREES: &str = "keyspaces";

/// An error of a fjall folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FjallError {
    /// The folder is open already, here or in another process.
    #[error("{} is open already: close it first, since two guards of one set would give wrong answers", .0.display())]
    InUse(PathBuf),
    /// The folder could not be opened.
    #[error("{} cannot be opened: {error}", .path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// The error.
        #[source]
        error: Box<fjall::Error>,
    },
    /// The folder has fjall trees of something else.
    #[error("{} is a fjall folder, but not one of twiceshy: use another path", .0.display())]
    NotAStore(PathBuf),
    /// A file holds bytes that fjall did not write, or lacks some that it wrote.
    #[error("the store's folder is damaged ({0}): restore it from a backup")]
    Damaged(String),
    /// A key or a value is longer than fjall allows. Nothing was changed.
    #[error("{what} has {len} bytes, and fjall takes up to {longest}")]
    TooLong {
        /// The key or the value.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The length of the longest one that is possible.
        longest: usize,
    },
    /// A commit failed half-way. Only opening the folder again tells whether it has happened, so nothing is read or written before.
    #[error("a commit failed, and whether it happened is known only when the store is opened again: close it ({0})")]
    Stopped(String),
    /// fjall failed.
    #[error("fjall: {0}")]
    Fjall(#[source] Box<fjall::Error>),
}

impl From<fjall::Error> for FjallError {
    fn from(error: fjall::Error) -> FjallError {
        match damage(&error) {
            Some(what) => FjallError::Damaged(what),
            None => FjallError::Fjall(Box::new(error)),
        }
    }
}

/// What is wrong with the folder, if that is why fjall failed.
fn damage(error: &fjall::Error) -> Option<String> {
    use fjall::Error as E;
    let is_damage = match (error, io_error(error)) {
        (_, Some(error)) => error.kind() == io::ErrorKind::UnexpectedEof,
        (E::Storage(_) | E::JournalRecovery(_) | E::Decompress(_) | E::InvalidTrailer | E::InvalidTag(_), None) => true,
        (E::KeyspaceDeleted | E::Unrecoverable, None) => true,
        _ => false,
    };
    is_damage.then(|| error.to_string())
}

/// The error of the operating system that is inside one of fjall.
fn io_error<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    let mut errors = std::iter::successors(Some(error), |error| error.source());
    errors.find_map(|error| error.downcast_ref())
}

/// Calls fjall: see [`caught`].
fn call<T>(call: impl FnOnce() -> Result<T, fjall::Error>) -> Result<T, FjallError> {
    caught::caught("fjall", call).map_err(FjallError::Damaged)?.map_err(FjallError::from)
}

/// A store in a folder of [fjall](https://docs.rs/fjall), a log-structured merge tree. While it is open, nobody else can open the
/// folder.
///
/// **Keys** have up to 65,534 bytes, and those of a guard 13 fewer: 65,521. **Values** have less than 4 GiB.
///
/// **Durability.** A commit is written to fjall's journal. With [`Durability::Synced`] the journal is synced to disk; with
/// [`Durability::Seen`] it is handed to the operating system, so that it survives the end of the process.
///
/// **Errors.** After a commit that failed half-way, everything is refused until the folder is opened again: fjall writes no more,
/// and cannot say whether the commit will be there. fjall compares checksums when it reads, so
/// [`Guard::check`](crate::Guard::check), which reads everything, finds damage.
pub struct FjallStore {
    path: PathBuf,
    /// `None` only while the store is dropped.
    engine: Option<Engine>,
    committing: Mutex<()>,
    /// Why everything is refused.
    stopped: OnceLock<String>,
}

struct Engine {
    tree: Keyspace,
    database: Database,
}

impl std::fmt::Debug for FjallStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FjallStore").field("path", &self.path).field("stopped", &self.stopped).finish_non_exhaustive()
    }
}

impl FjallStore {
    /// Opens the folder, or creates it. On Unix, a new folder belongs to its owner only.
    pub fn open(path: impl AsRef<Path>) -> Result<FjallStore, FjallError> {
        let path = path.as_ref();
        let failed = |error: fjall::Error| match error {
            fjall::Error::Locked => FjallError::InUse(path.to_owned()),
            error => FjallError::Open { path: path.to_owned(), error: Box::new(error) },
        };
        make_folder(path).and_then(|()| clear_unfinished(path)).map_err(|error| failed(error.into()))?;
        let opened = caught::caught("fjall", || {
            let database = Database::builder(path).open()?;
            if database.keyspace_count() > 0 && !database.keyspace_exists(TREE) {
                return Ok(None);
            }
            let tree = database.keyspace(TREE, KeyspaceCreateOptions::default)?;
            Ok(Some(Engine { tree, database }))
        });
        let opened = opened.map_err(FjallError::Damaged)?.map_err(|error: fjall::Error| match damage(&error) {
            Some(what) => FjallError::Damaged(what),
            None => failed(error),
        })?;
        let engine = Some(opened.ok_or_else(|| FjallError::NotAStore(path.to_owned()))?);
        Ok(FjallStore { path: path.to_owned(), engine, committing: Mutex::new(()), stopped: OnceLock::new() })
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn engine(&self) -> Result<&Engine, FjallError> {
        match (self.stopped.get(), &self.engine) {
            (None, Some(engine)) => Ok(engine),
            (what, _) => Err(FjallError::Stopped(what.cloned().unwrap_or_default())),
        }
    }

    /// Refuses everything from now on.
    fn stop(&self, what: String) -> FjallError {
        let _ = self.stopped.set(what.clone());
        FjallError::Stopped(what)
    }
}

impl Drop for FjallStore {
    fn drop(&mut self) {
        let engine = self.engine.take();
        // If it panics, the folder is as a crash would leave it.
        let _ = caught::caught("fjall", move || drop(engine));
    }
}

impl Engine {
    /// Writes a batch to the journal, then to the tree.
    fn write(&self, changes: &[Change], mode: PersistMode) -> Result<(), fjall::Error> {
        // All entries of a batch have the same number, so each key may be in it only once.
        let last: BTreeMap<Vec<u8>, &Option<Vec<u8>>> =
            changes.iter().map(|change| (entry(change.space, &change.key), &change.value)).collect();
        if last.is_empty() {
            // fjall does nothing for an empty batch.
            return self.database.persist(mode);
        }
        let mut batch = self.database.batch().durability(Some(mode));
        for (key, value) in last {
            match value {
                Some(value) => batch.insert(&self.tree, key, value.as_slice()),
                None => batch.remove(&self.tree, key),
            }
        }
        batch.commit()
    }
}

/// A key of a map, as fjall has it.
fn entry(space: Space, key: &[u8]) -> Vec<u8> {
    let mut entry = Vec::with_capacity(1 + key.len());
    entry.push(space as u8);
    entry.extend(key);
    entry
}

fn check_lengths(changes: &[Change]) -> Result<(), FjallError> {
    let check =
        |what, len, longest| if len > longest { Err(FjallError::TooLong { what, len, longest }) } else { Ok(()) };
    changes.iter().try_for_each(|change| {
        check("the key", change.key.len(), LONGEST - 1)?;
        check("the value", change.value.as_ref().map_or(0, Vec::len), LONGEST_VALUE)
    })
}

impl Store for FjallStore {
    type Error = FjallError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, FjallError> {
        let Engine { tree, database } = self.engine()?;
        if key.len() >= LONGEST {
            return Ok(None);
        }
        // Without a snapshot, fjall answers from commits that are under way.
        call(|| Ok(database.snapshot().get(tree, entry(space, key))?.map(|value| value.to_vec())))
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, FjallError> {
        let Engine { tree, database } = self.engine()?;
        Ok(key.len() < LONGEST && call(|| database.snapshot().contains_key(tree, entry(space, key)))?)
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), FjallError> {
        let Engine { tree, database } = self.engine()?;
        let from = match from {
            // No key begins with all of these bytes and goes on.
            Bound::Included(key) | Bound::Excluded(key) if key.len() >= LONGEST => {
                Bound::Excluded(entry(space, &key[..LONGEST - 1]))
            }
            Bound::Unbounded => Bound::Included(entry(space, &[])),
            from => from.map(|key| entry(space, key)),
        };
        let end = Bound::Excluded(vec![space as u8 + 1]);
        let mut range = call(|| Ok(database.snapshot().range(tree, (from, end))))?;
        while let Some((key, value)) = call(|| range.next().map(fjall::Guard::into_inner).transpose())? {
            if !found(&key[1..], &value) {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<FjallError>> {
        let _one_at_a_time = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        let engine = self.engine().map_err(CommitError::Failed)?;
        check_lengths(changes).map_err(CommitError::Failed)?;
        let mode = match durability {
            Durability::Synced => PersistMode::SyncAll,
            Durability::Seen => PersistMode::Buffer,
        };
        match caught::caught("fjall", || engine.write(changes, mode)) {
            Ok(Ok(())) => Ok(()),
            // fjall says so before it writes.
            Ok(Err(error @ fjall::Error::Poisoned)) => Err(CommitError::Failed(error.into())),
            Ok(Err(error)) => Err(CommitError::Unknown(self.stop(error.to_string()))),
            Err(what) => Err(CommitError::Unknown(self.stop(what))),
        }
    }

    fn longest_key(&self) -> Option<usize> {
        Some(LONGEST - 1)
    }
}

/// Creates a folder and those above it, and syncs their entries.
fn make_folder(path: &Path) -> io::Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    path.parent().map_or(Ok(()), make_folder)?;
    let mut folder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    match folder.create(path) {
        // Another process may have been faster.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => Err(error),
        _ => sync_folder(path),
    }
}

/// fjall writes its version file last, and refuses a folder that has a journal but no version. A crash in between leaves one that
/// holds nothing and cannot be opened. This deletes what is in the way.
fn clear_unfinished(path: &Path) -> io::Result<()> {
    if !is_unfinished(path)? {
        return Ok(());
    }
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(path.join(LOCK))?;
    // A process that has locked it is about to write the version.
    if lock.try_lock().is_ok() && is_unfinished(path)? {
        remove_if_there(&path.join(VERSION))?;
        remove_if_there(&path.join(JOURNAL))?;
        sync_folder(&path.join(LOCK))?;
    }
    Ok(())
}

/// `true` if the journal was made, but not the version. No tree is made before that.
fn is_unfinished(path: &Path) -> io::Result<bool> {
    let version = path.join(VERSION).metadata().map(|about| about.len());
    let has_none = match version {
        Ok(len) => len == 0,
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(error),
    };
    let has_trees = std::fs::read_dir(path.join(TREES)).is_ok_and(|mut trees| trees.next().is_some());
    Ok(has_none && !has_trees && path.join(JOURNAL).try_exists()?)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_whose_creation_was_interrupted_is_created_again() {
        for version in [None, Some(b"")] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join(TREES)).unwrap();
            std::fs::write(folder.path().join(LOCK), b"").unwrap();
            std::fs::write(folder.path().join(JOURNAL), [0; 100]).unwrap();
            if let Some(version) = version {
                std::fs::write(folder.path().join(VERSION), version).unwrap();
            }
            assert!(Database::builder(folder.path()).open().is_err());
            let store = FjallStore::open(folder.path()).unwrap();
            assert_eq!(store.get(Space::Values, b"a key").unwrap(), None);
        }
    }

    #[test]
    fn a_folder_that_has_lost_its_version_keeps_its_trees_and_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        let put = Change { space: Space::Values, key: b"a key".to_vec(), value: Some(b"a value".to_vec()) };
        FjallStore::open(folder.path()).unwrap().commit(&[put], Durability::Synced).unwrap();
        let version = std::fs::read(folder.path().join(VERSION)).unwrap();
        std::fs::remove_file(folder.path().join(VERSION)).unwrap();
        assert!(matches!(FjallStore::open(folder.path()), Err(FjallError::Open { .. })));
        std::fs::write(folder.path().join(VERSION), version).unwrap();
        assert!(FjallStore::open(folder.path()).unwrap().contains(Space::Values, b"a key").unwrap());
    }

    #[test]
    fn after_a_commit_whose_outcome_is_unknown_nothing_is_answered() {
        let folder = tempfile::tempdir().unwrap();
        let store = FjallStore::open(folder.path()).unwrap();
        store.stop("a disk failed".into());
        assert!(matches!(store.get(Space::Values, b""), Err(FjallError::Stopped(_))));
        assert!(matches!(store.contains(Space::Values, b""), Err(FjallError::Stopped(_))));
        assert!(matches!(store.scan(Space::Values, Bound::Unbounded, &mut |_, _| true), Err(FjallError::Stopped(_))));
        let refused = store.commit(&[], Durability::Seen);
        assert!(matches!(refused, Err(CommitError::Failed(FjallError::Stopped(_)))));
    }
}
