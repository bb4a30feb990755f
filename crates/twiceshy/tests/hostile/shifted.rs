//! A remote for files that claim any sequence number.

use twiceshy::remote::{CommitError, Plan, Remote};
use twiceshy::through;

/// A remote that has come as far as a hostile file says, whatever number that is.
#[derive(Clone, Debug)]
pub(crate) struct Shifted<R> {
    pub(crate) inner: R,
    pub(crate) by: u64,
}

impl<R: Remote> Remote for Shifted<R> {
    type Error = R::Error;
    through!(inner: candidates, walk, in_use, knows_cells, phase);

    fn commit(&mut self, plan: &Plan) -> Result<(), CommitError<R::Error>> {
        // No number comes after the last.
        if plan.sequence == 0 {
            return Err(CommitError::OutOfStep { wanted: 0, found: self.sequence().map_err(CommitError::Failed)? });
        }
        let sequence = plan.sequence.wrapping_sub(self.by);
        self.inner.commit(&Plan { sequence, writes: plan.writes.clone() })
    }

    fn sequence(&self) -> Result<u64, R::Error> {
        Ok(self.inner.sequence()?.wrapping_add(self.by))
    }
}
