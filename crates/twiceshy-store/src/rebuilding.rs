//! Rebuilding the filter from the index.

use crate::batch::Batch;
use crate::changing::Draft;
use crate::choice::Choice;
use crate::entry::{self, Logged};
use crate::error::Error;
use crate::index::Index;
use crate::inner::{Doubt, Inner, Work, Writer, capacity};
use crate::store::{CommitError as StoreError, Durability, Space, Store};
use std::ops::Bound;
use std::sync::PoisonError;
use twiceshy::error::Error as FilterError;
use twiceshy::hash::HashKey;
use twiceshy::remote::{
    Commit, CommitError, Generation, Keys, Order, Phase, Place, Position, Remote, RemoteError, Schema,
};

/// Where version 1 kept the frontier of a broom filter.
const FRONTIER_IN_BYTE_ORDER: &[u8] = b"frontier";

/// How many index entries are deleted in one commit.
const DELETED_AT_ONCE: usize = 4_096;

impl<S: Store> Inner<S> {
    /// Builds a filter from the index. Look-ups go to the store meanwhile.
    ///
    /// A broom filter takes new functions, since what it learned may be lost. The index is then rewritten beside the old
    /// one, which is deleted once the new one is complete.
    pub(crate) fn rebuild(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if self.read_only && self.learning_writes {
            // The store answers alone.
            return Ok(());
        }
        self.lose_filter(writer);
        self.forget_stale_snapshot(writer);
        self.delete_unused(writer)?;
        let Choice { kind, rate } = Choice::from_bytes(&writer.state.choice).ok_or(Error::Damaged)?;
        let (keys, hash) = (capacity(writer.state.len), HashKey::random()?);
        let recovered = kind.recover(keys, rate, hash, Committing { inner: self, writer });
        let filter = recovered.map_err(from_filter)?.into_filter();
        // It has learned nothing yet, so nothing can be lost.
        writer.state.learned = false;
        writer.learning_synced = false;
        *self.filter.write().unwrap_or_else(PoisonError::into_inner) = Some(filter);
        self.counters.rebuilt.add(1);
        // What is left behind now is deleted before the next rebuild.
        let _ = self.delete_unused(writer);
        Ok(())
    }

    /// Deletes the index entries of generations that are not in use, after a rebuild that ended or was interrupted.
    pub(crate) fn delete_unused(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if self.read_only {
            return Ok(());
        }
        let mut from = entry::index(Generation(0), Order(0), 0, &[]);
        loop {
            let mut batch = Batch::default();
            batch.delete(Space::Meta, FRONTIER_IN_BYTE_ORDER);
            let (mut deleted, mut next) = (0, None);
            let scanned = self.store.scan(Space::Index, Bound::Included(&from), &mut |bytes, _| {
                let Some(generation) = entry::generation(bytes) else { return false };
                if writer.state.uses(generation) {
                    // Skip to the first entry after this generation.
                    next = generation.0.checked_add(1).map(Generation);
                    return false;
                }
                batch.delete(Space::Index, bytes);
                deleted += 1;
                deleted < DELETED_AT_ONCE
            });
            scanned.map_err(Error::Store)?;
            if deleted > 0 {
                self.commit_batch(writer, batch, Durability::Seen)?;
            }
            match next {
                Some(generation) => from = entry::index(generation, Order(0), 0, &[]),
                None if deleted == DELETED_AT_ONCE => {}
                None => return Ok(()),
            }
        }
    }
}

/// The store as a remote that commits at once: for a filter that does not answer yet.
struct Committing<'a, S: Store> {
    inner: &'a Inner<S>,
    writer: &'a mut Writer,
}

/// The errors of a [`Committing`] remote are the store's own.
fn from_filter<E: std::error::Error + 'static>(error: FilterError) -> Error<E> {
    match error {
        FilterError::Remote(error) | FilterError::Unknown(error) => {
            error.downcast().map_or(Error::Damaged, |error| Error::Store(*error))
        }
        FilterError::Full { .. } | FilterError::Options(_) => Error::NoRoom,
        _ => Error::Damaged,
    }
}

impl<S: Store> Keys for Committing<'_, S> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        Index::new(&self.inner.store, &Batch::default()).candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        Index::new(&self.inner.store, &Batch::default()).walk(generation, after, limit, found)
    }
}

impl<S: Store> Remote for Committing<'_, S> {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        let found = self.writer.state.last.number;
        if found.checked_add(1) != Some(commit.sequence) {
            return Err(CommitError::OutOfStep { wanted: commit.sequence, found });
        }
        let mut draft = Draft::new(&self.writer.state);
        draft.state.advance(commit.writes.iter(), Logged::Other, self.writer.tag(), &mut draft.batch);
        let Draft { state: after, mut batch, .. } = draft;
        after.write(&mut batch);
        match self.inner.commit_batch(self.writer, batch, Durability::Seen) {
            Ok(()) => {
                self.writer.state = after;
                Ok(())
            }
            Err(StoreError::Failed(error)) => Err(CommitError::failed(error)),
            Err(StoreError::Unknown(error)) => {
                self.writer.doubt = Some(Doubt { after, keys: Vec::new(), work: Work::default() });
                Err(CommitError::Unknown(error.into()))
            }
        }
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        Ok(self.writer.state.last.number)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        let state = &self.writer.state;
        Ok(state.in_use.and_then(|generation| Some((generation, state.schema(generation)?))))
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        Ok(self.writer.state.phase())
    }
}
