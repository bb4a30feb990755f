//! A guarded store in a folder: what most users want.

use crate::beside::Beside;
use crate::choice::Choice;
use crate::error::Error;
use crate::guard::Guard;
use crate::inner::read_state;
use crate::options::Options;
use crate::redb_store::{RedbError, RedbStore};
use crate::repairing::Repaired;
use crate::salvaging::{Losses, Salvage, Stopped};
use crate::saving::io_error;
use crate::snapshot::sync_folder;
use crate::state::State;
use crate::status::STATUS_FILE;
use crate::store::Store;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The store's own file. It holds every key.
pub const STORE_FILE: &str = "store.redb";

/// The file of a guard beside a store. It holds the keys alone.
pub const KEYS_FILE: &str = "keys.redb";

/// The filter's snapshot. Without it the next open is slower.
pub const SNAPSHOT_FILE: &str = "filter.twiceshy";

impl Options {
    /// Guards the store in a folder, which is created if it does not exist. All keys are in `store.redb`. Everything else
    /// in the folder may be damaged or deleted, and is rebuilt.
    ///
    /// On Unix, new folders belong to their owner only. If a new store cannot be made, what was created on the way is
    /// deleted again.
    pub fn open_folder(self, path: impl AsRef<Path>) -> Result<Guard<RedbStore>, Error<RedbError>> {
        let path = path.as_ref();
        if path.join(KEYS_FILE).exists() {
            return Err(Error::IsBeside);
        }
        self.in_folder(path, STORE_FILE, Options::open)
    }

    /// Opens the guard in a folder that stands beside a store: see [`Guard::beside`].
    ///
    /// The folder holds nothing that your store does not have. If it is damaged, delete it, and adopt again.
    pub fn beside(self, path: impl AsRef<Path>) -> Result<Beside<RedbStore>, Error<RedbError>> {
        let path = path.as_ref();
        if path.join(STORE_FILE).exists() {
            return Err(Error::IsOwned);
        }
        self.in_folder(path, KEYS_FILE, Options::open_beside)
    }

    /// Opens a guard in a folder, which is created if necessary.
    fn in_folder<G>(
        self,
        path: &Path,
        file: &str,
        open: impl FnOnce(Options, RedbStore) -> Result<G, Error<RedbError>>,
    ) -> Result<G, Error<RedbError>> {
        // A refused open must leave no files behind.
        let is_there = path.join(file).try_exists().map_err(|error| io_error(path, error))?;
        if is_there {
            return self.open_in(path, file, open);
        }
        if self.read_only || !self.create && !self.create_new {
            return Err(Error::NoStore);
        }
        self.geometry()?;
        let mut made = Made::default();
        let opened =
            made.make(path, file).map_err(|error| io_error(path, error)).and_then(|()| self.open_in(path, file, open));
        if opened.as_ref().is_err_and(|error| !is_of_another(error)) {
            made.delete();
        }
        opened
    }

    /// Guards the store of an existing folder.
    fn open_in<G>(
        self,
        path: &Path,
        file: &str,
        open: impl FnOnce(Options, RedbStore) -> Result<G, Error<RedbError>>,
    ) -> Result<G, Error<RedbError>> {
        let file = path.join(file);
        let store = if self.read_only { RedbStore::open_read_only(file) } else { RedbStore::open(file) };
        let store = store.map_err(Error::Store)?;
        let name = self.name.clone().unwrap_or_else(|| path.display().to_string());
        let mut options = self.name(name).snapshot(path.join(SNAPSHOT_FILE));
        options.status = Some(path.join(STATUS_FILE));
        open(options, store)
    }
}

impl Options {
    /// Repairs the store in a folder: see [`Guard::repair`]. If its file is damaged beyond redb's own repair, whatever can be
    /// read is copied to a new file, and the old one is kept beside it.
    ///
    /// The filter of these options is for a store that no longer knows its own.
    pub fn repair_folder(self, path: impl AsRef<Path>) -> Result<Repaired, Error<RedbError>> {
        let path = path.as_ref();
        if path.join(KEYS_FILE).exists() {
            return Err(Error::IsBeside);
        }
        let file = path.join(STORE_FILE);
        if !file.try_exists().map_err(|error| io_error(path, error))? {
            return Err(Error::NoStore);
        }
        // Not opened for writing before it is known to be sound: what is written to a damaged file may make it unreadable.
        let verified = RedbStore::open_read_only(&file).and_then(|store| store.verify());
        match verified {
            Err(RedbError::Damaged(what)) => self.salvage(path, &what),
            Err(error) => Err(Error::Store(error)),
            Ok(_) => self.open_damaged(true).open_folder(path)?.repair(),
        }
    }

