//! Rebuilding the filter from the index.

use crate::batch::Batch;
use crate::changing::Draft;
use crate::choice::Choice;
use crate::entry::{self, Logged};
use crate::error::Error;
use crate::index::{Index, WalkEnded, words_match};
use crate::inner::{Doubt, Inner, Work, Writer, capacity};
use crate::store::{CommitError as StoreError, Durability, Space, Store};
use std::cell::Cell;
use std::ops::Bound;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;
use twiceshy::error::Error as FilterError;
use twiceshy::hash::HashKey;
use twiceshy::remote::{
    Commit, CommitError, Generation, Keys, Order, Phase, Place, Position, Remote, RemoteError, Schema, Write,
};

/// Where version 1 kept the frontier of a broom filter.
const FRONTIER_IN_BYTE_ORDER: &[u8] = b"frontier";

/// How many index entries are deleted in one commit.
const DELETED_AT_ONCE: u64 = 4_096;

impl<S: Store> Inner<S> {
    /// Builds a filter from the index. Look-ups go to the store meanwhile.
    ///
    /// A broom filter takes new functions, since what it learned may be lost. The index is then rewritten beside the old
    /// one, which is deleted once the new one is complete.
    ///
    /// Ends early with [`Error::Interrupted`] if the guard is closed. The old index is whole then.
    pub(crate) fn rebuild(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if self.read_only && self.learning_writes {
            // The store answers alone.
            return Ok(());
        }
        let began = Instant::now();
        let rebuilt = self.try_rebuild(writer);
        match &rebuilt {
            Ok(()) => self.watch.rebuilt(writer.state.len, began.elapsed()),
            Err(Error::Interrupted) => {}
            Err(error) => self.watch.not_rebuilt(error),
        }
        rebuilt
    }

    fn try_rebuild(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        self.lose_filter(writer);
        self.forget_stale_snapshot(writer);
        self.delete_unused(writer)?;
        let Choice { kind, rate } = Choice::from_bytes(&writer.state.choice).ok_or(Error::Damaged)?;
        let (keys, hash, walked) = (capacity(writer.state.len), HashKey::random()?, Cell::new(0));
        let memory = writer.remembered.memory().clone();
        let recovered = kind.recover(keys, rate, hash, Committing { inner: self, writer, walked: &walked });
        let mut recovered = recovered.map_err(from_filter)?;
        if !self.learning_writes {
            recovered.set_memory(memory);
            match recovered.teach() {
                Err(error @ FilterError::Disagree) => return Err(from_filter(error)),
                // If a read fails, mistakes are learned from when they are made again.
                _ => self.goes_on().map_err(|_| Error::Interrupted)?,
            }
        }
        let filter = recovered.into_filter();
        if walked.get() != writer.state.len || filter.len() != writer.state.len {
            return Err(Error::Inconsistent);
        }
        // It has learned nothing yet, so nothing can be lost.
        writer.state.learned = false;
        writer.learning_synced = false;
        *self.filter.write().unwrap_or_else(PoisonError::into_inner) = Some(filter);
        self.counters.rebuilt.add(1);
        if self.learning_writes {
            self.begin_lesson(writer);
        }
        // What is left behind now is deleted by later changes.
        let _ = self.delete_unused(writer);
        Ok(())
    }

    /// Deletes all index entries of generations that are not in use, after a rebuild that ended or was interrupted.
    pub(crate) fn delete_unused(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        if self.read_only {
            return Ok(());
        }
        writer.state.keep_used();
        writer.unused_from = Some(Vec::new());
        while writer.unused_from.is_some() {
            self.goes_on().map_err(|_| Error::Interrupted)?;
            self.delete_some(writer, DELETED_AT_ONCE)?;
        }
        Ok(())
    }

