//! When the filter's snapshot is written, and when it is deleted.

use crate::batch::Batch;
use crate::error::Error;
use crate::inner::{Inner, Writer};
use crate::snapshot;
use crate::store::{Durability, Store};
use std::path::Path;
use std::sync::PoisonError;

/// How many records the log may have, at least.
const LONG_ENOUGH: u64 = 10_000;

impl<S: Store> Inner<S> {
    /// After every change: keeps the log short, and learns from waiting queries.
    pub(crate) fn after_change(&self, writer: &mut Writer) {
        self.keep_log_short(writer);
        self.learn_at_once(writer);
    }

    pub(crate) fn keep_log_short(&self, writer: &mut Writer) {
        let most = (writer.state.len / 4).max(LONG_ENOUGH);
        if writer.state.last.number - writer.state.log_from.number > most {
            // A snapshot that cannot be written does not fail the change: the next open rebuilds.
            if self.snapshot.is_none() || self.save(writer).is_err() {
                writer.state.log_from = writer.state.last;
                writer.stale_snapshot = self.snapshot.is_some();
            }
        }
    }

    /// Saves the filter of the last commit beside the store.
    pub(crate) fn save(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let Some(path) = &self.snapshot else { return self.sync(writer) };
        let now = (writer.state.last, self.counters.adapted.get());
        if writer.saved == Some(now) {
            return self.sync(writer);
        }
        let mut bytes = Vec::new();
        let saved = match &*self.filter.read().unwrap_or_else(PoisonError::into_inner) {
            Some(filter) => filter.save(writer.state.last.number, &mut bytes).is_ok(),
            None => false,
        };
        if !saved {
            return self.sync(writer);
        }
        // The commit must be there when the snapshot is: one that the store has lost would be of a set that never was.
        self.commit_state(writer, Durability::Synced)?;
        let header = snapshot::header(writer.state.identity, writer.state.last, &bytes);
        snapshot::write(path, &header, &bytes).map_err(|error| io_error(path, error))?;
        writer.stale_snapshot = false;
        writer.saved = Some(now);
        writer.state.log_from = writer.state.last;
        self.counters.snapshots.add(1);
        // Else a broom filter would be made anew after a crash, although all that it has learned is in the snapshot.
        let durability = if writer.state.learned { Durability::Synced } else { Durability::Seen };
        writer.state.learned = false;
        self.commit_state(writer, durability)
    }

    /// Syncs all commits to disk.
    fn sync(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if writer.unsynced { self.commit_state(writer, Durability::Synced) } else { Ok(()) }
    }

    fn commit_state(&self, writer: &mut Writer, durability: Durability) -> Result<(), Error<S::Error>> {
        let mut batch = Batch::default();
        writer.state.write(&mut batch);
        Ok(self.commit_batch(writer, batch, durability)?)
    }

    /// Deletes a snapshot that was refused, before the next change: its commit number may be used again. If it cannot be
    /// deleted, its tag still refuses it, and the next change tries again.
    pub(crate) fn forget_stale_snapshot(&self, writer: &mut Writer) {
        if let Some(path) = self.snapshot.as_ref().filter(|_| writer.stale_snapshot) {
            writer.saved = None;
            writer.stale_snapshot = snapshot::delete(path).is_err();
        }
    }
}

pub(crate) fn io_error<E>(path: &Path, error: std::io::Error) -> Error<E> {
    Error::Io { path: path.to_owned(), error }
}
