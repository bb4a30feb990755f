//! A store in a redb file.

mod error;
mod expected;
mod fence;
mod file;
#[cfg(feature = "testing")]
mod full;
mod header;
mod overlay;
mod pages;
mod system_tables;
mod tree;
mod view;
#[cfg(feature = "testing")]
mod volatile;

pub use error::RedbError;

use crate::store::{Change, CommitError, Durability, Space, Store};
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard};
use error::{from_io, from_open};
use fence::{Fence, Fenced, Tables};
use overlay::Overlay;
use redb::backends::FileBackend;
use redb::{
    AccessGuard, Database, DatabaseError, Range, ReadableDatabase, ReadableTable, TableDefinition, TableError,
    WriteTransaction,
};
use std::fs::File;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use view::Views;

const fn table(space: Space) -> TableDefinition<'static, &'static [u8], &'static [u8]> {
    TableDefinition::new(space.name())
}

/// What is wrong with a file in which the fence has found a damaged page.
const DAMAGED_PAGE: &str = "a page is not as redb wrote it";

/// What is wrong with a file that the fence refuses.
const TABLES: &str = "a page of redb's own tables is not as redb wrote it";

/// Calls redb: see [`crate::caught`].
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    crate::caught::caught("redb", call)
}

type Bytes = &'static [u8];
type Entry = (AccessGuard<'static, Bytes>, AccessGuard<'static, Bytes>);

/// A store in a [redb](https://docs.rs/redb) file. While it is open, nobody else can open the file; many can read it at
/// once ([`open_read_only`](RedbStore::open_read_only)).
///
/// **Damage.** redb panics when it reads pages that it did not write. Here that is [`RedbError::Damaged`]. Pages are compared
/// with redb's checksums when they are read from the file. After a damaged one was read, other keys can still be read,
/// but commits are refused, because redb might overwrite pages that are in use. After a panic in a commit nothing more is
/// written to the file, and if it is not known whether the commit has happened, reads are refused too. A file in which
/// redb's own tables are damaged is not opened.
#[derive(Debug)]
pub struct RedbStore {
    path: PathBuf,
    /// `None` only while the store is dropped. A scan does not hold the lock while it calls its caller.
    database: ShardedLock<Option<Database>>,
    /// The tables as the last commit left them. Only used while the lock above is held.
    views: Views,
    fence: Arc<Fence>,
    read_only: bool,
    /// Commits come one at a time. One that waits inside redb for another that has panicked would wait for ever.
    committing: Mutex<()>,
    /// Why commits are refused.
    no_commits: OnceLock<String>,
    /// Why everything is refused.
    no_reads: OnceLock<String>,
}

/// How to open a [`RedbStore`].
#[derive(Clone, Debug)]
pub struct RedbOptions {
    cache: usize,
}

impl Default for RedbOptions {
    fn default() -> RedbOptions {
        RedbOptions { cache: RedbOptions::CACHE }
    }
}

impl RedbOptions {
    /// The default size of redb's cache in bytes.
    pub const CACHE: usize = 32 << 20;

    /// The default options.
    pub fn new() -> RedbOptions {
        RedbOptions::default()
    }

    /// Sets the size of redb's cache in bytes. Pages that are not in it are read from the file, which the operating system
    /// keeps in memory if there is room.
    pub fn cache(mut self, bytes: usize) -> RedbOptions {
        self.cache = bytes;
        self
    }
}

impl RedbStore {
    /// Opens the file, or creates it. A new file can be read and written by its owner alone.
    pub fn open(path: impl AsRef<Path>) -> Result<RedbStore, RedbError> {
        RedbStore::open_with(path, &RedbOptions::new())
    }

    /// The same with options.
    pub fn open_with(path: impl AsRef<Path>, options: &RedbOptions) -> Result<RedbStore, RedbError> {
        let path = path.as_ref();
        RedbStore::open_or_create(path, options, |file| Ok(Fence::new(FileBackend::new(file)?, Tables::Check)))
    }

