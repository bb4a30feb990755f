//! When the filter's snapshot is written, when it is deleted, and when commits are synced.

use crate::batch::Batch;
use crate::error::Error;
use crate::inner::{Inner, Writer};
use crate::rolling::{MOST_BYTES, MOST_RECORDS};
use crate::snapshot::{self, SnapshotKey};
use crate::store::{CommitError, Durability, Store};
use std::path::Path;
use std::sync::PoisonError;

/// The log may always have this many records.
const MIN_LOG_LIMIT: u64 = 10_000;

/// A commit is synced after this many that are not: a store may keep something in memory for each of them.
const MOST_UNSYNCED: u64 = 4_096;

/// It is also synced after this many bytes.
const MOST_UNSYNCED_BYTES: u64 = 32 << 20;

/// Commits since the last one that was synced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unsynced {
    commits: u64,
    bytes: u64,
}

impl<S: Store> Inner<S> {
    /// Runs after every change.
    pub(crate) fn after_change(&self, writer: &mut Writer) {
        self.keep_log_short(writer);
    }

    pub(crate) fn keep_log_short(&self, writer: &mut Writer) {
        let most = (writer.state.len / 4).clamp(MIN_LOG_LIMIT, MOST_RECORDS);
        let records = writer.state.last.number.saturating_sub(writer.state.log_from.number);
        if records > most || writer.state.log_bytes > MOST_BYTES {
            // A change does not fail because its snapshot could not be written: the next open rebuilds the filter.
            if self.snapshot.is_none() || self.save(writer).is_err() {
                writer.state.cut_log();
                writer.stale_snapshot = self.snapshot.is_some();
            }
        }
    }

    /// Commits, and records whether the commit was synced.
    pub(crate) fn commit_batch(
        &self,
        writer: &mut Writer,
        batch: Batch,
        durability: Durability,
    ) -> Result<(), CommitError<S::Error>> {
        let changes = batch.into_changes();
        let size = |value: &Option<Vec<u8>>| value.as_ref().map_or(0, Vec::len);
        let bytes: usize = changes.iter().map(|change| change.key.len() + size(&change.value)).sum();
        // A commit whose answer is lost may have happened and not be synced.
        writer.unsynced.commits += 1;
        writer.unsynced.bytes += bytes as u64;
        let many = writer.unsynced.commits > MOST_UNSYNCED || writer.unsynced.bytes > MOST_UNSYNCED_BYTES;
        let durability = if many { Durability::Synced } else { durability };
        self.store.commit(&changes, durability).inspect_err(|error| self.watch.not_committed(error))?;
        if durability == Durability::Synced {
            writer.unsynced = Unsynced::default();
        }
        Ok(())
    }

    /// Saves the filter as of the last commit.
    pub(crate) fn save(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if self.read_only {
            return Ok(());
        }
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
        let key = SnapshotKey::of(&writer.state);
        snapshot::write(path, &key, writer.state.last, &bytes)
            .inspect_err(|error| self.watch.not_saved(path, error))
            .map_err(|error| io_error(path, error))?;
        writer.stale_snapshot = false;
        writer.saved = Some(now);
        writer.state.cut_log();
        self.counters.snapshots.add(1);
        self.watch.saved(bytes.len());
        // Otherwise a crash would make a broom filter start over, although the snapshot has all that it has learned.
        let durability = if writer.state.learned { Durability::Synced } else { Durability::Seen };
        writer.state.learned = false;
        writer.learning_synced = false;
        self.commit_state(writer, durability)
    }

    /// Syncs all commits to disk.
    pub(crate) fn sync(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if writer.unsynced.commits > 0 { self.commit_state(writer, Durability::Synced) } else { Ok(()) }
    }

    pub(crate) fn commit_state(&self, writer: &mut Writer, durability: Durability) -> Result<(), Error<S::Error>> {
        let mut batch = Batch::default();
        writer.state.write(&mut batch);
        Ok(self.commit_batch(writer, batch, durability)?)
    }

    /// Deletes a refused snapshot before the next change, because its commit number may be used again. If it cannot be
    /// deleted, its tag still gives it away, and the next change tries again.
    pub(crate) fn forget_stale_snapshot(&self, writer: &mut Writer) {
        if let Some(path) = self.snapshot.as_ref().filter(|_| writer.stale_snapshot && !self.read_only) {
            writer.saved = None;
            writer.stale_snapshot = snapshot::delete(path).is_err();
        }
    }
}

pub(crate) fn io_error<E>(path: &Path, error: std::io::Error) -> Error<E> {
    Error::Io { path: path.to_owned(), error }
}
