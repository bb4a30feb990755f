//! A remote that fails on command.

use crate::remote::{CommitError, Generation, Phase, Place, Plan, Position, Remote, Schema};
use std::cell::Cell;

/// The failure that was asked for, or one of the remote inside.
#[derive(Debug, thiserror::Error)]
pub enum Injected<E> {
    /// The call was to fail.
    #[error("this call was told to fail")]
    Fault,
    /// The remote inside failed by itself.
    #[error(transparent)]
    Inner(E),
}

/// Wraps a remote and fails at a chosen call, or loses the answer to a commit.
#[derive(Debug)]
pub struct Faulty<R> {
    inner: R,
    /// Calls that still succeed before one fails.
    calls_left: Cell<Option<u64>>,
    lose: Option<Lose>,
}

#[derive(Clone, Copy, Debug)]
enum Lose {
    AfterCommit,
    BeforeCommit,
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

    /// Loses the answer to the next commit; it happens, or it does not.
    pub fn lose_answer(&mut self, happens: bool) {
        self.lose = Some(if happens { Lose::AfterCommit } else { Lose::BeforeCommit });
    }

    /// Takes every order to fail back; whether one was left.
    pub fn heal(&mut self) -> bool {
        let armed = self.calls_left.take().is_some() | self.lose.is_some();
        self.lose = None;
        armed
    }

    fn call(&self) -> Result<(), Injected<R::Error>> {
        match self.calls_left.take() {
            Some(0) => Err(Injected::Fault),
            left => {
                self.calls_left.set(left.map(|left| left - 1));
                Ok(())
            }
        }
    }
}

impl<R: Remote> Remote for Faulty<R> {
    type Error = Injected<R::Error>;

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), Self::Error> {
        self.call()?;
        self.inner.candidates(place, found).map_err(Injected::Inner)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), Self::Error> {
        self.call()?;
        self.inner.walk(generation, after, limit, found).map_err(Injected::Inner)
    }

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Self::Error>> {
        self.call().map_err(CommitError::Failed)?;
        let lose = self.lose.take();
        if let Some(Lose::BeforeCommit) = lose {
            return Err(CommitError::Unknown(Injected::Fault));
        }
        self.inner.commit(plan).map_err(|error| match error {
            CommitError::Failed(error) => CommitError::Failed(Injected::Inner(error)),
            CommitError::Unknown(error) => CommitError::Unknown(Injected::Inner(error)),
            CommitError::OutOfStep { wanted, found } => CommitError::OutOfStep { wanted, found },
        })?;
        if lose.is_some() { Err(CommitError::Unknown(Injected::Fault)) } else { Ok(()) }
    }

    fn sequence(&self) -> Result<u64, Self::Error> {
        self.call()?;
        self.inner.sequence().map_err(Injected::Inner)
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, Self::Error> {
        self.call()?;
        self.inner.in_use().map_err(Injected::Inner)
    }

    fn knows_cells(&self) -> bool {
        self.inner.knows_cells()
    }

    fn phase(&self) -> Result<Option<Phase>, Self::Error> {
        self.call()?;
        self.inner.phase().map_err(Injected::Inner)
    }
}
