//! A guarded store in a folder: what most users want.

use crate::error::Error;
use crate::guard::Guard;
use crate::options::Options;
use crate::redb_store::{RedbError, RedbStore};
use crate::saving::io_error;
use crate::snapshot::sync_folder;
use std::path::Path;

/// The store's own file. It holds every key.
pub const STORE_FILE: &str = "store.redb";

/// The filter's snapshot. Without it the next open is slower.
pub const SNAPSHOT_FILE: &str = "filter.twiceshy";

impl Options {
    /// Guards the store in a folder, which is created if it does not exist. All keys are in `store.redb`. Everything else in
    /// the folder may be damaged or deleted, and is made anew.
    pub fn open_folder(self, path: impl AsRef<Path>) -> Result<Guard<RedbStore>, Error<RedbError>> {
        let path = path.as_ref();
        // A refusal leaves nothing behind.
        let is_there = path.join(STORE_FILE).try_exists().map_err(|error| io_error(path, error))?;
        if !is_there {
            if !self.create && !self.create_new {
                return Err(Error::NoStore);
            }
            let (choice, keys) = self.choice();
            choice.cells(keys)?;
        }
        std::fs::create_dir_all(path).map_err(|error| io_error(path, error))?;
        let store = RedbStore::open(path.join(STORE_FILE)).map_err(Error::Store)?;
        if !is_there {
            // A file is found after a crash if its folder is on disk, too, and the folder's own.
            let synced = sync_folder(&path.join(STORE_FILE)).and_then(|()| sync_folder(path));
            synced.map_err(|error| io_error(path, error))?;
        }
        self.snapshot(path.join(SNAPSHOT_FILE)).open(store)
    }
}

impl Guard<RedbStore> {
    /// Guards the store in a folder with the usual options: see [`Options::open_folder`].
    pub fn open(path: impl AsRef<Path>) -> Result<Guard<RedbStore>, Error<RedbError>> {
        Options::new().open_folder(path)
    }
}
