//! A filter is made from the index.

use crate::batch::Batch;
use crate::entry::{self, Deed};
use crate::error::Error;
use crate::inner::{Doubt, Inner, Writer, capacity};
use crate::kind::Size;
use crate::store::{CommitError as StoreError, Durability, Space, Store};
use crate::view::{Ask, Source, Stop, View};
use std::ops::Bound;
use std::sync::PoisonError;
use twiceshy::hash::HashKey;
use twiceshy::remote::{CommitError, Generation, Order, Phase, Place, Plan, Position, Remote, Schema};

/// Where version 1 had the frontier of a broom filter.
const FRONTIER_IN_BYTE_ORDER: &[u8] = b"frontier";

/// How many index entries are deleted in one commit.
const DELETED_AT_ONCE: usize = 4_096;

impl<S: Store> Inner<S> {
    /// Makes a filter from the index. Look-ups go to the store meanwhile.
    ///
    /// A broom filter takes new functions: what it had learned is lost, or may be. Then the index is written anew beside the old
    /// one, and the old one goes when the new one is whole.
    pub(crate) fn rebuild(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        self.lose_filter();
        self.forget_stale_snapshot(writer);
        self.delete_unused(writer)?;
        let size = Size::from_choice(&writer.state.choice, capacity(writer.state.len)).ok_or(Error::Damaged)?;
        let recovered = size.recover(HashKey::random()?, &mut Committing { inner: self, writer });
        let filter = recovered.map_err(|error| match error.into() {
            Stop::Store(error) => Error::Store(error),
            Stop::Full => Error::NoRoom,
            _ => Error::Damaged,
        })?;
        // It has learned nothing yet, so nothing can be lost.
        writer.state.learned = false;
        self.delete_unused(writer)?;
        *self.filter.write().unwrap_or_else(PoisonError::into_inner) = Some(filter);
        self.counters.rebuilt.add(1);
        Ok(())
    }

    /// Deletes the index entries of generations that are not in use: a rebuild has ended, or was cut short. In use are one
    /// generation, and the one after it, which has the keys of a broom filter that have moved on.
    fn delete_unused(&self, writer: &mut Writer) -> Result<(), Error<S::Error>> {
        let in_use = writer.state.in_use.map_or(0, |generation| generation.0);
        let used = |generation: Generation| (in_use..=in_use.saturating_add(1)).contains(&generation.0);
        let mut from = entry::index(Generation(0), Order(0), 0, &[]);
        loop {
            let mut batch = Batch::default();
            batch.delete(Space::Meta, FRONTIER_IN_BYTE_ORDER);
            let (mut deleted, mut next) = (0, None);
            let scanned = self.store.scan(Space::Index, Bound::Included(&from), &mut |bytes, _| {
                let Some(generation) = entry::generation(bytes) else { return false };
                if used(generation) {
                    // On to the first entry behind those of this generation.
                    next = generation.0.checked_add(1).map(Generation);
                    return false;
                }
                batch.delete(Space::Index, bytes);
                deleted += 1;
                deleted < DELETED_AT_ONCE
            });
            scanned.map_err(Error::Store)?;
            if deleted > 0 {
                self.commit_batch(writer, batch, Durability::Seen).map_err(crate::changing::of_commit)?;
            }
            match next {
                Some(generation) => from = entry::index(generation, Order(0), 0, &[]),
                None if deleted == DELETED_AT_ONCE => {}
                None => return Ok(()),
            }
        }
    }
}

/// The store as a remote that commits at once. For a filter that nobody asks yet.
struct Committing<'a, S> {
    inner: &'a Inner<S>,
    writer: &'a mut Writer,
}

impl<S: Store> Committing<'_, S> {
    fn seen<T>(&self, look: impl FnOnce(&View<'_, S>) -> T) -> T {
        let batch = Batch::default();
        look(&View::new(&self.writer.state, &batch, Source::Store(&self.inner.store)))
    }
}

impl<S: Store> Remote for Committing<'_, S> {
    type Error = Ask<S::Error>;

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), Self::Error> {
        self.seen(|view| view.candidates(place, found))
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), Self::Error> {
        self.seen(|view| view.walk(generation, after, limit, found))
    }

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Self::Error>> {
        let found = self.writer.state.last.number;
        if found.checked_add(1) != Some(plan.sequence) {
            return Err(CommitError::OutOfStep { wanted: plan.sequence, found });
        }
        let (mut after, mut batch) = (self.writer.state.clone(), Batch::default());
        after.advance(plan, Deed::Other, self.writer.tag(), &mut batch);
        after.write(&mut batch);
        match self.inner.commit_batch(self.writer, batch, Durability::Seen) {
            Ok(()) => {
                self.writer.state = after;
                Ok(())
            }
            Err(StoreError::Failed(error)) => Err(CommitError::Failed(Ask::Store(error))),
            Err(StoreError::Unknown(error)) => {
                self.writer.doubt = Some(Doubt { after, keys: Vec::new(), applied: false });
                Err(CommitError::Unknown(Ask::Store(error)))
            }
        }
    }

    fn sequence(&self) -> Result<u64, Self::Error> {
        Ok(self.writer.state.last.number)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, Self::Error> {
        self.seen(|view| view.in_use())
    }

    fn phase(&self) -> Result<Option<Phase>, Self::Error> {
        self.seen(|view| view.phase())
    }
}
