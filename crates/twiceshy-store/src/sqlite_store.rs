//! A store in an SQLite file.

use crate::snapshot::sync_folder;
use crate::store::{Change, CommitError, Durability, Space, Store};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Row};
use std::ffi::OsString;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The version of the tables, in SQLite's `user_version`.
const VERSION: i64 = 1;

/// How many connections for reading are kept for later.
const MOST_IDLE: usize = 8;

/// How long a connection waits for another one.
const PATIENCE: Duration = Duration::from_secs(60);

/// How many problems are named that SQLite finds.
const MOST_NAMED: usize = 10;

/// An error of an SQLite file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// The file is open already, here or in another process.
    #[error("{} is open already: close it first, since two guards of one set would give wrong answers", .0.display())]
    InUse(PathBuf),
    /// The file could not be opened.
    #[error("{} cannot be opened: {error}", .path.display())]
    Io {
        /// The file, or the lock file beside it.
        path: PathBuf,
        /// The error.
        #[source]
        error: io::Error,
    },
    /// The file is an SQLite database of something else.
    #[error("{} is an SQLite file, but not one of twiceshy: use another path", .0.display())]
    NotAStore(PathBuf),
    /// The file was written by a newer version.
    #[error(
        "the store's tables were written by a newer version of twiceshy ({0}; this one knows {VERSION}): use that version"
    )]
    Newer(i64),
    /// The file holds bytes that SQLite did not write, or lacks some that it wrote.
    #[error("the store's file is damaged ({0}): restore it from a backup")]
    Damaged(String),
    /// A commit failed half-way. Only opening the file again tells whether it has happened, so nothing is read or written before.
    #[error("a commit failed, and whether it happened is known only when the store is opened again: close it ({0})")]
    Stopped(String),
    /// SQLite failed.
    #[error("SQLite: {0}")]
    Sqlite(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> SqliteError {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => SqliteError::Damaged(error.to_string()),
            _ => SqliteError::Sqlite(error),
        }
    }
}

/// A store in an SQLite file. While it is open, no other `SqliteStore` can open the file, in this process or another: a lock is held
/// on a file beside it, whose name ends in `-lock`. Other programs are not kept from the file: they may read it meanwhile,
/// but must not change it.
///
/// **Tables.** `"values"`, `"index"`, `"log"` and `"meta"`, each with the columns `key` and `value`, which are blobs.
///
/// **Durability.** The file is in WAL mode. A commit with [`Durability::Synced`] syncs the WAL, and with it all commits before. One
/// with [`Durability::Seen`] does not; it survives the end of the process.
///
/// **Errors.** After a commit that failed half-way, everything is refused until the file is opened again: SQLite cannot say
/// whether the commit will be there. [`verify`](Store::verify) is SQLite's integrity check.
#[derive(Debug)]
pub struct SqliteStore {
    /// Idle connections for reading. They see a commit when it has ended, and do not wait for it.
    readers: Mutex<Vec<Connection>>,
    // Closed after the readers, so that it empties the WAL.
    writer: Mutex<Writer>,
    path: PathBuf,
    /// Why everything is refused.
    stopped: OnceLock<String>,
    // Released last.
    _lock: File,
}

#[derive(Debug)]
struct Writer {
    connection: Connection,
    /// How the last commit was made.
    durability: Durability,
}

