//! A remote that fails on command.

use crate::error::Error;
use crate::remote::{Commit, CommitError, Generation, Keys, Phase, Place, Position, Remote, RemoteError, Schema};
use std::cell::Cell;

/// The requested failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this call was told to fail")]
pub struct Fault;

impl Fault {
    /// `true` if the operation failed for this reason, and nothing was changed.
    pub fn refused(error: &Error) -> bool {
        matches!(error, Error::Remote(cause) if cause.is::<Fault>())
    }
}

/// Wraps a remote and fails at a chosen call, or loses the answer to a commit.
#[derive(Clone, Debug, Default)]
pub struct Faulty<R> {
    inner: R,
    /// Calls that still succeed before one fails.
    calls_left: Cell<Option<u64>>,
    lose: Option<Lose>,
}

#[derive(Clone, Copy, Debug)]
struct Lose {
    commits_left: u64,
    happens: bool,
}

impl<R: Remote> Faulty<R> {
    /// A remote that does not fail yet.
    pub fn new(inner: R) -> Faulty<R> {
        Faulty { inner, calls_left: Cell::new(None), lose: None }
    }

    /// The remote inside.
    pub fn inner(&self) -> &R {
        &self.inner
    }

    /// Lets `calls` calls succeed and the next one fail, once.
    pub fn fail_after(&mut self, calls: u64) {
        self.calls_left.set(Some(calls));
    }

    /// Lets `commits` commits succeed and loses the answer to the next one. `happens` says whether that commit is made.
    pub fn lose_answer_after(&mut self, commits: u64, happens: bool) {
        self.lose = Some(Lose { commits_left: commits, happens });
    }

    /// Loses the answer to the next commit. `happens` says whether the commit is made.
    pub fn lose_answer(&mut self, happens: bool) {
        self.lose_answer_after(0, happens);
    }

    /// Cancels all failures. `true` if one was pending.
    pub fn heal(&mut self) -> bool {
        self.calls_left.take().is_some() | self.lose.take().is_some()
    }

    fn call(&self) -> Result<(), RemoteError> {
        match self.calls_left.take() {
            Some(0) => Err(Fault.into()),
            left => {
                self.calls_left.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}

impl<R: Remote> Keys for Faulty<R> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.call()?;
        self.inner.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.call()?;
        self.inner.walk(generation, after, limit, found)
    }

    fn knows_cells(&self) -> bool {
        self.inner.knows_cells()
    }
}

impl<R: Remote> Remote for Faulty<R> {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        self.call().map_err(CommitError::Failed)?;
        match &mut self.lose {
            Some(Lose { commits_left: 0, happens }) => {
                let happens = *happens;
                self.lose = None;
                if happens {
                    self.inner.commit(commit)?;
                }
                return Err(CommitError::Unknown(Fault.into()));
            }
            Some(lose) => lose.commits_left -= 1,
            None => {}
        }
        self.inner.commit(commit)
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        self.call()?;
        self.inner.sequence()
    }

    fn identity(&self) -> Result<u64, RemoteError> {
        self.call()?;
        self.inner.identity()
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        self.call()?;
        self.inner.in_use()
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        self.call()?;
        self.inner.phase()
    }
}
