//! What may happen to a store's files between two opens, besides a crash.

use super::folder::SNAPSHOT_BESIDE;
use super::model::Model;
use crate::workload::rng::Rng;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use twiceshy_store::{SNAPSHOT_FILE, STORE_FILE};

/// How many snapshots are kept for later.
const KEPT: usize = 12;

/// Old files that may come back: a user restores a copy, or copies the wrong folder.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// The snapshots of this store and of those before it.
    snapshots: VecDeque<Vec<u8>>,
    /// The store as it was, and what it held.
    store: Option<(Vec<u8>, Model)>,
    /// The snapshot that lay there when the store was put back: its commits never were, and their numbers come again.
    lost: Option<Vec<u8>>,
}

impl Shelf {
    /// Keeps what is new in the folder of a store that holds so much.
    pub(super) fn keep(&mut self, folder: &Path, model: &Model, rng: &mut Rng) -> io::Result<()> {
        if let Some(snapshot) = read(&folder.join(SNAPSHOT_FILE))?
            && !self.snapshots.contains(&snapshot)
        {
            self.snapshots.truncate(KEPT - 1);
            self.snapshots.push_front(snapshot);
        }
        if rng.below(3) == 0
            && let Some(store) = read(&folder.join(STORE_FILE))?
        {
            self.store = Some((store, model.clone()));
        }
        Ok(())
    }

    /// A new store begins: the old one's file is of no use to it. Its snapshots must not be of any, either.
    pub(super) fn begin(&mut self) {
        (self.store, self.lost) = (None, None);
    }

    /// Now and then damages what a store must be able to lose. Whether it has.
    pub(super) fn damage(&self, folder: &Path, rng: &mut Rng) -> io::Result<bool> {
        let path = folder.join(SNAPSHOT_FILE);
        if let Some(lost) = self.lost.as_ref().filter(|_| rng.below(2) == 0) {
            std::fs::write(path, lost)?;
            return Ok(true);
        }
        let snapshot = read(&path)?;
        match (rng.below(24), snapshot) {
            (0, Some(_)) => std::fs::remove_file(path)?,
            (1, Some(mut bytes)) => {
                bytes.truncate(rng.below(bytes.len() as u64) as usize);
                std::fs::write(path, bytes)?;
            }
            (2, Some(mut bytes)) if !bytes.is_empty() => {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
                std::fs::write(path, bytes)?;
            }
            (3, _) => std::fs::write(folder.join(SNAPSHOT_BESIDE), b"TWSYSNAP, or so it seems")?,
            (4..=6, _) if !self.snapshots.is_empty() => {
                let at = rng.below(self.snapshots.len() as u64) as usize;
                std::fs::write(path, &self.snapshots[at])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Now and then puts the store back to what it was, and leaves the snapshot, which is then of commits that never were.
    /// What the store holds now, if so.
    pub(super) fn go_back(&mut self, folder: &Path, rng: &mut Rng) -> io::Result<Option<Model>> {
        let Some((bytes, model)) = self.store.as_ref().filter(|_| rng.below(5) == 0) else { return Ok(None) };
        std::fs::write(folder.join(STORE_FILE), bytes)?;
        self.lost = read(&folder.join(SNAPSHOT_FILE))?;
        Ok(Some(model.clone()))
    }
}

/// A file's bytes; none where there is no file.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
