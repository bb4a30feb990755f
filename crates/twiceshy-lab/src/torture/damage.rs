//! Damage to a store's files between two opens, besides a crash.

use super::folder::SNAPSHOT_TEMPORARY;
use super::model::Model;
use crate::workload::rng::Rng;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use twiceshy_store::{SNAPSHOT_FILE, STORE_FILE};

/// How many snapshots are kept for later.
const KEPT: usize = 12;

/// Old files that may come back, as if a user restored a copy or copied the wrong folder.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// Snapshots of this store and of earlier stores.
    snapshots: VecDeque<Vec<u8>>,
    /// An earlier copy of the store, and what it held.
    store: Option<(Vec<u8>, Model)>,
    /// The snapshot that was there when the store was restored. Its commits are lost, and their numbers are used again.
    lost: Option<Vec<u8>>,
}

impl Shelf {
    /// Keeps copies of the files of a store that holds `model`.
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

    /// Starts a new store. The copy of the old store is dropped; its snapshots stay, and the new store must reject
    /// them.
    pub(super) fn begin(&mut self) {
        (self.store, self.lost) = (None, None);
    }

    /// Occasionally damages files that a store must be able to lose. Returns `true` if it did.
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
            (3, _) => std::fs::write(folder.join(SNAPSHOT_TEMPORARY), b"TWSYSNAP, or so it seems")?,
            (4..=6, _) if !self.snapshots.is_empty() => {
                let at = rng.below(self.snapshots.len() as u64) as usize;
                std::fs::write(path, &self.snapshots[at])?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Occasionally restores the earlier copy of the store but leaves the snapshot, whose commits are then lost.
    /// Returns what the store holds now, if it did.
    pub(super) fn go_back(&mut self, folder: &Path, rng: &mut Rng) -> io::Result<Option<Model>> {
        let Some((bytes, model)) = self.store.as_ref().filter(|_| rng.below(5) == 0) else { return Ok(None) };
        std::fs::write(folder.join(STORE_FILE), bytes)?;
        self.lost = read(&folder.join(SNAPSHOT_FILE))?;
        Ok(Some(model.clone()))
    }
}

/// A file's bytes; `None` if there is no file.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