impl SqliteStore {
    /// Opens the file, or creates it. A new file can be read and written by its owner alone.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteStore, SqliteError> {
        let path = path.as_ref();
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |error| SqliteError::Io { path, error }
        };
        // A file that is opened by two names, one of them a link, must have one lock.
        let path = full_path(path).map_err(failed(path))?;
        let lock = lock(&path)?;
        // Not opened but created: if this process had it open already, closing it here would end SQLite's own locks.
        match new_file().create_new(true).open(&path).and_then(|_| sync_folder(&path)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(&path)(error)),
            _ => {}
        }
        let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        make_tables(&path, &connection)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let writer = Mutex::new(Writer { connection, durability: Durability::Synced });
        Ok(SqliteStore { readers: Mutex::default(), writer, path, stopped: OnceLock::new(), _lock: lock })
    }

    /// The file, by its full name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn refuse(&self) -> Result<(), SqliteError> {
        self.stopped.get().map_or(Ok(()), |what| Err(SqliteError::Stopped(what.clone())))
    }

    /// Refuses everything from now on.
    fn stop(&self, what: String) -> SqliteError {
        let _ = self.stopped.set(what.clone());
        SqliteError::Stopped(what)
    }

    /// Reads with a connection of its own. One that fails is not used again.
    fn read<T>(&self, work: impl FnOnce(&Connection) -> Result<T, SqliteError>) -> Result<T, SqliteError> {
        self.refuse()?;
        let idle = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let reader = match idle {
            Some(reader) => reader,
            None => connect(&self.path, OpenFlags::SQLITE_OPEN_READ_ONLY)?,
        };
        let done = work(&reader)?;
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < MOST_IDLE {
            readers.push(reader);
        }
        Ok(done)
    }

    fn write(&self, writer: &mut Writer, changes: &[Change]) -> Result<(), SqliteError> {
        writer.connection.execute_batch("BEGIN IMMEDIATE")?;
        for Change { space, key, value } in changes {
            let sql = &SQL[*space as usize];
            match value {
                Some(value) => writer.connection.prepare_cached(sql.put)?.execute((key, value))?,
                None => writer.connection.prepare_cached(sql.delete)?.execute((key,))?,
            };
        }
        if changes.is_empty() {
            // An empty transaction would sync nothing.
            writer.connection.pragma_update(None, "user_version", VERSION)?;
        }
        Ok(())
    }
}

impl Writer {
    /// Says how the next commit is made.
    fn set(&mut self, durability: Durability) -> Result<(), SqliteError> {
        if self.durability != durability {
            let synchronous = match durability {
                Durability::Synced => "FULL",
                // The WAL is synced before its pages go to the file: the commits before a lost one are never lost.
                Durability::Seen => "NORMAL",
            };
            self.connection.pragma_update(None, "synchronous", synchronous)?;
            self.durability = durability;
        }
        Ok(())
    }

    /// Ends a transaction that is under way.
    fn roll_back(&self) -> Result<(), rusqlite::Error> {
        if self.connection.is_autocommit() { Ok(()) } else { self.connection.execute_batch("ROLLBACK") }
    }
}

