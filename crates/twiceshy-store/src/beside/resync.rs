//! Reading all keys of the store: at first, and whenever the set may differ from it.

use super::Beside;
use super::live::{Standing, Touched};
use super::record::{BesideRecord, KeyRecord};
use super::shared::Shared;
use super::taking::{COMMITTED_AT_ONCE, LOADED_AT_ONCE};
use crate::changing::Edit;
use crate::error::Error;
use crate::store::{Durability, Space, Store};
use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use twiceshy::remote::Key;

/// How many keys of the cursor are dealt with at once. Tickets wait meanwhile.
const READ_AT_ONCE: usize = 4 * COMMITTED_AT_ONCE;

/// What a resync found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Resynced {
    /// Keys that the cursor returned.
    pub read: u64,
    /// Keys that the set lacked: it has them now. Until then they were answered *absent*, unless the guard was incomplete. Who
    /// wrote them without a ticket?
    pub added: u64,
    /// Keys that have no row: they left the set.
    pub removed: u64,
    /// Keys with a row whose announcement was never closed: it is now.
    pub settled: u64,
    /// Keys in the set now.
    pub keys: u64,
}

/// Why a resync failed. The set has lost no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResyncError<C, E> {
    /// The cursor failed.
    #[error("the keys of the store could not be read: {0}")]
    Cursor(C),
    /// The guard failed.
    #[error(transparent)]
    Guard(#[from] Error<E>),
    /// Another one is running.
    #[error("the guard is being resynced already: wait until that has ended")]
    Running,
}

impl<S: Store> Beside<S> {
    /// Reads all keys of the store for the first time. From then on absent keys are turned away. It is [`Beside::resync`] under the
    /// name that a reader expects, and may be called again if it was interrupted.
    pub fn adopt<K: AsRef<[u8]>, C, I: IntoIterator<Item = Result<K, C>>>(
        &self,
        open: impl FnOnce() -> Result<I, C>,
    ) -> Result<Resynced, ResyncError<C, S::Error>> {
        self.resync(open)
    }

    /// Reads all keys of the store, and makes the set the same. Needed once for a store that has rows, after a ticket was dropped or
    /// the process has died (its keys stay in the set until then, at worst a load each time), and whenever rows were written
    /// without tickets, or a backup was restored.
    ///
    /// `open` is called when the guard has set its mark. It must wait until every transaction that was open then has ended, and
    /// then open a cursor over all keys, on the primary, that sees what is committed by now:
    ///
    /// * PostgreSQL: wait until `pg_snapshot_xmin(pg_current_snapshot())` has reached the `pg_current_xact_id()` of a
    ///   transaction begun in `open` and ended, then `SELECT` in one statement. Transactions that are prepared must be ended.
    /// * SQLite: begin and end a transaction with `BEGIN IMMEDIATE`, then `SELECT`.
    /// * Redis: commands and `MULTI` blocks are atomic, so there is nothing to wait for. `SCAN` returns every key that is
    ///   there from its beginning to its end; the others have tickets.
    /// * A file: open it when nobody writes it.
    ///
    /// Keys with a ticket since the mark are left to their tickets. Tickets can be opened and closed meanwhile. A cursor may
    /// return a key twice. Nothing leaves the set before the cursor has ended without an error.
    ///
    /// An incomplete guard is filled in bulk: its filter is made at the end. If the process dies on the way, call it again. If a row was
    /// found meanwhile that the filter denied, the guard stays incomplete (see [`Beside::on_drift`]): call it again.
    pub fn resync<K: AsRef<[u8]>, C, I: IntoIterator<Item = Result<K, C>>>(
        &self,
        open: impl FnOnce() -> Result<I, C>,
    ) -> Result<Resynced, ResyncError<C, S::Error>> {
        let shared = &self.shared;
        let running = Running::begin(shared)?;
        shared.read.store(0, Ordering::Relaxed);
        let number = shared.at_desk(Shared::begin_resync)?;
        let most = if self.is_complete() { READ_AT_ONCE } else { LOADED_AT_ONCE };
        let mut done = Resynced::default();
        // A stream of rows may fail if it is asked for more after its end.
        let mut keys = open().map_err(ResyncError::Cursor)?.into_iter().fuse();
        loop {
            let mut some: Vec<Key> = Vec::with_capacity(most);
            while some.len() < most
                && let Some(key) = keys.next()
            {
                let key = key.map_err(ResyncError::Cursor)?;
                some.push(Key::from(&*self.normalized(key.as_ref())));
            }
            if some.is_empty() {
                break;
            }
            done.read += some.len() as u64;
            shared.read.store(done.read, Ordering::Relaxed);
            done.added += shared.at_desk(move |shared| shared.see(some, number))?;
        }
        let mut from = Some(Bound::Unbounded);
        while let Some(start) = from {
            let swept = shared.at_desk(move |shared| shared.sweep(start, number))?;
            from = swept.next;
            done.removed += swept.removed;
            done.settled += swept.settled;
        }
        let (mark, alarms) = (running.mark, running.alarms);
        done.keys = shared.at_desk(move |shared| shared.end_resync(mark, alarms))?;
        running.end();
        Ok(done)
    }

    /// The keys that the running [`Beside::resync`] has read so far, or the last one in all.
    pub fn progress(&self) -> u64 {
        self.shared.read.load(Ordering::Relaxed)
    }
}

/// What became of some keys of the set.
#[derive(Default)]
struct Swept {
    /// Where to go on; `None` at the end.
    next: Option<Bound<Key>>,
    removed: u64,
    settled: u64,
}