    /// Copies what can be read of a damaged file to a new one, which takes its place.
    fn salvage(self, path: &Path, what: &str) -> Result<Repaired, Error<RedbError>> {
        // Two repairs at once must not share it.
        let (file, new) = (path.join(STORE_FILE), path.join(format!("{STORE_FILE}.new-{}", std::process::id())));
        // Nobody can open it for writing while this is open.
        let damaged = RedbStore::open_damaged(&file).map_err(Error::Store)?;
        let state = match read_state(&damaged) {
            Err(Error::Damaged | Error::Store(RedbError::Damaged(_))) => None,
            state => state?,
        };
        let copied = self.copy_readable(&damaged, state.as_ref(), &new);
        let replaced = copied.and_then(|copied| {
            let kept = replace(&file, &new).map_err(|error| io_error(&file, error))?;
            Ok((copied, kept))
        });
        let ((keys, losses), kept) = replaced.inspect_err(|_| drop(std::fs::remove_file(&new)))?;
        // The new store would refuse it.
        let _ = std::fs::remove_file(path.join(SNAPSHOT_FILE));
        drop(damaged);
        let mut done = Repaired { keys, ..Repaired::default() };
        let kept = kept.display();
        done.repaired.push(format!(
            "the file was damaged ({what}): {keys} keys were copied to a new one, and it is kept as {kept}"
        ));
        done.lose(&losses.keys, "is gone: insert it again");
        done.lost.extend(losses.unknown);
        Ok(done)
    }

    fn copy_readable(
        self,
        damaged: &RedbStore,
        state: Option<&State>,
        new: &Path,
    ) -> Result<(u64, Losses), Error<RedbError>> {
        let mut options = self.create_new(true).open_damaged(false);
        options.snapshot = None;
        if let Some(choice) = state.and_then(|state| Choice::from_bytes(&state.choice)) {
            options = options.filter(choice.kind).false_positive_rate(choice.rate);
        }
        let guard = options.open(RedbStore::open(new).map_err(Error::Store)?)?;
        let is_damage = |error: &RedbError| matches!(error, RedbError::Damaged(_));
        let save = |entries: Vec<_>| guard.insert_all(entries).map(drop);
        let stopped = |stopped| match stopped {
            Stopped::Source(error) => Error::Store(error),
            Stopped::Target(error) => error,
        };
        let salvage = Salvage::new(damaged, state, is_damage).map_err(stopped)?;
        let losses = salvage.run(save, |key| guard.contains(key)).map_err(stopped)?;
        let keys = guard.len()?;
        guard.close().map(|()| (keys, losses))
    }
}

/// Puts a new file in the place of a damaged one, which gets another name as well: the first that is free. Returns that name.
/// There is a file with the store's name at every moment.
fn replace(file: &Path, new: &Path) -> io::Result<PathBuf> {
    like(file, new)?;
    let mut number = 1;
    let kept = loop {
        let kept = file.with_file_name(format!("{STORE_FILE}.damaged-{number}"));
        match kept.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => break kept,
            _ => number += 1,
        }
    };
    if std::fs::hard_link(file, &kept).is_err() {
        // Not every file system has links.
        std::fs::copy(file, &kept)?;
        File::open(&kept)?.sync_all()?;
    }
    // The old file must have its other name before it loses this one.
    sync_folder(file)?;
    std::fs::rename(new, file)?;
    // The new file is in its place now, so this must not fail the repair.
    let _ = sync_folder(file);
    Ok(kept)
}

/// Gives a new file the owner and the permissions of the one that it replaces.
#[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has owners"))]
fn like(file: &Path, new: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, chown};
        let (about, own) = (file.metadata()?, new.metadata()?);
        if (about.uid(), about.gid()) != (own.uid(), own.gid()) {
            chown(new, Some(about.uid()), Some(about.gid()))?;
        }
        std::fs::set_permissions(new, about.permissions())?;
    }
    Ok(())
}

/// `true` if the error means that someone else made a store at the same time. Then the file is theirs.
fn is_of_another(error: &Error<RedbError>) -> bool {
    matches!(error, Error::IsThere | Error::OtherFilter { .. } | Error::Store(RedbError::InUse(_)))
}

