//! A remote that loses the answer to one of its later commits.

use twiceshy::remote::{CommitError, Plan, Remote};
use twiceshy::testing::{Faulty, Injected};
use twiceshy::through;

/// Loses the answer to the commit after `commits_left` more, once.
pub(crate) struct LosesLater<R> {
    pub(crate) inner: Faulty<R>,
    pub(crate) commits_left: u64,
    pub(crate) happens: bool,
}

impl<R: Remote> Remote for LosesLater<R> {
    type Error = Injected<R::Error>;
    through!(inner: candidates, walk, sequence, in_use, knows_cells, phase);

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<Self::Error>> {
        if self.commits_left == 0 {
            self.inner.lose_answer(self.happens);
        }
        self.commits_left = self.commits_left.wrapping_sub(1);
        self.inner.commit(plan)
    }
}