/// A resync that is running: given up if it is dropped.
struct Running<'a, S: Store> {
    shared: &'a Arc<Shared<S>>,
    mark: u64,
    /// The alarms before the mark.
    alarms: u64,
    ended: bool,
}

impl<'a, S: Store> Running<'a, S> {
    fn begin<C>(shared: &'a Arc<Shared<S>>) -> Result<Running<'a, S>, ResyncError<C, S::Error>> {
        let mut live = shared.live();
        let mark = live.begin_resync().ok_or(ResyncError::Running)?;
        Ok(Running { shared, mark, alarms: shared.alarms.load(Ordering::SeqCst), ended: false })
    }

    fn end(mut self) {
        self.ended = true;
    }
}

impl<S: Store> Drop for Running<'_, S> {
    fn drop(&mut self) {
        if !self.ended {
            // If this fails as well, the next change makes a filter.
            let _ = self.shared.at_desk(Shared::give_up_resync);
        }
        // If the callback panicked as well, the process would end.
        if self.shared.alarms.load(Ordering::SeqCst) != self.alarms && !std::thread::panicking() {
            // Not called before, since only one resync can run.
            self.shared.has_drifted();
        }
    }
}

/// All of these run in the desk's thread.
impl<S: Store> Shared<S> {
    /// Returns the number of this resync. An incomplete guard has no use for a filter: it is taken away.
    fn begin_resync(&self) -> Result<u32, Error<S::Error>> {
        let mut record = *self.record.lock().unwrap_or_else(PoisonError::into_inner);
        // 0 is for keys that no resync has seen.
        record.resync = record.resync.checked_add(1).unwrap_or(1);
        self.change(&[], record, Durability::Seen)?;
        if !record.complete {
            let maker = self.inner.begin_load()?;
            *self.bulk.lock().unwrap_or_else(PoisonError::into_inner) = Some(maker);
        }
        Ok(record.resync)
    }

    /// The cursor returned these keys. Returns how many of them the set lacked.
    fn see(&self, mut keys: Vec<Key>, number: u32) -> Result<u64, Error<S::Error>> {
        keys.sort_unstable();
        keys.dedup();
        let (mut edits, mut added) = (Vec::new(), 0);
        for key in keys {
            self.inner.check_length(&key)?;
            let found = self.record(&key)?;
            let touched = self.live().touched(&key);
            if touched.is_some() {
                self.live().saw(&key);
            }
            let record = match (found, touched) {
                // A ticket has taken it out since the cursor was opened.
                (None, Some(Touched::Removed)) => continue,
                (None, _) => {
                    added += 1;
                    KeyRecord { standing: Standing::Settled, seen: number }
                }
                (Some(found), _) if found.seen == number => continue,
                (Some(found), _) => KeyRecord { seen: number, ..found },
            };
            edits.push(Edit { key, value: Some(record.to_bytes()) });
        }
        self.commit(&edits, Durability::Seen)?;
        Ok(added)
    }

    /// Deals with some keys of the set: those that the cursor did not return leave it, and announcements that were never closed
    /// are.
    fn sweep(&self, from: Bound<Key>, number: u32) -> Result<Swept, Error<S::Error>> {
        let mut some: Vec<Key> = Vec::new();
        let scanned = self.inner.store.scan(Space::Values, from.as_ref().map(|key: &Key| &**key), &mut |key, _| {
            some.push(Key::from(key));
            some.len() < READ_AT_ONCE
        });
        scanned.map_err(Error::Store)?;
        let Some(last) = some.last().cloned() else { return Ok(Swept::default()) };
        let (mut edits, mut swept) = (Vec::new(), Swept { next: Some(Bound::Excluded(last)), ..Swept::default() });
        for key in some {
            let Some(found) = self.record(&key)? else { continue };
            if self.live().touched(&key).is_some() {
                continue;
            }
            let value = match found {
                KeyRecord { seen, .. } if seen != number => {
                    swept.removed += 1;
                    None
                }
                KeyRecord { standing: Standing::Open, .. } => {
                    swept.settled += 1;
                    Some(KeyRecord { standing: Standing::Settled, ..found }.to_bytes())
                }
                KeyRecord { standing: Standing::Settled, .. } => continue,
            };
            edits.push(Edit { key, value });
        }
        if !edits.is_empty() {
            self.commit(&edits, Durability::Seen)?;
        }
        Ok(swept)
    }

    /// The set has every row's key, unless an alarm came since the mark: the row may have come after the cursor. Returns how many keys it
    /// has.
    fn end_resync(&self, mark: u64, alarms: u64) -> Result<u64, Error<S::Error>> {
        self.end_bulk();
        // Builds the filter after a bulk load.
        let keys = self.inner.lock()?.state.len;
        let record = *self.record.lock().unwrap_or_else(PoisonError::into_inner);
        let complete = self.alarms.load(Ordering::SeqCst) == alarms;
        self.change(&[], BesideRecord { complete, tidy: false, ..record }, Durability::Synced)?;
        self.inner.lock_settled().and_then(|mut writer| self.inner.sync(&mut writer))?;
        let mut live = self.live();
        let settled = live.end_resync(mark);
        self.cut_off.store(false, Ordering::SeqCst);
        // An alarm that came after the record was made writes another one.
        if self.alarms.load(Ordering::SeqCst) == alarms {
            self.complete.store(true, Ordering::SeqCst);
        }
        drop(live);
        settled.iter().for_each(|keys| self.leave(keys));
        Ok(keys)
    }

    fn give_up_resync(&self) -> Result<(), Error<S::Error>> {
        self.end_bulk();
        self.live().give_up_resync();
        Ok(())
    }

    fn end_bulk(&self) {
        if self.bulk.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            self.inner.end_load();
        }
    }
}
