//! An operation as a whole: planned on a draft, committed by the remote, then applied to L.

use super::draft::Draft;
use super::edit::Edit;
use super::filter::BroomFilter;
use crate::error::SeamError;
use crate::remote::{Plan, Remote, Write};

/// What an operation will answer, what the remote is to commit, and what then changes in L.
pub(super) type Planned<T> = (T, Vec<Write>, Edit);

/// A commit that may have happened or not.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    pub(super) edit: Edit,
    pub(super) sequence: u64,
}

/// Why an operation stopped.
#[derive(Debug)]
pub(crate) enum Stop<E> {
    Seam(SeamError<E>),
    Full,
}

impl<E> From<SeamError<E>> for Stop<E> {
    fn from(error: SeamError<E>) -> Stop<E> {
        Stop::Seam(error)
    }
}

impl BroomFilter {
    pub(super) fn ready<E>(&self) -> Result<(), SeamError<E>> {
        if self.is_in_doubt() { Err(SeamError::InDoubt) } else { Ok(()) }
    }

    pub(super) fn in_step<R: Remote>(&self, remote: &R) -> Result<(), SeamError<R::Error>> {
        let found = remote.sequence().map_err(SeamError::Remote)?;
        if found == self.sequence { Ok(()) } else { Err(SeamError::out_of_step(self.sequence, found)) }
    }

    /// An answer that changes nothing.
    pub(super) fn unchanged<T>(&self, value: T) -> Planned<T> {
        (value, Vec::new(), Draft::new(self).finish())
    }

    /// Has the remote commit what was planned, and changes L.
    pub(super) fn commit<R: Remote, T>(
        &mut self,
        (value, writes, edit): Planned<T>,
        remote: &mut R,
    ) -> Result<T, SeamError<R::Error>> {
        if writes.is_empty() {
            self.apply(edit);
            return Ok(value);
        }
        let plan = Plan { sequence: self.sequence.saturating_add(1), writes };
        // In doubt from now on, should the commit be cut off in the middle.
        self.doubt = Some(Box::new(Doubt { edit, sequence: plan.sequence }));
        match remote.commit(&plan).map_err(SeamError::from) {
            Ok(()) => self.confirm(),
            Err(error @ SeamError::Unknown(_)) => return Err(error),
            Err(error) => {
                self.doubt = None;
                return Err(error);
            }
        }
        Ok(value)
    }

    /// The commit has happened.
    pub(super) fn confirm(&mut self) {
        if let Some(doubt) = self.doubt.take() {
            self.sequence = doubt.sequence;
            self.apply(doubt.edit);
        }
    }
}
