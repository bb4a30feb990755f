//! A mirror of cells that notes which cells change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use twiceshy::remote::{
    CellId, Commit, CommitError, Generation, Keys, Mirror, Place, Position, Remote, RemoteError, Schema, Write,
};

/// The cells that were moved from or to since they were last taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Moved(Arc<Mutex<Vec<CellId>>>);

impl Moved {
    fn lock(&self) -> MutexGuard<'_, Vec<CellId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes every cell to `cell`, and forgets them.
    pub(super) fn take(&self, cell: impl FnMut(CellId)) {
        self.lock().drain(..).for_each(cell);
    }
}

/// A mirror that notes the cells of every move.
#[derive(Clone, Debug)]
pub(super) struct Noting {
    mirror: Mirror,
    moved: Moved,
}

impl Noting {
    pub(super) fn new(moved: Moved) -> Noting {
        Noting { mirror: Mirror::new(), moved }
    }
}

impl Keys for Noting {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        self.mirror.candidates(place, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.mirror.walk(generation, after, limit, found)
    }

    fn knows_cells(&self) -> bool {
        self.mirror.knows_cells()
    }
}

impl Remote for Noting {
    fn commit(&mut self, commit: &Commit) -> Result<(), CommitError> {
        self.mirror.commit(commit)?;
        let moves = commit.writes.iter().filter_map(|write| match write {
            Write::Move { from, to, .. } => Some([*from, *to]),
            _ => None,
        });
        self.moved.lock().extend(moves.flatten());
        Ok(())
    }

    fn sequence(&self) -> Result<u64, RemoteError> {
        self.mirror.sequence()
    }

    fn identity(&self) -> Result<u64, RemoteError> {
        self.mirror.identity()
    }

    fn in_use(&self) -> Result<Option<(Generation, Schema)>, RemoteError> {
        self.mirror.in_use()
    }
}
