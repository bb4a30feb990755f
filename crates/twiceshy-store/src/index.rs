//! The index as a filter reads it while it plans.

use crate::batch::{Batch, Question};
use crate::entry;
use crate::store::{Space, Store};
use std::ops::Bound;
use twiceshy::error::PlanError;
use twiceshy::hash::HashKey;
use twiceshy::remote::{Generation, Key, Keys, Order, Place, Position, RemoteError};

/// The keys by hash as they will be after the batch is committed.
pub(crate) struct Index<'a, S: Store> {
    store: &'a S,
    batch: &'a Batch,
}

/// Why a filter could not plan.
pub(crate) enum Failure<E> {
    Store(E),
    /// The filter has no room for the key.
    Full,
    /// Filter and store hold different sets, or there is no filter: it must be rebuilt.
    NoFilter,
    /// An index entry is damaged or missing: a filter cannot be built from the index.
    Damaged,
}

/// Why a walk over the index ended early, besides the store's own errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum WalkEnded {
    #[error("the store was closed")]
    Closed,
    #[error("an index entry is damaged or missing")]
    Damaged,
}

/// `true` if each key has its own word, under the hash key of the generation that was walked.
pub(crate) fn words_match(hash: HashKey, walked: &[Position]) -> bool {
    walked.iter().all(|at| hash.words(&at.key).word(0) == at.word)
}

impl<E: std::error::Error + 'static> From<PlanError> for Failure<E> {
    /// The errors of an [`Index`] are the store's own.
    fn from(error: PlanError) -> Failure<E> {
        match error {
            PlanError::Keys(error) => error.downcast().map_or(Failure::NoFilter, |error| Failure::Store(*error)),
            PlanError::Full { .. } | PlanError::Options(_) => Failure::Full,
            _ => Failure::NoFilter,
        }
    }
}

impl<'a, S: Store> Index<'a, S> {
    pub(crate) fn new(store: &'a S, batch: &'a Batch) -> Index<'a, S> {
        Index { store, batch }
    }

    fn entries(&self, from: Vec<u8>, to: Vec<u8>, limit: usize) -> Result<Vec<Vec<u8>>, RemoteError> {
        let question = Question { space: Space::Index, from, to: Some(to), limit };
        let asked = self.batch.ask(&question, self.store)?;
        Ok(self.batch.over(&question, &asked))
    }
}

impl<S: Store> Keys for Index<'_, S> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let (from, to) = entry::index_span(place.generation, place.order, &place.words);
        if self.batch.is_empty() {
            // When the filter learns. The store's entries are passed on as they are read.
            self.store.scan(Space::Index, Bound::Included(&from), &mut |entry, _| {
                let is_within = entry < &to[..];
                if let (true, Some((_, key))) = (is_within, entry::parse_index(entry)) {
                    found(key);
                }
                is_within
            })?;
            return Ok(());
        }
        let entries = self.entries(from, to, usize::MAX)?;
        entries.iter().filter_map(|entry| entry::parse_index(entry)).for_each(|(_, key)| found(key));
        Ok(())
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        let from = match after {
            Some(after) => next_after(entry::index(generation, Order(0), after.word, &after.key)),
            None => entry::index(generation, Order(0), 0, &[]),
        };
        let entries = self.entries(from, entry::order_end(generation, Order(0)), limit)?;
        let positions = entries.iter().filter_map(|entry| entry::parse_index(entry));
        positions.for_each(|(word, key)| found(Position { word, key: Key::from(key) }));
        Ok(())
    }
}

/// The smallest byte string above these bytes.
fn next_after(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(0);
    bytes
}
