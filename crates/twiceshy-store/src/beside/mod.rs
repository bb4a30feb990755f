//! A guard beside a store that somebody else owns.

mod desk;
mod flights;
mod live;
mod loading;
mod record;
mod resync;
mod shared;
mod spotted;
mod taking;
mod ticket;

pub use resync::{ResyncError, Resynced};
pub use ticket::{Announcement, Retirement};

use crate::error::Error;
use crate::guard::Guard;
use crate::options::Options;
use crate::pending::Holder;
use crate::state::State;
use crate::stats::Stats;
use crate::store::{Change, Durability, Space, Store};
use desk::Action;
use record::{BESIDE, BesideRecord};
use shared::Shared;
use std::borrow::Cow;
use std::sync::Arc;
use std::thread::JoinHandle;
use twiceshy::Kind;
use twiceshy::remote::Key;

/// Makes equal keys equal as bytes.
type Normalize = Box<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// A guard beside a store that you already have: it keeps the keys, the store keeps the rows.
///
/// The filter is in memory; the keys behind its fingerprints are in a local file. The guard never writes to your store. It
/// hears of rows that come and go by tickets, which are taken *before* your transaction:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("guard");
/// # use std::collections::BTreeMap;
/// # use std::sync::Mutex;
/// # let db = Mutex::new(BTreeMap::new());
/// # let write = |key: &str| db.lock().map(|mut db| db.insert(key.to_string(), 1)).is_ok();
/// use twiceshy_store::Guard;
///
/// let guard = Guard::beside(&path)?;
/// guard.adopt(|| Ok::<_, std::io::Error>([] as [std::io::Result<&str>; 0]))?; // The store has no rows yet.
///
/// let ticket = guard.announce(["ann"])?; // On disk when it returns. Look-ups of these keys are loaded from now on.
/// if write("ann") { ticket.done()? } else { ticket.rolled_back()? }
/// assert!(guard.may_contain("ann"));
///
/// let ticket = guard.retire(["ann"])?;
/// db.lock().expect("no panic").remove("ann");
/// ticket.done()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// **A new guard knows no key**, so every look-up goes to the loader until [`Beside::adopt`] has read the keys that are there.
///
/// **All writers of these keys must be in this process**, and take tickets. A row that is written in another way is answered
/// *absent* until the next [`Beside::resync`], or until a check of the filter finds one such row: see
/// [`Options::spot_check`](crate::Options::spot_check).
///
/// **Keys are bytes.** Two keys that your store finds equal must be the same bytes: see [`Beside::normalizing`].
///
/// All methods take `&self` and may be called from many threads. Put it in an [`Arc`] to share it between tasks. Tickets may
/// outlive a borrow of the guard, and move to other threads.
pub struct Beside<S: Store = DefaultStore> {
    shared: Arc<Shared<S>>,
    normalize: Option<Normalize>,
    /// Dropped before the guard.
    desk: DeskThread<S>,
    guard: Guard<S>,
}

