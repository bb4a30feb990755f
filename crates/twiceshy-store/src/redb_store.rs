//! A store in a redb file.

use crate::store::{Change, CommitError, Durability, Space, Store};
use redb::{Database, DatabaseError, ReadableDatabase, TableDefinition};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::ops::Bound;
use std::path::{Path, PathBuf};

const fn table(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(space.name())
}

/// A store in a [redb](https://docs.rs/redb) file. redb refuses to open it a second time.
#[derive(Debug)]
pub struct RedbStore {
    database: Database,
}

/// An error of a redb file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedbError {
    /// The file is open already, here or in another process.
    #[error("{} is open already: close it first, since two guards of one set would give wrong answers", .0.display())]
    InUse(PathBuf),
    /// The file could not be opened.
    #[error("{} cannot be opened: {error}", .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The error.
        #[source]
        error: Box<DatabaseError>,
    },
    /// redb failed.
    #[error("redb: {0}")]
    Redb(#[source] Box<redb::Error>),
}

impl<E: Into<redb::Error>> From<E> for RedbError {
    fn from(error: E) -> RedbError {
        RedbError::Redb(Box::new(error.into()))
    }
}

impl RedbStore {
    /// Opens the file, or creates it.
    pub fn open(path: impl AsRef<Path>) -> Result<RedbStore, RedbError> {
        let path = path.as_ref();
        let created = Database::create(path).or_else(|error| match clear_unfinished(path) {
            Ok(true) => Database::create(path),
            _ => Err(error),
        });
        let database = created.map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => RedbError::InUse(path.to_owned()),
            error => RedbError::Open { path: path.to_owned(), error: Box::new(error) },
        })?;
        // Reads find their tables from now on. Opening an existing store writes nothing.
        let reading = database.begin_read()?;
        if Space::ALL.iter().any(|space| reading.open_table(table(*space)).is_err()) {
            let transaction = database.begin_write()?;
            for space in Space::ALL {
                transaction.open_table(table(space))?;
            }
            transaction.commit()?;
        }
        Ok(RedbStore { database })
    }
}

/// The length of redb's magic bytes.
const MAGIC: usize = 9;
/// The header lies within these bytes. After it, only zeros are written before the magic.
const HEADER: usize = 4_096;
/// New files are smaller than this.
const NEW: u64 = 4 << 20;

/// redb writes the magic of a new file last, and refuses a file without it. A crash just before leaves a file that holds
/// nothing and cannot be opened. This empties such a file, so that it can be created again. `true` if it did.
fn clear_unfinished(path: &Path) -> io::Result<bool> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    // A process that has it open is about to write the magic.
    if file.metadata()?.len() > NEW || file.try_lock().is_err() {
        return Ok(false);
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let unfinished = bytes.len() > HEADER && bytes[..MAGIC].iter().chain(&bytes[HEADER..]).all(|byte| *byte == 0);
    if unfinished {
        file.set_len(0)?;
    }
    Ok(unfinished)
}

impl Store for RedbStore {
    type Error = RedbError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, RedbError> {
        let table = self.database.begin_read()?.open_table(table(space))?;
        Ok(table.get(key)?.map(|value| value.value().to_vec()))
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, RedbError> {
        let table = self.database.begin_read()?.open_table(table(space))?;
        Ok(table.get(key)?.is_some())
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RedbError> {
        let table = self.database.begin_read()?.open_table(table(space))?;
        for entry in table.range::<&[u8]>((from, Bound::Unbounded))? {
            let (key, value) = entry?;
            if !found(key.value(), value.value()) {
                break;
            }
        }
        Ok(())
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<RedbError>> {
        let transaction = self.write(changes, durability).map_err(CommitError::Failed)?;
        transaction.commit().map_err(|error| match error {
            redb::CommitError::TransactionPoisoned => CommitError::Failed(error.into()),
            // Its changes happened all or not at all, and redb does not say which.
            error => CommitError::Unknown(error.into()),
        })
    }
}

impl RedbStore {
    fn write(&self, changes: &[Change], durability: Durability) -> Result<redb::WriteTransaction, RedbError> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(match durability {
            Durability::Synced => redb::Durability::Immediate,
            Durability::Seen => redb::Durability::None,
        })?;
        for space in Space::ALL {
            let mut own = changes.iter().filter(|change| change.space == space).peekable();
            if own.peek().is_none() {
                continue;
            }
            let mut table = transaction.open_table(table(space))?;
            for change in own {
                match &change.value {
                    Some(value) => drop(table.insert(&*change.key, &**value)?),
                    None => drop(table.remove(&*change.key)?),
                }
            }
        }
        Ok(transaction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a crash leaves between redb's header and its magic: a header with a few numbers, and zeros.
    fn unfinished() -> Vec<u8> {
        let mut bytes = vec![0; 1_056_768];
        bytes[MAGIC] = 4;
        bytes[64] = 3;
        bytes
    }

    #[test]
    fn a_file_whose_creation_was_interrupted_is_created_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        std::fs::write(&path, unfinished()).unwrap();
        assert!(matches!(Database::create(&path), Err(DatabaseError::Storage(_))));
        assert_eq!(RedbStore::open(&path).unwrap().get(Space::Values, b"a key").unwrap(), None);
    }

    #[test]
    fn a_file_that_is_not_empty_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        let put = Change { space: Space::Values, key: b"a key".to_vec(), value: Some(b"a value".to_vec()) };
        RedbStore::open(&path).unwrap().commit(&[put], Durability::Synced).unwrap();
        let mut lost_magic = std::fs::read(&path).unwrap();
        lost_magic[..MAGIC].fill(0);
        let text = b"not a store".repeat(1_000);
        for bytes in [lost_magic, text, vec![0; 100]] {
            std::fs::write(&path, &bytes).unwrap();
            assert!(matches!(RedbStore::open(&path), Err(RedbError::Open { .. })));
            assert!(std::fs::read(&path).unwrap() == bytes);
        }
    }

    #[test]
    fn a_file_that_another_process_is_creating_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        std::fs::write(&path, unfinished()).unwrap();
        let other = OpenOptions::new().write(true).open(&path).unwrap();
        other.lock().unwrap();
        assert!(RedbStore::open(&path).is_err());
        assert!(std::fs::read(&path).unwrap() == unfinished());
    }
}