    /// Opens an existing file for reading. The file is not changed, not even if it has to be repaired: the repaired pages
    /// are kept in memory, and commits fail with [`RedbError::ReadOnly`]. Many can open a file like this at once, but not
    /// while it is open for writing.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<RedbStore, RedbError> {
        RedbStore::open_overlaid(path.as_ref(), Tables::Check)
    }

    /// Opens a damaged file for reading, even if redb's own tables are damaged: without them if the others are whole, and
    /// with them otherwise.
    pub(crate) fn open_damaged(path: &Path) -> Result<RedbStore, RedbError> {
        RedbStore::open_read_only(path)
            .or_else(|_| RedbStore::open_overlaid(path, Tables::Hide))
            .or_else(|_| RedbStore::open_overlaid(path, Tables::Trust))
    }

    fn open_overlaid(path: &Path, tables: Tables) -> Result<RedbStore, RedbError> {
        let file = File::open(path).map_err(|error| from_io(path, error))?;
        let overlay = Overlay::new(FileBackend::new(file).map_err(|error| from_open(path, error))?);
        let fence = Fence::new(overlay, tables);
        let opened = RedbStore::start(path, &RedbOptions::new(), true, &fence);
        fence.settle(opened.is_ok());
        opened
    }

    /// Opens the file on a disk that has room for `bytes` more than the file has now. Writes beyond fail with
    /// [`StorageFull`](std::io::ErrorKind::StorageFull).
    #[cfg(feature = "testing")]
    pub fn open_limited(path: impl AsRef<Path>, bytes: u64) -> Result<RedbStore, RedbError> {
        RedbStore::open_or_create(path.as_ref(), &RedbOptions::new(), |file| {
            let limit = file.metadata()?.len() + bytes;
            Ok(Fence::new(full::Full { file: FileBackend::new(file)?, limit }, Tables::Check))
        })
    }

    /// Opens the file on a disk that forgets what was not synced when the process is killed. If the store is dropped, it is synced.
    #[cfg(feature = "testing")]
    pub fn open_volatile(path: impl AsRef<Path>) -> Result<RedbStore, RedbError> {
        RedbStore::open_or_create(path.as_ref(), &RedbOptions::new(), |file| {
            Ok(Fence::new(volatile::Volatile(Overlay::new(FileBackend::new(file)?)), Tables::Check))
        })
    }

    fn open_or_create(
        path: &Path,
        options: &RedbOptions,
        fence: impl Fn(File) -> Result<Arc<Fence>, DatabaseError>,
    ) -> Result<RedbStore, RedbError> {
        let attempt = || {
            let (file, is_new) = file::open_or_create(path).map_err(|error| from_io(path, error))?;
            let fence = fence(file).map_err(|error| from_open(path, error))?;
            let opened = RedbStore::start(path, options, false, &fence);
            // The locks are still held: nobody else has opened the new file.
            if opened.as_ref().is_err_and(|error| is_new && !matches!(error, RedbError::InUse(_))) {
                let _ = std::fs::remove_file(path);
            }
            fence.settle(opened.is_ok());
            opened
        };
        attempt().or_else(|error| match file::clear_unfinished(path) {
            Ok(true) => attempt(),
            _ => Err(error),
        })
    }

    /// Has redb open the file. The locks are kept, whatever comes of it.
    fn start(path: &Path, options: &RedbOptions, read_only: bool, fence: &Arc<Fence>) -> Result<RedbStore, RedbError> {
        let opened = caught(|| {
            let backend = Fenced(Arc::clone(fence));
            Database::builder().set_cache_size(options.cache).create_with_backend(backend)
        });
        let opened = match opened {
            _ if fence.has_refused() => Err(RedbError::Damaged(TABLES.to_owned())),
            Ok(opened) => opened.map_err(|error| from_open(path, error)),
            Err(what) => Err(RedbError::Damaged(what)),
        };
        // A refused open changes nothing.
        let database = opened.inspect_err(|_| fence.stop())?;
        let store = RedbStore {
            path: path.to_owned(),
            database: ShardedLock::new(Some(database)),
            views: Views::default(),
            fence: Arc::clone(fence),
            read_only,
            committing: Mutex::new(()),
            no_commits: OnceLock::new(),
            no_reads: OnceLock::new(),
        };
        if fence.is_for_reading() {
            let _ = store.no_commits.set(TABLES.to_owned());
        }
        let ready = store.has_tables().and_then(|there| if there { Ok(()) } else { store.make_tables() });
        ready.inspect_err(|_| fence.stop())?;
        Ok(store)
    }

    /// `true` if all tables are there, `false` if none is.
    fn has_tables(&self) -> Result<bool, RedbError> {
        let missing = self.read(|database| {
            let reading = database.begin_read()?;
            let mut missing = Vec::new();
            for space in Space::ALL {
                match reading.open_table(table(space)) {
                    Ok(_) => {}
                    Err(TableError::TableDoesNotExist(name)) => missing.push(name),
                    Err(error) => return Err(error.into()),
                }
            }
            Ok(missing)
        })?;
        // They were made in one commit. An empty table in place of a lost one would hide the loss.
        match &missing[..] {
            [name, ..] if missing.len() < Space::ALL.len() => {
                Err(RedbError::Damaged(format!("its table `{name}` is missing")))
            }
            missing => Ok(missing.is_empty()),
        }
    }

    /// Reads find their tables from now on. Opening an existing store writes nothing.
    fn make_tables(&self) -> Result<(), RedbError> {
        let made = self.transact(Durability::Synced, |transaction| {
            for space in Space::ALL {
                transaction.open_table(table(space))?;
            }
            Ok(())
        });
        made.map_err(|error| match error {
            CommitError::Failed(error) | CommitError::Unknown(error) => error,
        })
    }

    fn database(&self) -> ShardedLockReadGuard<'_, Option<Database>> {
        self.database.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(&self, call: impl FnOnce(&Database) -> Result<T, RedbError>) -> Result<T, RedbError> {
        refuse(&self.no_reads)?;
        let database = self.database();
        let database = database.as_ref().ok_or_else(closed)?;
        redb_call(|| call(database))
    }

    /// A transaction. After a panic no code of redb runs for it: neither to abort it, nor to close the file.
    fn transact(
        &self,
        durability: Durability,
        work: impl FnOnce(&WriteTransaction) -> Result<(), RedbError>,
    ) -> Result<(), CommitError<RedbError>> {
        let _one_at_a_time = self.committing.lock().unwrap_or_else(PoisonError::into_inner);
        refuse(&self.no_commits).and_then(|()| self.refuse_damage()).map_err(CommitError::Failed)?;
        let database = self.database();
        let database = database.as_ref().ok_or_else(closed).map_err(CommitError::Failed)?;
        let (_commit, view) = self.views.commit();
        let begun = caught(|| -> Result<WriteTransaction, RedbError> {
            drop(view);
            let mut transaction = database.begin_write()?;
            transaction.set_durability(match durability {
                Durability::Synced => redb::Durability::Immediate,
                Durability::Seen => redb::Durability::None,
            })?;
            Ok(transaction)
        });
        let begun = begun.unwrap_or_else(|what| Err(self.stop_commits(what)));
        let transaction = begun.map_err(CommitError::Failed)?;
        match caught(|| work(&transaction).and_then(|()| self.refuse_damage())) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                if let Err(what) = caught(move || drop(transaction)) {
                    self.stop_commits(what);
                }
                return Err(CommitError::Failed(error));
            }
            Err(what) => {
                std::mem::forget(transaction);
                return Err(CommitError::Failed(self.stop_commits(what)));
            }
        }
        self.fence.commits();
        match caught(move || transaction.commit()) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error @ redb::CommitError::TransactionPoisoned)) => Err(CommitError::Failed(error.into())),
            // Its changes happened all or not at all, and redb does not say which.
            Ok(Err(error)) => Err(CommitError::Unknown(error.into())),
            Err(what) => Err(CommitError::Unknown(self.stop(what))),
        }
    }

    /// A page that was read before may be damaged, or one that this transaction has read.
    fn refuse_damage(&self) -> Result<(), RedbError> {
        if self.fence.has_read_damage() { Err(RedbError::Damaged(DAMAGED_PAGE.to_owned())) } else { Ok(()) }
    }

    /// Refuses commits from now on, and writes no more to the file.
    fn stop_commits(&self, what: String) -> RedbError {
        self.fence.stop();
        let _ = self.no_commits.set(what.clone());
        RedbError::Damaged(what)
    }

    /// Refuses everything from now on, and writes no more to the file.
    fn stop(&self, what: String) -> RedbError {
        let _ = self.no_reads.set(what.clone());
        self.stop_commits(what)
    }
}

