//! When the filter's snapshot is written, and when it must go.

use crate::batch::Batch;
use crate::changing::of_commit;
use crate::error::Error;
use crate::inner::{Inner, Writer};
use crate::snapshot;
use crate::store::{Durability, Store};
use std::path::Path;
use std::sync::PoisonError;

/// How many records the log may have, at least.
const LONG_ENOUGH: u64 = 10_000;

impl<S: Store> Inner<S> {
    /// What follows every change: the log is kept short, and what waits is learned from.
    pub(crate) fn after_change(&self, writer: &mut Writer) {
        self.keep_log_short(writer);
        self.learn_at_once(writer);
    }

    pub(crate) fn keep_log_short(&self, writer: &mut Writer) {
        let most = (writer.state.len / 4).max(LONG_ENOUGH);
        if writer.state.last.number - writer.state.log_from.number > most {
            // A snapshot that cannot be written is not the caller's trouble: the next open rebuilds.
            if self.snapshot.is_none() || self.save(writer).is_err() {
                writer.state.log_from = writer.state.last;
                writer.stale_snapshot = self.snapshot.is_some();
            }
        }
    }

    /// Writes the filter beside the store, as it stands at the last commit.
    pub(crate) fn save(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let Some(path) = &self.snapshot else { return self.sync(writer) };
        let now = (writer.state.last, self.counters.adapted.get());
        if writer.saved == Some(now) {
            return self.sync(writer);
        }
        let mut bytes = Vec::new();
        let saved = match &*self.filter.read().unwrap_or_else(PoisonError::into_inner) {
            Some(filter) => filter.save(&mut bytes).is_ok(),
            None => false,
        };
        if !saved {
            return self.sync(writer);
        }
        // The commit must be there when the snapshot is: one that the store has lost would be of a set that never was.
        self.commit_state(writer, Durability::Synced)?;
        let header = snapshot::header(writer.state.identity, writer.state.last, &bytes);
        snapshot::write(path, &header, &bytes).map_err(|error| of_io(path, error))?;
        writer.stale_snapshot = false;
        writer.saved = Some(now);
        writer.state.log_from = writer.state.last;
        self.counters.snapshots.add(1);
        // Else a broom filter would be made anew after a crash, although all that it has learned is in the snapshot.
        let durability = if writer.state.learned { Durability::Synced } else { Durability::Seen };
        writer.state.learned = false;
        self.commit_state(writer, durability)
    }

    /// Has every commit so far be on disk.
    fn sync(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if writer.unsynced { self.commit_state(writer, Durability::Synced) } else { Ok(()) }
    }

    fn commit_state(&self, writer: &mut Writer, durability: Durability) -> Result<(), Error<S::Error>> {
        let mut batch = Batch::default();
        writer.state.write(&mut batch);
        self.commit_batch(writer, batch, durability).map_err(of_commit)
    }

    /// Before the first change after it was refused, a snapshot goes: a number that it has may come again. Where it cannot be
    /// deleted its tag refuses it still, and the next change tries again.
    pub(crate) fn forget_stale_snapshot(&self, writer: &mut Writer) {
        if let Some(path) = self.snapshot.as_ref().filter(|_| writer.stale_snapshot) {
            writer.saved = None;
            writer.stale_snapshot = snapshot::delete(path).is_err();
        }
    }
}

pub(crate) fn of_io<E>(path: &Path, error: std::io::Error) -> Error<E> {
    Error::Io { path: path.to_owned(), error }
}
