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
        self.last_after(database, || {})
    }

    /// The same, with something done after a new view was opened and before it is kept: for tests.
    fn last_after(&self, database: &Database, meanwhile: impl FnOnce()) -> Result<Arc<View>, RedbError> {
        let changes = {
            let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(view) = &kept.view {
                return Ok(Arc::clone(view));
            }
            kept.changes
        };
        let view = Arc::new(View::open(database)?);
        meanwhile();
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

#[cfg(test)]
mod tests {
    use super::*;
    use redb::backends::InMemoryBackend;

    fn database() -> Database {
        let database = Database::builder().create_with_backend(InMemoryBackend::new()).expect("memory");
        put(&database, b"first");
        database
    }

    fn put(database: &Database, key: &[u8]) {
        let transaction = database.begin_write().expect("memory");
        for space in Space::ALL {
            transaction.open_table(table(space)).expect("memory").insert(key, &b""[..]).expect("memory");
        }
        transaction.commit().expect("memory");
    }

    fn has(view: &View, key: &[u8]) -> bool {
        Space::ALL.iter().all(|space| view.table(*space).expect("memory").get(key).expect("memory").is_some())
    }

    #[test]
    fn a_view_is_kept_until_a_commit_begins_and_the_next_one_sees_the_commit() {
        let (database, views) = (database(), Views::default());
        let view = views.last(&database).expect("memory");
        assert!(Arc::ptr_eq(&view, &views.last(&database).expect("memory")), "it is kept");
        let (commit, dropped) = views.commit();
        assert!(dropped.is_some_and(|dropped| Arc::ptr_eq(&dropped, &view)), "it is given back");
        let during = views.last(&database).expect("memory");
        assert!(!Arc::ptr_eq(&during, &views.last(&database).expect("memory")), "none is kept meanwhile");
        put(&database, b"second");
        drop(commit);
        let after = views.last(&database).expect("memory");
        assert!(has(&after, b"first") && has(&after, b"second"));
        assert!(has(&view, b"first") && !has(&view, b"second") && !has(&during, b"second"));
    }

    #[test]
    fn a_view_that_was_opened_before_a_commit_is_not_kept_after_it() {
        let (database, views) = (database(), Views::default());
        let view = views.last_after(&database, || {
            // Meanwhile another thread commits, from begin to end.
            let (_commit, dropped) = views.commit();
            assert!(dropped.is_none());
            put(&database, b"second");
        });
        assert!(!has(&view.expect("memory"), b"second"));
        assert!(has(&views.last(&database).expect("memory"), b"second"));
        assert!(views.take().is_some() && views.take().is_none());
    }

    #[test]
    fn every_thread_sees_its_own_commits() {
        let (database, views) = (database(), Views::default());
        std::thread::scope(|threads| {
            for thread in 0..3u8 {
                let (database, views) = (&database, &views);
                threads.spawn(move || {
                    for number in 0..100u8 {
                        let (commit, dropped) = views.commit();
                        drop(dropped);
                        put(database, &[thread, number]);
                        drop(commit);
                        assert!(has(&views.last(database).expect("memory"), &[thread, number]));
                    }
                });
            }
        });
    }
}
