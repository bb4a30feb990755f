//! A store in a redb file.

use crate::store::{Change, CommitError, Durability, Space, Store};
use redb::{Database, DatabaseError, ReadableDatabase, TableDefinition};
use std::ops::Bound;
use std::path::{Path, PathBuf};

const fn table(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(space.name())
}

/// A store in a [redb](https://docs.rs/redb) file. redb itself lets no second process open it.
#[derive(Debug)]
pub struct RedbStore {
    database: Database,
}

/// What goes wrong with a redb file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedbError {
    /// Another process, or another value in this one, has the file open.
    #[error("another process has {} open: two guards of one set would answer wrongly, so close the other first", .0.display())]
    InUse(PathBuf),
    /// The file could not be opened.
    #[error("{} cannot be opened: {error}", .path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why.
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
    /// Opens the file, or makes one where there is none.
    pub fn open(path: impl AsRef<Path>) -> Result<RedbStore, RedbError> {
        let path = path.as_ref();
        let database = Database::create(path).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => RedbError::InUse(path.to_owned()),
            error => RedbError::Open { path: path.to_owned(), error: Box::new(error) },
        })?;
        // Reads find their tables from now on. Who only opens a store writes nothing.
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
            // Its changes are there wholly or not at all, and redb does not say which.
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
