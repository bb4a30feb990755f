//! The tables of the last commit, kept open between reads.

use super::{Bytes, RedbError, table};
use crate::store::Space;
use redb::{Database, ReadOnlyTable, ReadTransaction, ReadableDatabase};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// What one commit left. Its tables are opened when they are first read.
pub(super) struct View {
    reading: ReadTransaction,
    tables: [OnceLock<Table>; Space::ALL.len()],
}

type Table = ReadOnlyTable<Bytes, Bytes>;

impl View {
    fn open(database: &Database) -> Result<View, RedbError> {
        Ok(View { reading: database.begin_read()?, tables: Default::default() })
    }

    pub(super) fn table(&self, space: Space) -> Result<&Table, RedbError> {
        let place = &self.tables[space as usize];
        match place.get() {
            Some(table) => Ok(table),
            None => {
                let opened = self.reading.open_table(table(space))?;
                Ok(place.get_or_init(|| opened))
            }
        }
    }
}

/// The view of the last commit, if there is one: to begin a read and to open a table takes longer than to look a key up.
///
/// **Every read sees all commits that ended before it began.** A commit drops the view before it begins, and no view is kept
/// while it is under way. A thread that opens a view reads `changes` first, and the view is kept only if it is still the
/// same then: so no commit has begun or ended since before it was opened.
///
/// A view that is not in use keeps redb from using the pages again that were replaced since. So it is dropped before a commit,
/// and not after it. A read that is under way keeps its own, as it did before views were shared.
#[derive(Default)]
pub(super) struct Views(RwLock<Kept>);

#[derive(Default)]
struct Kept {
    view: Option<Arc<View>>,
    /// How often a commit has begun or ended.
    changes: u64,
    /// Commits under way.
    commits: u64,
}

/// A commit under way. No view is kept until it is dropped.
pub(super) struct Commit<'a>(&'a Views);

impl Views {
    /// The view of the last commit. To be called, and its answer dropped, where redb's panics are caught.
    pub(super) fn last(&self, database: &Database) -> Result<Arc<View>, RedbError> {
        let changes = {
            let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(view) = &kept.view {
                return Ok(Arc::clone(view));
            }
            kept.changes
        };
        let view = Arc::new(View::open(database)?);
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let replaced = match kept.commits == 0 && kept.changes == changes {
            true => kept.view.replace(Arc::clone(&view)),
            false => None,
        };
        // Redb's code runs outside the lock.
        drop(kept);
        drop(replaced);
        Ok(view)
    }

    /// A commit begins. Returns the view that was kept, to be dropped where redb's panics are caught.
    pub(super) fn commit(&self) -> (Commit<'_>, Option<Arc<View>>) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        kept.changes += 1;
        kept.commits += 1;
        (Commit(self), kept.view.take())
    }

    /// Takes the view away. Others may keep another one at once, unless they wait for a lock of the caller's.
    pub(super) fn take(&self) -> Option<Arc<View>> {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        kept.changes += 1;
        kept.view.take()
    }
}

impl Drop for Commit<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.0.write().unwrap_or_else(PoisonError::into_inner);
        kept.changes += 1;
        kept.commits -= 1;
    }
}

impl std::fmt::Debug for Views {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Views").finish_non_exhaustive()
    }
}
