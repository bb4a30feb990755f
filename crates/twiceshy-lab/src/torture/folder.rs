//! The folder of a store under torture: the store as the last crash left it, and a copy that was opened and checked.

use std::io;
use std::path::{Path, PathBuf};

/// The path of a snapshot while it is written.
pub(super) const SNAPSHOT_TEMPORARY: &str = "filter.twiceshy.new";

#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes a new folder. Existing files are never touched.
    pub(super) fn make(path: PathBuf) -> io::Result<Folder> {
        std::fs::create_dir(&path)?;
        let folder = Folder(path);
        std::fs::create_dir(folder.store())?;
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The store that children work on. The parent never opens it, so the next child finds it as the last one left it.
    pub(super) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// A copy of it.
    pub(super) fn copy(&self) -> io::Result<PathBuf> {
        copy(&self.store(), &self.checked())?;
        Ok(self.checked())
    }

    /// The path of that copy.
    pub(super) fn checked(&self) -> PathBuf {
        self.0.join("checked")
    }

    /// A path for a second copy.
    pub(super) fn beside(&self) -> PathBuf {
        self.0.join("beside")
    }

    pub(super) fn delete(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.0)
    }
}

/// Copies the files of a folder. A folder that is there already is deleted.
pub(super) fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if to.try_exists()? {
        std::fs::remove_dir_all(to)?;
    }
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
