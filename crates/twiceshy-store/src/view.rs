//! The remote that a filter sees while it plans: it never waits.
//!
//! A filter plans while look-ups wait for it, so nothing that it asks may go to the store. It asks a [`View`]; where the
//! answer is not there yet the view refuses, which leaves the filter as it was; the answer is fetched with nobody waiting, and
//! the filter plans again. Nor does it commit: the plan is kept, and the filter waits in doubt until somebody has
//! committed it.

use crate::batch::{Batch, Question};
use crate::entry;
use crate::state::State;
use crate::store::{Space, Store};
use std::collections::BTreeMap;
use twiceshy::error::{BuildError, InsertError, RebuildError, SeamError};
use twiceshy::remote::{CommitError, Generation, Key, Order, Phase, Place, Plan, Position, Remote, Schema};

/// What the store has answered so far.
pub(crate) type Answers = BTreeMap<Question, Vec<Vec<u8>>>;

/// Where a view's answers come from.
pub(crate) enum Source<'a, S> {
    /// What was fetched: nobody waits for the store.
    Fetched(&'a Answers),
    /// The store itself: for who has the filter to himself.
    Store(&'a S),
}

/// The set as it will be when a batch is committed.
pub(crate) struct View<'a, S> {
    state: &'a State,
    batch: &'a Batch,
    source: Source<'a, S>,
    /// What the filter would have committed.
    pub(crate) plan: Option<Plan>,
    /// The number that the store stands at, as far as the filter is to know.
    pub(crate) sequence: u64,
}

/// Why a view says no.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ask<E> {
    #[error("an answer must be fetched first")]
    Fetch(Question),
    #[error("the plan is to be committed first")]
    Commit,
    #[error(transparent)]
    Store(E),
}

/// What stopped a filter's operation.
#[derive(Debug)]
pub(crate) enum Stop<E> {
    Fetch(Question),
    /// A plan is waiting.
    Commit,
    Full,
    /// The filter and the store hold different sets.
    Disagree,
    Store(E),
}

impl<E> From<SeamError<Ask<E>>> for Stop<E> {
    fn from(error: SeamError<Ask<E>>) -> Stop<E> {
        match error {
            SeamError::Remote(Ask::Fetch(question)) => Stop::Fetch(question),
            SeamError::Remote(Ask::Store(error)) | SeamError::Unknown(Ask::Store(error)) => Stop::Store(error),
            SeamError::Unknown(Ask::Commit) => Stop::Commit,
            _ => Stop::Disagree,
        }
    }
}

impl<E> From<InsertError<Ask<E>>> for Stop<E> {
    fn from(error: InsertError<Ask<E>>) -> Stop<E> {
        match error {
            InsertError::Full { .. } => Stop::Full,
            InsertError::Seam(error) => error.into(),
            _ => Stop::Disagree,
        }
    }
}

impl<E> From<RebuildError<Ask<E>>> for Stop<E> {
    fn from(error: RebuildError<Ask<E>>) -> Stop<E> {
        match error {
            RebuildError::Full { .. } | RebuildError::Options(_) => Stop::Full,
            RebuildError::Seam(error) => error.into(),
            _ => Stop::Disagree,
        }
    }
}

impl<E> From<BuildError<Ask<E>>> for Stop<E> {
    fn from(error: BuildError<Ask<E>>) -> Stop<E> {
        match error {
            BuildError::Seam(error) => error.into(),
            BuildError::Rebuild(error) => error.into(),
            BuildError::Options(_) => Stop::Full,
            _ => Stop::Disagree,
        }
    }
}

impl<'a, S: Store> View<'a, S> {
    pub(crate) fn new(state: &'a State, batch: &'a Batch, source: Source<'a, S>) -> View<'a, S> {
        View { state, batch, source, plan: None, sequence: state.last.number }
    }

    fn keys(&self, question: Question) -> Result<Vec<Vec<u8>>, Ask<S::Error>> {
        match self.source {
            Source::Fetched(answers) => match answers.get(&question) {
                Some(answer) => Ok(self.batch.over(&question, answer)),
                None => Err(Ask::Fetch(question)),
            },
            Source::Store(store) => {
                let answer = self.batch.ask(&question, store).map_err(Ask::Store)?;
                Ok(self.batch.over(&question, &answer))
            }
        }
    }
}

impl<S: Store> Remote for View<'_, S> {
    type Error = Ask<S::Error>;

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), Self::Error> {
        let (from, to) = entry::index_span(place.generation, place.order, &place.words);
        let entries = self.keys(Question { space: Space::Index, from, to: Some(to), limit: usize::MAX })?;
        entries.iter().filter_map(|entry| entry::parse_index(entry)).for_each(|(_, key)| found(key));
        Ok(())
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), Self::Error> {
        let from = match after {
            Some(after) => just_behind(entry::index(generation, Order(0), after.word, &after.key)),
            None => entry::index(generation, Order(0), 0, &[]),
        };
        let to = Some(entry::order_end(generation, Order(0)));
        let entries = self.keys(Question { space: Space::Index, from, to, limit })?;
        let positions = entries.iter().filter_map(|entry| entry::parse_index(entry));
        positions.for_each(|(word, key)| found(Position { word, key: Key::from(key) }));
        Ok(())
    }

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Self::Error>> {
        if plan.sequence != self.sequence.saturating_add(1) {
            return Err(CommitError::OutOfStep { wanted: plan.sequence, found: self.sequence });
        }
        self.plan = Some(plan.clone());
        Err(CommitError::Unknown(Ask::Commit))
    }

    fn sequence(&self) -> Result<u64, Self::Error> {
        Ok(self.sequence)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, Self::Error> {
        Ok(self.state.in_use.and_then(|generation| Some((generation, self.state.schema(generation)?))))
    }

    fn phase(&self) -> Result<Option<Phase>, Self::Error> {
        Ok(self.state.phase())
    }
}

/// The first bytes behind these.
fn just_behind(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(0);
    bytes
}