fn refuse(why: &OnceLock<String>) -> Result<(), RedbError> {
    why.get().map_or(Ok(()), |what| Err(RedbError::Damaged(what.clone())))
}

fn closed() -> RedbError {
    redb::Error::DatabaseClosed.into()
}

fn redb_call<T>(call: impl FnOnce() -> Result<T, RedbError>) -> Result<T, RedbError> {
    caught(call).unwrap_or_else(|what| Err(RedbError::Damaged(what)))
}

impl Drop for RedbStore {
    fn drop(&mut self) {
        let view = self.views.take();
        let database = self.database.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if self.no_commits.get().is_some() {
            // redb's memory cannot be trusted. It is not freed, since that would run redb's code.
            std::mem::forget((view, database));
        } else {
            self.fence.commits();
            if caught(move || drop((view, database))).is_err() {
                self.fence.stop();
            }
        }
        self.fence.release();
    }
}

impl Store for RedbStore {
    type Error = RedbError;

    fn get(&self, space: Space, key: &[u8]) -> Result<Option<Vec<u8>>, RedbError> {
        self.read(|database| {
            let view = self.views.last(database)?;
            let table = view.table(space)?;
            Ok(table.get(key)?.map(|value| value.value().to_vec()))
        })
    }

    fn contains(&self, space: Space, key: &[u8]) -> Result<bool, RedbError> {
        self.read(|database| Ok(self.views.last(database)?.table(space)?.get(key)?.is_some()))
    }