    /// Deletes some index entries of generations that are not in use, up to `most` of them. A commit whose answer is lost
    /// leaves no doubt: it is made again.
    pub(crate) fn delete_some(&self, writer: &mut Writer, most: u64) -> Result<(), Error<S::Error>> {
        let Some(mut from) = writer.unused_from.clone() else { return Ok(()) };
        let filling = writer.growth.as_ref().map(|growth| growth.filter().layout().0);
        let (mut batch, mut deleted, most) = (Batch::default(), 0, most.min(DELETED_AT_ONCE));
        batch.delete(Space::Meta, FRONTIER_IN_BYTE_ORDER);
        loop {
            let mut next = None;
            let scanned = self.store.scan(Space::Index, Bound::Included(&from), &mut |bytes, _| {
                // What is too short to be an entry belongs to no generation.
                let generation = entry::generation(bytes);
                let used = generation.filter(|own| writer.state.uses(*own) || filling == Some(*own));
                if let Some(generation) = used {
                    // Skip to the first entry after this generation.
                    next = generation.0.checked_add(1).map(Generation);
                    return false;
                }
                batch.delete(Space::Index, bytes);
                deleted += 1;
                deleted < most
            });
            scanned.map_err(Error::Store)?;
            match next {
                Some(generation) => from = entry::index(generation, Order(0), 0, &[]),
                None => break,
            }
        }
        if deleted > 0 {
            self.commit_batch(writer, batch, Durability::Seen)?;
        }
        writer.unused_from = (deleted == most).then_some(from);
        Ok(())
    }

    /// Returns an error if the guard is being closed.
    fn goes_on(&self) -> Result<(), WalkEnded> {
        if self.closing.load(Ordering::Relaxed) { Err(WalkEnded::Closed) } else { Ok(()) }
    }
}

/// The store as a remote that commits at once: for a filter that does not answer yet. It checks what it reads, since a filter
/// without one of the keys would turn that key away.
struct Committing<'a, S: Store> {
    inner: &'a Inner<S>,
    writer: &'a mut Writer,
    /// The number of keys that were walked.
    walked: &'a Cell<u64>,
}

/// The errors of a [`Committing`] remote are the store's own, or say why a walk ended.
fn from_filter<E: std::error::Error + 'static>(error: FilterError) -> Error<E> {
    match error {
        FilterError::Remote(error) | FilterError::Unknown(error) => match error.downcast_ref() {
            Some(WalkEnded::Closed) => Error::Interrupted,
            Some(WalkEnded::Damaged) => Error::Inconsistent,
            None => error.downcast().map_or(Error::Damaged, |error| Error::Store(*error)),
        },
        FilterError::Disagree => Error::Inconsistent,
        FilterError::Full { .. } | FilterError::Options(_) => Error::NoRoom,
        _ => Error::Damaged,
    }
}

impl<S: Store> Keys for Committing<'_, S> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.inner.goes_on()?;
        Index::new(&self.inner.store, &Batch::default()).candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.inner.goes_on()?;
        let mut some = Vec::new();
        Index::new(&self.inner.store, &Batch::default()).walk(generation, after, limit, &mut |at| some.push(at))?;
        let schema = self.writer.state.schema(generation);
        if !schema.is_some_and(|schema| words_match(schema.hash, &some)) {
            return Err(WalkEnded::Damaged.into());
        }
        self.walked.set(self.walked.get() + some.len() as u64);
        some.into_iter().for_each(found);
        Ok(())
    }
}

impl<S: Store> Remote for Committing<'_, S> {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        let found = self.writer.state.last.number;
        if found.checked_add(1) != Some(commit.sequence) {
            return Err(CommitError::OutOfStep { wanted: commit.sequence, found });
        }
        let switches = commit.writes.iter().any(|write| matches!(write, Write::Switch { .. }));
        if switches && self.walked.get() != self.writer.state.len {
            // The old index stays in use.
            return Err(CommitError::failed(WalkEnded::Damaged));
        }
        let mut draft = Draft::new(&self.writer.state);
        draft.state.advance(commit.writes.iter(), Logged::Other, self.writer.tag(), &mut draft.batch);
        let Draft { state: after, mut batch, .. } = draft;
        after.write(&mut batch);
        match self.inner.commit_batch(self.writer, batch, Durability::Seen) {
            Ok(()) => {
                self.inner.set_state(self.writer, after);
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