/// The thread that changes the set. Ends when this is dropped.
struct DeskThread<S: Store> {
    shared: Arc<Shared<S>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: Store> Drop for DeskThread<S> {
    fn drop(&mut self) {
        // If it fails, the next open believes that tickets were cut off.
        let _ = self.shared.at_desk(Shared::close_tidily);
        #[cfg(feature = "metrics")]
        self.shared.inner.watch.publish_last_tickets(self.shared.tickets());
        self.shared.desk.close();
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// The local file of a guard beside a store.
#[cfg(feature = "redb")]
pub(crate) type DefaultStore = crate::redb_store::RedbStore;
#[cfg(not(feature = "redb"))]
pub(crate) type DefaultStore = crate::memory::MemoryStore;

impl Options {
    /// Opens a guard beside a store that somebody else owns. Its own keys are in `own`, which must be local, and which nobody else
    /// may change. Most users want [`Guard::beside`].
    pub fn open_beside<S: Store>(self, own: S) -> Result<Beside<S>, Error<S::Error>> {
        let guard = self.open_kind(own, Ownership::Beside)?;
        let shared = Arc::new(Shared::new(Arc::clone(guard.inner()), read_record(guard.store())?));
        let thread = std::thread::Builder::new().name("twiceshy-desk".into());
        let own = Arc::clone(&shared);
        let thread = thread.spawn(move || own.attend_desk()).map_err(Error::NoThread)?;
        let desk = DeskThread { shared: Arc::clone(&shared), thread: Some(thread) };
        Ok(Beside { shared, normalize: None, desk, guard })
    }
}

fn read_record<S: Store>(store: &S) -> Result<BesideRecord, Error<S::Error>> {
    let bytes = store.get(Space::Meta, BESIDE).map_err(Error::Store)?;
    Ok(bytes.map_or(BesideRecord::default(), |bytes| BesideRecord::from_bytes(&bytes)))
}

/// Whose the rows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The guard's.
    Owns,
    /// Somebody else's: the guard has the keys alone.
    Beside,
}

impl Ownership {
    /// Returns an error if a store belongs to a guard of the other kind.
    pub(crate) fn check<S: Store>(self, store: &S, state: &State) -> Result<(), Error<S::Error>> {
        let is_beside = store.contains(Space::Meta, BESIDE).map_err(Error::Store)?;
        match (is_beside, self) {
            (true, Ownership::Owns) => Err(Error::IsBeside),
            // It is new, or a crash came between its creation and this.
            (false, Ownership::Beside) if state.len == 0 => write_record(store),
            (false, Ownership::Beside) => Err(Error::IsOwned),
            _ => Ok(()),
        }
    }
}

fn write_record<S: Store>(store: &S) -> Result<(), Error<S::Error>> {
    let value = Some(BesideRecord { tidy: true, ..BesideRecord::default() }.to_bytes());
    Ok(store.commit(&[Change { space: Space::Meta, key: BESIDE.to_vec(), value }], Durability::Synced)?)
}

impl<S: Store> Beside<S> {
    /// Has every key go through `normalize` first: those that are looked up, those of tickets and those of a cursor. Loaders
    /// get their key as it was asked for.
    ///
    /// The guard compares keys as bytes. If your store finds two different strings equal, the guard must see the same bytes, or
    /// it turns away a key that is there:
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let guard = twiceshy_store::Guard::beside(folder.path().join("guard"))?;
    /// // MySQL's and SQL Server's usual collations, SQLite's NOCASE: case does not matter.
    /// // (`to_lowercase` is not the collation. Take the database's own function if letters beyond ASCII occur.)
    /// let guard = guard.normalizing(|key| key.to_ascii_lowercase());
    /// # drop(guard.announce(["Ann"])?);
    /// # drop(guard);
    ///
    /// # let guard = twiceshy_store::Guard::beside(folder.path().join("other"))?;
    /// // CHAR(n): blanks at the end do not matter.
    /// let guard = guard.normalizing(|key| key.trim_ascii_end().to_vec());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A guard whose keys went through another function, or none, must be made anew: delete its folder, and adopt.
    #[must_use]
    pub fn normalizing(self, normalize: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Beside<S> {
        Beside { normalize: Some(Box::new(normalize)), ..self }
    }

    fn normalized<'k>(&self, key: &'k [u8]) -> Cow<'k, [u8]> {
        match &self.normalize {
            Some(normalize) => Cow::Owned(normalize(key)),
            None => Cow::Borrowed(key),
        }
    }

    /// Says that rows with these keys are about to be written: call it before your transaction, and close the ticket after it.
    ///
    /// When it returns, the keys are in the set and on disk. Callers that announce at the same time share a commit. After an error
    /// the keys are as they were, except that some of many may count as open.
    pub fn announce<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Announcement<S>, Error<S::Error>> {
        Announcement::of(self.hand_in(keys)?.recv())
    }

    /// [`Beside::announce`] without waiting in this thread. If it is dropped before it is ready, its ticket is dropped.
    pub async fn announce_async<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Announcement<S>, Error<S::Error>> {
        Announcement::of(self.hand_in(keys)?.await)
    }

    fn hand_in<K: AsRef<[u8]>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<oneshot::Receiver<desk::Reply<S>>, Error<S::Error>> {
        let keys = self.sorted(keys);
        // Here, so that one ticket's key does not make others fail.
        keys.iter().try_for_each(|key| self.shared.inner.check_length(key))?;
        self.enter(&keys);
        Ok(self.shared.hand_in(Action::Announce, keys))
    }

    /// Says that the rows with these keys are about to be deleted: call it before your transaction, and close the ticket after
    /// it. Until then the keys stay in the set. Writes nothing yet.
    pub fn retire<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<Retirement<S>, Error<S::Error>> {
        let keys = self.sorted(keys);
        self.enter(&keys);
        Ok(Retirement::of(&self.shared, keys))
    }

    /// The keys of a ticket, each once.
    fn sorted<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Vec<Key> {
        let keys = keys.into_iter().map(|key| Key::from(&*self.normalized(key.as_ref())));
        let mut keys: Vec<Key> = keys.collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }

    /// From now on these keys are loaded, and nobody shares a load that began before.
    fn enter(&self, keys: &[Key]) {
        self.shared.inner.pending.enter_for(keys, Holder::Ticket);
    }

    /// Waits until the filter is ready and has learned from all false positives so far. Not for [`Beside::adopt`].
    pub fn wait(&self) -> Result<(), Error<S::Error>> {
        while self.shared.at_desk(|shared| Ok(shared.desk.has_suspects()))? {}
        match self.shared.inner.learn_all() {
            // There is no filter before the keys are adopted.
            Err(Error::Interrupted) => Ok(()),
            learned => learned,
        }
    }

    /// `true` if the set has every row's key, so that absent keys are turned away: [`Beside::adopt`] has ended once, and no row was
    /// found since that the filter denied.
    pub fn is_complete(&self) -> bool {
        self.shared.complete.load(std::sync::atomic::Ordering::SeqCst)
    }

    /// What the guard counts. `keys` are those in the set, and `found` counts rows that were loaded.
    pub fn stats(&self) -> Stats {
        self.guard.stats()
    }

    /// The filter that the guard was created with, and its false-positive rate.
    pub fn filter(&self) -> Result<(Kind, f64), Error<S::Error>> {
        self.guard.filter()
    }

    /// Passes the counts on to the crate `metrics`: see [`Guard::publish`]. Besides those of every guard: the counters
    /// `twiceshy_drifted_total` and `twiceshy_shared_total`; the gauges `twiceshy_open`, `twiceshy_dropped` and `twiceshy_pending`, and
    /// `twiceshy_complete` and `twiceshy_cut_off`, which are 0 or 1: see [`Tickets`]; and `twiceshy_wrong_share_at_most`: see
    /// [`Stats::wrong_share_at_most`].
    #[cfg(feature = "metrics")]
    pub fn publish(&self) {
        self.guard.publish();
        self.shared.inner.watch.publish_tickets(self.tickets(), self.stats().wrong_share_at_most());
    }

    /// Tickets that are open and that were dropped, and what became of look-ups: see [`Tickets`].
    pub fn tickets(&self) -> Tickets {
        self.shared.tickets()
    }

    /// The store of the guard's own keys, for reading.
    pub fn store(&self) -> &S {
        self.guard.store()
    }

    /// Syncs what was learned, and saves the filter, so that the next open is fast.
    pub fn save(&self) -> Result<(), Error<S::Error>> {
        self.guard.save()
    }

    /// Saves as [`Beside::save`] does, and closes the guard. Tickets that are still open count as dropped. Dropping the guard
    /// does the same, but ignores errors.
    pub fn close(self) -> Result<(), Error<S::Error>> {
        let Beside { desk, guard, shared, .. } = self;
        drop((desk, shared));
        guard.close()
    }
}

/// The tickets of a guard beside a store, and what it has noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Tickets {
    /// `true` if absent keys are turned away: see [`Beside::is_complete`].
    pub complete: bool,
    /// Tickets that are open.
    pub open: u64,
    /// Tickets that were dropped since the last resync, or whose closing failed: their keys stay in the set until the next.
    pub dropped: u64,
    /// `true` if a process died before it closed the guard, and may have cut tickets off: their keys stay in the set until the next resync, and
    /// no load is shared.
    pub cut_off: bool,
    /// Keys of open and dropped tickets, and of changes under way. They are in memory: those of dropped tickets until the next resync.
    pub pending: u64,
    /// Look-ups that found no row for a key in the set: of an open or dropped ticket, or deleted without one. If it grows, a
    /// [`resync`](Beside::resync) saves loads.
    pub drifted: u64,
    /// Look-ups that shared the load of another.
    pub shared: u64,
}

impl Tickets {
    /// `true` if a [`resync`](Beside::resync) would save loads: the guard is incomplete, or tickets were dropped or
    /// cut off.
    pub fn needs_resync(&self) -> bool {
        !self.complete || self.dropped > 0 || self.cut_off
    }
}
