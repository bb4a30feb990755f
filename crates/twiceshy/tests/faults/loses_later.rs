//! A remote that loses the answer to one of its later commits.

use twiceshy::remote::{CommitError, Generation, Place, Plan, Position, Remote, Schema};
use twiceshy::testing::{Faulty, Injected};

/// Loses the answer to the commit after `commits_left` more, once.
pub(crate) struct LosesLater<R> {
    pub(crate) inner: Faulty<R>,
    pub(crate) commits_left: u64,
    pub(crate) happens: bool,
}

impl<R: Remote> Remote for LosesLater<R> {
    type Error = Injected<R::Error>;

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), Self::Error> {
        self.inner.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), Self::Error> {
        self.inner.walk(generation, after, limit, found)
    }

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Self::Error>> {
        if self.commits_left == 0 {
            self.inner.lose_answer(self.happens);
        }
        self.commits_left = self.commits_left.wrapping_sub(1);
        self.inner.commit(plan)
    }

    fn sequence(&self) -> Result<u64, Self::Error> {
        self.inner.sequence()
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, Self::Error> {
        self.inner.in_use()
    }

    fn knows_cells(&self) -> bool {
        self.inner.knows_cells()
    }
}