    fn scan(
        &self,
        space: Space,
        from: Bound<&[u8]>,
        found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), RedbError> {
        let mut range = self.read(|database| {
            Ok(self.views.last(database)?.table(space)?.range::<&[u8]>((from, Bound::Unbounded))?)
        })?;
        let mut entry = None;
        // `found` is the caller's: its panics are not redb's, and go on once redb's values are gone.
        let ended = catch_unwind(AssertUnwindSafe(|| scan_range(&mut range, &mut entry, space, from, found)));
        let dropped = caught(move || drop((entry, range)));
        ended.unwrap_or_else(|payload| resume_unwind(payload))?;
        dropped.map_err(RedbError::Damaged)
    }

    fn commit(&self, changes: &[Change], durability: Durability) -> Result<(), CommitError<RedbError>> {
        if self.read_only {
            return Err(CommitError::Failed(RedbError::ReadOnly(self.path.clone())));
        }
        self.transact(durability, |transaction| self.write(transaction, changes))
    }

    /// Has redb read all of its pages and compare their checksums. If it finds damage and has an older state that is whole,
    /// it goes back to that. While the file cannot be repaired, it is left as it is, and nothing can be read until it is
    /// opened again. Waits for scans to end, a minute at most.
    fn verify(&self) -> Result<Vec<String>, RedbError> {
        for _ in 0..60_000 {
            refuse(&self.no_commits)?;
            let checked = {
                let mut database = self.database.write().unwrap_or_else(PoisonError::into_inner);
                let database = database.as_mut().ok_or_else(closed)?;
                // redb refuses while a table is open.
                let view = self.views.take();
                caught(|| {
                    drop(view);
                    database.check_integrity()
                })
            };
            if matches!(checked, Ok(Ok(_))) {
                // A repair is a commit, and so is what was only seen before.
                self.fence.commits();
            }
            match checked {
                Ok(Ok(true)) => return Ok(Vec::new()),
                Ok(Ok(false)) => {
                    self.fence.is_repaired();
                    return Ok(vec![self.repaired()]);
                }
                Ok(Err(DatabaseError::TransactionInProgress)) => {}
                Ok(Err(error)) => {
                    let error = RedbError::from(error);
                    self.stop(if let RedbError::Damaged(what) = &error { what.clone() } else { error.to_string() });
                    return Err(error);
                }
                Err(what) => return Err(self.stop(what)),
            }
            // The lock is free meanwhile: a scan may call this store.
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(redb::Error::TransactionInProgress.into())
    }
}

impl RedbStore {
    fn write(&self, transaction: &WriteTransaction, changes: &[Change]) -> Result<(), RedbError> {
        for space in Space::ALL {
            let mut own = changes.iter().filter(|change| change.space == space).peekable();
            if own.peek().is_none() {
                continue;
            }
            let mut table = transaction.open_table(table(space))?;
            for change in own {
                // Changing a tree whose pages point back at themselves overflows redb's stack, and nothing can catch that.
                // Reading it is an error, and takes the same way through the tree.
                table.get(&*change.key)?;
                self.refuse_damage()?;
                match &change.value {
                    Some(value) => drop(table.insert(&*change.key, &**value)?),
                    None => drop(table.remove(&*change.key)?),
                }
            }
        }
        Ok(())
    }

    fn repaired(&self) -> String {
        let how = if self.read_only { "it can be repaired" } else { "it was repaired" };
        format!("{} was damaged, and {how}: its last commits may be missing", self.path.display())
    }
}

/// Calls `found` with the entries of a range. Keeps redb's values where the caller can drop them.
fn scan_range(
    range: &mut Range<'static, Bytes, Bytes>,
    entry: &mut Option<Entry>,
    space: Space,
    from: Bound<&[u8]>,
    found: &mut dyn FnMut(&[u8], &[u8]) -> bool,
) -> Result<(), RedbError> {
    let mut last: Option<Vec<u8>> = None;
    loop {
        redb_call(|| {
            *entry = None;
            *entry = range.next().transpose()?;
            Ok(())
        })?;
        let Some((key, value)) = &*entry else { return Ok(()) };
        let (key, value) = caught(|| (key.value(), value.value())).map_err(RedbError::Damaged)?;
        // Pages that point at each other would be read for ever, and so would pages before `from` by a caller that goes on
        // after the last key.
        let before = match from {
            Bound::Unbounded => false,
            Bound::Included(from) => key < from,
            Bound::Excluded(from) => key <= from,
        };
        if before || last.as_deref().is_some_and(|last| last >= key) {
            return Err(RedbError::Damaged(format!("the keys of its table `{}` are not in order", space.name())));
        }
        if !found(key, value) {
            return Ok(());
        }
        let last = last.get_or_insert_default();
        last.clear();
        last.extend_from_slice(key);
    }
}

#[cfg(test)]
mod tests {
    use super::file::MAGIC;
    use super::*;
    use std::fs::OpenOptions;

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
