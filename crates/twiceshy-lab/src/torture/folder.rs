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
        let copy = self.0.join("checked");
        if copy.try_exists()? {
            std::fs::remove_dir_all(&copy)?;
        }
        std::fs::create_dir(&copy)?;
        for entry in std::fs::read_dir(self.store())? {
            let entry = entry?;
            std::fs::copy(entry.path(), copy.join(entry.file_name()))?;
        }
        Ok(copy)
    }

    pub(super) fn delete(self) -> io::Result<()> {
        std::fs::remove_dir_all(&self.0)
    }
}
