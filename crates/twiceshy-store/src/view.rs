//! The remote that a filter sees while it plans: it never waits.
//!
//! A filter plans while look-ups wait for it, so nothing that it asks may go to the store. It asks a [`View`]; where the
//! answer is not there yet the view refuses, which leaves the filter as it was; the answer is fetched with nobody waiting, and
//! the filter plans again. Nor does it commit: the plan is kept, and the filter waits in doubt until somebody has
//! committed it.

use crate::batch::{Batch, Question};
use crate::entry;
use crate::state::State;
use crate::store::Space;
use std::collections::BTreeMap;
use twiceshy::error::{InsertError, RebuildError, SeamError};
use twiceshy::remote::{
    CommitError, Generation, Key, KeyOrder, Order, Phase, Place, Plan, Position, Remote, Schema,
};

/// What the store has answered so far.
pub(crate) type Answers = BTreeMap<Question, Vec<Vec<u8>>>;

/// The set as it will be when a batch is committed.
pub(crate) struct View<'a> {
    pub(crate) state: &'a State,
    pub(crate) batch: &'a Batch,
    pub(crate) answers: &'a Answers,
    pub(crate) plan: Option<Plan>,
    /// The number that the store stands at.
    pub(crate) sequence: u64,
}

/// Why a view says no.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ask {
    #[error("an answer must be fetched first")]
    Fetch(Question),
    #[error("the plan is to be committed first")]
    Commit,
}

/// What stopped a filter's operation.
#[derive(Debug)]
pub(crate) enum Stop {
    Fetch(Question),
    /// A plan is waiting.
    Commit,
    Full,
    /// The filter and the store hold different sets.
    Disagree,
}

impl From<SeamError<Ask>> for Stop {
    fn from(error: SeamError<Ask>) -> Stop {
        match error {
            SeamError::Remote(Ask::Fetch(question)) => Stop::Fetch(question),
            SeamError::Unknown(Ask::Commit) => Stop::Commit,
            _ => Stop::Disagree,
        }
    }
}

impl From<InsertError<Ask>> for Stop {
    fn from(error: InsertError<Ask>) -> Stop {
        match error {
            InsertError::Full { .. } => Stop::Full,
            InsertError::Seam(error) => error.into(),
            _ => Stop::Disagree,
        }
    }
}

impl From<RebuildError<Ask>> for Stop {
    fn from(error: RebuildError<Ask>) -> Stop {
        match error {
            RebuildError::Full { .. } | RebuildError::Options(_) => Stop::Full,
            RebuildError::Seam(error) => error.into(),
            _ => Stop::Disagree,
        }
    }
}

impl<'a> View<'a> {
    pub(crate) fn new(state: &'a State, batch: &'a Batch, answers: &'a Answers) -> View<'a> {
        View { state, batch, answers, plan: None, sequence: state.last.number }
    }

    fn keys(&self, question: Question) -> Result<Vec<Vec<u8>>, Ask> {
        match self.answers.get(&question) {
            Some(answer) => Ok(self.batch.over(&question, answer)),
            None => Err(Ask::Fetch(question)),
        }
    }
}

impl Remote for View<'_> {
    type Error = Ask;

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), Ask> {
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
    ) -> Result<(), Ask> {
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

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Ask>> {
        if plan.sequence != self.sequence.saturating_add(1) {
            return Err(CommitError::OutOfStep { wanted: plan.sequence, found: self.sequence });
        }
        self.plan = Some(plan.clone());
        Err(CommitError::Unknown(Ask::Commit))
    }

    fn sequence(&self) -> Result<u64, Ask> {
        Ok(self.sequence)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, Ask> {
        Ok(self.state.in_use.and_then(|generation| Some((generation, self.state.schema(generation)?))))
    }

    fn key_order(&self) -> Option<&dyn KeyOrder<Error = Ask>> {
        Some(self)
    }
}

impl KeyOrder for View<'_> {
    type Error = Ask;

    fn walk_keys(&self, after: Option<&[u8]>, limit: usize, found: &mut dyn FnMut(Key)) -> Result<(), Ask> {
        let from = after.map_or_else(Vec::new, |after| just_behind(after.to_vec()));
        let keys = self.keys(Question { space: Space::Values, from, to: None, limit })?;
        keys.into_iter().for_each(|key| found(Key::from(key)));
        Ok(())
    }

    fn phase(&self) -> Result<Option<Phase>, Ask> {
        Ok(self.state.phase())
    }
}

/// The first bytes behind these.
fn just_behind(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.push(0);
    bytes
}