impl Store for SqliteStore {
    type Error = SqliteError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, SqliteError> {
        self.read(|reader| {
            let mut get = reader.prepare_cached(SQL[space as usize].get)?;
            let mut rows = get.query((key,))?;
            rows.next()?.map(|row| bytes(row, 0).map(<[u8]>::to_vec)).transpose()
        })
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, SqliteError> {
        self.read(|reader| Ok(reader.prepare_cached(SQL[space as usize].contains)?.exists((key,))?))
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), SqliteError> {
        let sql = &SQL[space as usize];
        self.read(|reader| {
            let mut scan;
            let mut rows = match from {
                Bound::Unbounded => {
                    scan = reader.prepare_cached(sql.all)?;
                    scan.query(())?
                }
                Bound::Included(key) => {
                    scan = reader.prepare_cached(sql.from)?;
                    scan.query((key,))?
                }
                Bound::Excluded(key) => {
                    scan = reader.prepare_cached(sql.after)?;
                    scan.query((key,))?
                }
            };
            while let Some(row) = rows.next()? {
                if !found(bytes(row, 0)?, bytes(row, 1)?) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<SqliteError>> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        self.refuse().map_err(CommitError::Failed)?;
        // If a thread has panicked half-way, its transaction is still there.
        let begun = writer.roll_back().map_err(SqliteError::from).and_then(|()| writer.set(durability));
        if let Err(error) = begun.and_then(|()| self.write(&mut writer, changes)) {
            return Err(CommitError::Failed(match writer.roll_back() {
                Ok(()) => error,
                Err(_) => self.stop(error.to_string()),
            }));
        }
        // Before an error, the WAL may have been written, and be found when the file is opened again.
        let committed = writer.connection.execute_batch("COMMIT");
        committed.map_err(|error| CommitError::Unknown(self.stop(error.to_string())))
    }

    /// SQLite's integrity check, which reads the whole file. Nothing is repaired.
    fn verify(&self) -> Result<Vec<String>, SqliteError> {
        let found = self.read(|reader| {
            let mut check = reader.prepare(&format!("PRAGMA integrity_check({MOST_NAMED})"))?;
            let lines = check.query_map((), |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            Ok(lines)
        })?;
        if found == ["ok"] { Ok(Vec::new()) } else { Err(SqliteError::Damaged(found.join("; "))) }
    }
}

/// The statements of a map.
struct Sql {
    make: &'static str,
    get: &'static str,
    contains: &'static str,
    all: &'static str,
    from: &'static str,
    after: &'static str,
    put: &'static str,
    delete: &'static str,
}

macro_rules! sql {
    ($table:literal) => {
        Sql {
            // Strict, since text would sort before all blobs.
            make: concat!(
                "CREATE TABLE \"",
                $table,
                "\" (key BLOB NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID"
            ),
            get: concat!("SELECT value FROM \"", $table, "\" WHERE key = ?1"),
            contains: concat!("SELECT 1 FROM \"", $table, "\" WHERE key = ?1"),
            all: concat!("SELECT key, value FROM \"", $table, "\" ORDER BY key"),
            from: concat!("SELECT key, value FROM \"", $table, "\" WHERE key >= ?1 ORDER BY key"),
            after: concat!("SELECT key, value FROM \"", $table, "\" WHERE key > ?1 ORDER BY key"),
            put: concat!("REPLACE INTO \"", $table, "\" (key, value) VALUES (?1, ?2)"),
            delete: concat!("DELETE FROM \"", $table, "\" WHERE key = ?1"),
        }
    };
}

/// By the number of the map.
const SQL: [Sql; 4] = [sql!("values"), sql!("index"), sql!("log"), sql!("meta")];

fn bytes<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a [u8], SqliteError> {
    match row.get_ref(column)? {
        ValueRef::Blob(bytes) => Ok(bytes),
        _ => Err(SqliteError::Damaged("a key or a value is not a blob".into())),
    }
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, SqliteError> {
    // A connection is used by one thread at a time.
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    // Otherwise some damaged pages are not noticed.
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.set_prepared_statement_cache_capacity(Space::ALL.len() * 5);
    Ok(connection)
}

/// Makes the tables of a new file. Opening an existing one changes nothing.
fn make_tables(path: &Path, connection: &Connection) -> Result<(), SqliteError> {
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = names.query_map((), |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
    let missing: Vec<Space> =
        Space::ALL.into_iter().filter(|space| !names.iter().any(|name| name == space.name())).collect();
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match missing[..] {
        [_, _, _, _] if !names.is_empty() => Err(SqliteError::NotAStore(path.to_owned())),
        [_, _, _, _] => {
            set_wal(path, connection)?;
            let mut all = String::from("BEGIN IMMEDIATE;");
            SQL.iter().for_each(|sql| all.extend([sql.make, ";"]));
            all.push_str(&format!("PRAGMA user_version = {VERSION}; COMMIT"));
            Ok(connection.execute_batch(&all)?)
        }
        // They were made in one commit. An empty table in place of a lost one would hide the loss.
        [space, ..] => Err(SqliteError::Damaged(format!("its table `{}` is missing", space.name()))),
        [] if version > VERSION => Err(SqliteError::Newer(version)),
        [] => set_wal(path, connection),
    }
}

/// With a WAL, reads and commits do not wait for each other.
fn set_wal(path: &Path, connection: &Connection) -> Result<(), SqliteError> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let error = io::Error::new(io::ErrorKind::Unsupported, "SQLite cannot have a WAL here, which needs shared memory");
    Err(SqliteError::Io { path: path.to_owned(), error })
}

/// The path without links.
fn full_path(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        // A link to nowhere is refused: its target would have another lock once it is there.
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.symlink_metadata().is_err() => {
            let name = path.file_name().ok_or(error)?;
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Ok(folder.canonicalize()?.join(name))
        }
        full => full,
    }
}

/// Locks the file beside the store's. It stays when the store is closed: deleting it could remove a file that another process has locked.
fn lock(path: &Path) -> Result<File, SqliteError> {
    let mut name = OsString::from(path);
    name.push("-lock");
    let name = PathBuf::from(name);
    let locked = new_file().create(true).truncate(false).open(&name).map(|file| file.try_lock().map(|()| file));
    match locked {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(TryLockError::WouldBlock)) => Err(SqliteError::InUse(path.to_owned())),
        Ok(Err(TryLockError::Error(error))) | Err(error) => Err(SqliteError::Io { path: name, error }),
    }
}

/// How a file is created: for its owner only.
fn new_file() -> OpenOptions {
    let mut file = OpenOptions::new();
    file.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file
}
