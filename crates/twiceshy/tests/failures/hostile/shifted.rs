//! A remote for files that claim any sequence number.

use twiceshy::remote::{Commit, CommitError, Generation, Keys, Phase, Place, Position, Remote, RemoteError, Schema};

/// A remote that has come as far as a hostile file says, whatever number that is.
#[derive(Clone, Debug)]
pub(crate) struct Shifted<R> {
    pub(crate) inner: R,
    pub(crate) by: u64,
}

impl<R: Keys> Keys for Shifted<R> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.inner.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.inner.walk(generation, after, limit, found)
    }

    fn knows_cells(&self) -> bool {
        self.inner.knows_cells()
    }
}

impl<R: Remote> Remote for Shifted<R> {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        // No number comes after the last.
        if commit.sequence == 0 {
            return Err(CommitError::OutOfStep { wanted: 0, found: self.sequence().map_err(CommitError::Failed)? });
        }
        let sequence = commit.sequence.wrapping_sub(self.by);
        self.inner.commit(&Commit { sequence, ..commit.clone() })
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        Ok(self.inner.sequence()?.wrapping_add(self.by))
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        self.inner.in_use()
    }

    fn phase(&self) -> Result<Option<Phase>, RemoteError> {
        self.inner.phase()
    }
}
