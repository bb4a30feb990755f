//! When the filter's snapshot is written, and when it is deleted.

use crate::batch::Batch;
use crate::error::Error;
use crate::inner::{Inner, Writer};
use crate::snapshot;
use crate::store::{Durability, Store};
use std::path::Path;
use std::sync::PoisonError;

/// The log may always have this many records.
const MIN_LOG_LIMIT: u64 = 10_000;

impl<S: Store> Inner<S> {
    /// Runs after every change.
    pub(crate) fn after_change(&self, writer: &mut Writer) {
        self.keep_log_short(writer);
    }

    pub(crate) fn keep_log_short(&self, writer: &mut Writer) {
        let most = (writer.state.len / 4).max(MIN_LOG_LIMIT);
        if writer.state.last.number - writer.state.log_from.number > most {
            // A change does not fail because its snapshot could not be written: the next open rebuilds the filter.
            if self.snapshot.is_none() || self.save(writer).is_err() {
                writer.state.log_from = writer.state.last;
                writer.stale_snapshot = self.snapshot.is_some();
            }
        }
    }

    /// Saves the filter as of the last commit.
    pub(crate) fn save(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let Some(path) = &self.snapshot else { return self.sync(writer) };
        let mut bytes = Vec::new();
        let now = match &*self.filter.read().unwrap_or_else(PoisonError::into_inner) {
            Some(filter) => {
                let now = (writer.state.last, filter.stamp());
                let known = writer.saved == Some(now);
                (!known && filter.save(now.0.number, &mut bytes).is_ok()).then_some(now)
            }
            None => None,
        };
        let Some(now) = now else { return self.sync(writer) };
        // The commit must be durable before the snapshot is. Otherwise the snapshot could describe a set that the store has
        // lost.
        self.commit_state(writer, Durability::Synced)?;
        let header = snapshot::header(writer.state.identity, writer.state.last, &bytes);
        snapshot::write(path, &header, &bytes).map_err(|error| io_error(path, error))?;
        writer.stale_snapshot = false;
        writer.saved = Some(now);
        writer.state.log_from = writer.state.last;
        self.counters.snapshots.add(1);
        // Otherwise a crash would make a broom filter start over, although the snapshot has all that it has learned.
        let durability = if writer.state.learned { Durability::Synced } else { Durability::Seen };
        writer.state.learned = false;
        writer.learning_synced = false;
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

    /// Deletes a refused snapshot before the next change, because its commit number may be used again. If it cannot be
    /// deleted, its tag still gives it away, and the next change tries again.
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