/// What was created for a new store, in order.
#[derive(Default)]
struct Made {
    folders: Vec<PathBuf>,
    /// Files that did not exist before, whether or not they do now.
    files: Vec<PathBuf>,
    /// The store's file, if it was created here.
    store: Option<File>,
}

impl Made {
    /// Creates the folder and an empty file for the store, and syncs them: after a crash a file is found only if the
    /// entries of its folder are synced, and those of the folders above.
    fn make(&mut self, path: &Path, file: &str) -> io::Result<()> {
        self.make_folder(path)?;
        let file = path.join(file);
        match new_file().open(&file) {
            Ok(new) => self.store = Some(new),
            // Someone else was faster. The store decides which of the two may use it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(error),
        }
        let snapshots = [path.join(SNAPSHOT_FILE), path.join(format!("{SNAPSHOT_FILE}.new"))];
        self.files = snapshots.into_iter().filter(|file| file.symlink_metadata().is_err()).collect();
        self.files.push(file.clone());
        sync_folder(&file)?;
        sync_folder(path)?;
        self.folders.iter().try_for_each(|folder| sync_folder(folder))
    }

    /// Creates a folder and those above it, as [`std::fs::create_dir_all`] does.
    fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        let mut made = new_folder().create(path);
        if let Err(error) = &made
            && error.kind() == io::ErrorKind::NotFound
            && let Some(above) = path.parent()
        {
            self.make_folder(above)?;
            made = new_folder().create(path);
        }
        match made {
            Ok(()) => self.folders.push(path.to_owned()),
            Err(_) if path.as_os_str().is_empty() || path.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Deletes what was created. Folders that are not empty stay.
    fn delete(self) {
        if let Some(store) = self.store {
            // A process that has locked the file has found it empty, and made a store of it.
            if store.try_lock().is_err() {
                return;
            }
            // An error is not reported: the reason why there is no store is the better one.
            self.files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        }
        self.folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
    }
}

/// How a folder is created: for its owner only.
fn new_folder() -> DirBuilder {
    let mut folder = DirBuilder::new();
    // One at a time, so that it is known which are new.
    folder.recursive(false);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder
}

/// How a file is created: for its owner only, and only if it does not exist.
fn new_file() -> OpenOptions {
    let mut file = OpenOptions::new();
    file.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut file, 0o600);
    file
}

impl Guard<RedbStore> {
    /// Guards the store in a folder with the default options: see [`Options::open_folder`].
    pub fn open(path: impl AsRef<Path>) -> Result<Guard<RedbStore>, Error<RedbError>> {
        Options::new().open_folder(path)
    }

    /// Opens a guard beside a store that you already have, with the default options. Its keys are in a folder, which is created
    /// if it does not exist; the rows stay where they are: see [`Beside`].
    pub fn beside(path: impl AsRef<Path>) -> Result<Beside<RedbStore>, Error<RedbError>> {
        Options::new().beside(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_deleted_and_what_was_there_stays() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join(SNAPSHOT_FILE), b"mine").unwrap();
        for path in ["a/b/c", "d/../e/f", ""] {
            let mut made = Made::default();
            made.make(&root.path().join(path), STORE_FILE).unwrap();
            assert!(root.path().join(path).join(STORE_FILE).exists());
            made.delete();
            let left = std::fs::read_dir(root.path()).unwrap().map(|entry| entry.unwrap().file_name());
            assert_eq!(left.collect::<Vec<_>>(), [SNAPSHOT_FILE], "{path}");
        }
    }

    #[test]
    fn a_store_that_another_has_made_meanwhile_stays() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        let mut made = Made::default();
        made.make(&path, STORE_FILE).unwrap();
        let guard = Guard::open(&path).unwrap();
        guard.insert(b"key", b"value").unwrap();
        let refused = Options::new().open_in(&path, STORE_FILE, Options::open).err().unwrap();
        assert!(is_of_another(&refused), "{refused}");
        made.delete();
        guard.close().unwrap();
        assert!(Guard::open(&path).unwrap().contains(b"key").unwrap());

        let mut late = Made::default();
        late.make(&path, STORE_FILE).unwrap();
        late.delete();
        assert!(Guard::open(&path).unwrap().contains(b"key").unwrap());
    }
}
