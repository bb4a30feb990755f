//! Sets whose values are elsewhere: tickets, and the repair of what has drifted.

use crate::background;
use crate::desk::{Request, What};
use crate::engine::{Open, Settle};
use crate::error::Error;
use crate::guard::Shared;
use crate::inner::Inner;
use crate::member::{change, wait_for_members};
use crate::names::{Announcement, MemberId, Shard, random};
use crate::replica::Said;
use crate::stats::add;
use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use twiceshy::AsKey;
use twiceshy::remote::{Generation, Key};

/// Keys of rows that are about to be written. See [`Shared::announce`].
///
/// A ticket that is dropped, or whose process dies, stays open: its keys stay in the set, until [`Shared::resync`] or the next ticket that retires them.
#[derive(Debug)]
#[must_use = "close a ticket with `done` or `rolled_back`: an open one keeps its keys in the set"]
pub struct Ticket {
    inner: Arc<Inner>,
    parts: Vec<Part>,
}

/// The part of a ticket in one shard.
#[derive(Debug)]
struct Part {
    shard: Shard,
    id: Announcement,
    member: MemberId,
    keys: Vec<Key>,
    /// The keys that this ticket has brought into the set.
    added: Arc<Vec<Key>>,
    _watching: Watching,
}

/// A watch in one shard, which ends with this.
#[derive(Debug)]
struct Watching {
    inner: Arc<Inner>,
    shard: Shard,
    id: Announcement,
}

impl Watching {
    fn new(inner: &Arc<Inner>, shard: Shard) -> Watching {
        Watching { inner: Arc::clone(inner), shard, id: Announcement(random()) }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.inner.send(self.shard, Request::Unwatch(self.id));
    }
}

/// Keys of rows that are about to be deleted. See [`Shared::retire`]. If it is dropped, its keys stay in the set.
#[derive(Debug)]
#[must_use = "close a retirement with `done`: otherwise its keys stay in the set"]
pub struct Retirement {
    inner: Arc<Inner>,
    parts: Vec<(Watching, Vec<Key>)>,
}

/// What [`Shared::resync`] changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resynced {
    /// The keys that the store has.
    pub keys: u64,
    /// Keys that the set lacked. Each may have been denied.
    pub added: u64,
    /// Keys that the set had and the store has not.
    pub removed: u64,
    /// Announcements of processes that are gone, which were closed.
    pub closed: u64,
}

/// How many keys are compared at once.
const STEP: usize = 4_096;

impl Shared {
    /// Announces keys *before* their rows are written elsewhere. When this returns, no process denies them any more, or in a set of level
    /// [`Within`](crate::Level::Within) none will after that time. Then write the rows, and say [`Ticket::done`] or [`Ticket::rolled_back`].
    pub async fn announce<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<Ticket, Error> {
        let shards = self.by_shard(keys)?;
        let inner = Arc::clone(&self.inner);
        background::run(async move {
            let (mut parts, mut waits) = (Vec::new(), Vec::new());
            for (shard, keys) in shards {
                let (watching, member) = (Watching::new(&inner, shard), inner.member(shard));
                let id = watching.id;
                match change(&inner, shard, What::Announce { id, keys: keys.clone() }).await {
                    Ok(changed) => {
                        let added = Arc::clone(&changed.added);
                        parts.push(Part { shard, id, member, keys, added, _watching: watching });
                        waits.push((shard, changed));
                    }
                    Err(error) => {
                        // What was announced in other shards is taken back.
                        let _ = Ticket { inner, parts }.roll_back().await;
                        return Err(error);
                    }
                }
            }
            if inner.described.exact {
                for (shard, changed) in &waits {
                    wait_for_members(&inner, *shard, changed).await;
                }
            }
            Ok(Ticket { inner, parts })
        })
        .await
    }

    /// Begins to retire keys, *before* their rows are deleted elsewhere. Then delete the rows, and say [`Retirement::done`].
    pub async fn retire<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<Retirement, Error> {
        let shards = self.by_shard(keys)?;
        let inner = Arc::clone(&self.inner);
        background::run(async move {
            let mut parts = Vec::new();
            for (shard, keys) in shards {
                let watch = Watching::new(&inner, shard);
                let what = What::Watch { id: watch.id, keys: Some(keys.clone()), dead: Vec::new() };
                change(&inner, shard, what).await?;
                parts.push((watch, keys));
            }
            Ok(Retirement { inner, parts })
        })
        .await
    }

    /// The row of a key: the loader is called only if the filter lets the key pass. If there is no row then, the filter learns, in all processes.
    ///
    /// Some absent keys are loaded all the same, to check the filter: see [`Opening::spot_check`](crate::Opening::spot_check). So a loader must
    /// see what was committed ten seconds ago: a cache, or a replica that lags further behind, may still have rows that were deleted, and would
    /// raise an alarm.
    ///
    /// ```
    /// # async fn example() -> Result<(), twiceshy_shared::Error> {
    /// # let (engine, db) = (twiceshy_shared::MemoryEngine::new(), std::collections::BTreeMap::from([(b"ann".to_vec(), 34)]));
    /// # twiceshy_shared::Set::new().beside().create(&engine).await?;
    /// # let guard = twiceshy_shared::Shared::open(engine).await?;
    /// let age = guard.get_or_load(b"ann", async |name| Ok::<_, twiceshy_shared::Error>(db.get(name).copied())).await?;
    /// assert_eq!(age, Some(34));
    /// # Ok(())
    /// # }
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(example()).unwrap();
    /// ```
    pub async fn get_or_load<K, T, E>(
        &self,
        key: &K,
        load: impl AsyncFnOnce(&[u8]) -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E>
    where
        K: AsKey + ?Sized,
    {
        let key = key.as_key();
        let said = self.inner.ask(key.as_ref(), self.inner.oldest);
        if said == Said::Absent && !self.inner.spot.is_due() {
            return Ok(None);
        }
        let since = (said == Said::Absent).then(|| self.inner.spot.now());
        add(&self.inner.counters.loads, 1);
        let row = load(key.as_ref()).await?;
        if let Some(since) = since {
            self.checked(key.as_ref(), since, row.is_some());
        } else if row.is_none() && said == Said::Passed {
            self.was_absent(key.as_ref());
        }
        Ok(row)
    }

    /// Compares the set with the store, and repairs it: `rows` must return the keys of *all* rows, read after it was called and after every
    /// transaction that was open then has ended. Keys that are announced meanwhile stay. Announcements of processes that were gone when
    /// this began are closed: nothing of them may be under way any more.
    ///
    /// From then on absent keys are turned away, in all processes: see [`Shared::is_complete`]. If that is still `false` (a row was found meanwhile
    /// that the filter denied, or this process had to join anew), call it again: [`Shared::on_drift`] has its call made then.
    pub async fn resync<F>(&self, rows: impl FnOnce() -> F) -> Result<Resynced, Error>
    where
        F: Future<Output = Result<Vec<Vec<u8>>, Error>>,
    {
        if !self.inner.described.beside {
            return Err(Error::Owned);
        }
        let inner = Arc::clone(&self.inner);
        let shards = (0..inner.described.shards).map(Shard);
        let mut marks = Vec::new();
        for shard in shards {
            let inner = Arc::clone(&inner);
            marks.push(background::run(async move { Mark::set(&inner, shard).await }).await?);
        }
        let rows = rows().await?;
        background::run(async move {
            let mut resynced = Resynced { keys: rows.len() as u64, ..Resynced::default() };
            let mut stored: BTreeMap<Shard, HashSet<Key>> = BTreeMap::new();
            for key in rows {
                stored.entry(inner.described.shard(&key)).or_default().insert(Key::from(key));
            }
            for mark in marks {
                let stored = stored.remove(&mark.watch.shard).unwrap_or_default();
                mark.compare(&stored, &mut resynced).await?;
            }
            Ok::<_, Error>(resynced)
        })
        .await
        .inspect(|_| {
            if !self.is_complete() {
                self.inner.watch.has_drifted();
            }
        })
    }

    fn by_shard<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<BTreeMap<Shard, Vec<Key>>, Error> {
        if !self.inner.described.beside {
            return Err(Error::Owned);
        }
        let mut shards: BTreeMap<Shard, Vec<Key>> = BTreeMap::new();
        for key in keys {
            let key = self.key(key.as_key().as_ref())?;
            shards.entry(self.inner.described.shard(&key)).or_default().push(key);
        }
        for keys in shards.values_mut() {
            keys.sort_unstable();
            keys.dedup();
        }
        Ok(shards)
    }
}

/// The begin of a resync in one shard.
struct Mark {
    watch: Watching,
    /// The announcements of members that were gone then.
    dead: Vec<Announcement>,
}

impl Mark {
    async fn set(inner: &Arc<Inner>, shard: Shard) -> Result<Mark, Error> {
        let open = inner.engine.open(shard).await?;
        let members = inner.engine.members(shard).await?;
        let dead = open.iter().filter(|open| members.iter().all(|member| member.id != open.member));
        let dead: Vec<Announcement> = dead.map(|open| open.id).collect();
        let watch = Watching::new(inner, shard);
        change(inner, shard, What::Watch { id: watch.id, keys: None, dead: dead.clone() }).await?;
        Ok(Mark { watch, dead })
    }

    /// Compares the shard with the rows of the store.
    async fn compare(&self, stored: &HashSet<Key>, resynced: &mut Resynced) -> Result<(), Error> {
        let Watching { inner, shard, id: watch } = &self.watch;
        // Their keys without a row leave below.
        for id in &self.dead {
            let settle = Settle { close: vec![(*shard, *id)], values: Vec::new() };
            resynced.closed += u64::from(inner.engine.settle(&settle).await?);
        }
        let mut rows: Vec<Key> = stored.iter().cloned().collect();
        rows.sort_unstable();
        for keys in rows.chunks(STEP) {
            let changed = change(inner, *shard, What::Adopt { keys: keys.to_vec() }).await?;
            resynced.added += in_both(&changed.added, keys);
        }
        let mut after = None;
        loop {
            let (_, found) = inner.engine.walk(*shard, Generation(0), after.as_ref(), STEP).await?;
            let Some(last) = found.last().cloned() else { break };
            let mut gone: Vec<Key> = found.into_iter().map(|at| at.key).filter(|key| !stored.contains(key)).collect();
            gone.sort_unstable();
            if !gone.is_empty() {
                let changed = change(inner, *shard, What::Retire { watch: *watch, keys: gone.clone() }).await?;
                resynced.removed += in_both(&changed.removed, &gone);
            }
            after = Some(last);
        }
        change(inner, *shard, What::Complete { watch: *watch }).await.map(drop)
    }
}

/// How many keys of a record that others may share are among these sorted ones.
fn in_both(changed: &[Key], keys: &[Key]) -> u64 {
    changed.iter().filter(|key| keys.binary_search(key).is_ok()).count() as u64
}

impl Ticket {
    /// The rows were written.
    pub async fn done(self) -> Result<(), Error> {
        background::run(async move {
            let close = self.parts.iter().map(|part| (part.shard, part.id)).collect();
            let closed = self.inner.engine.settle(&Settle { close, values: Vec::new() }).await?;
            if closed { Ok(()) } else { Err(Error::Overtaken) }
        })
        .await
    }

    /// The rows were not written. Keys that the ticket has brought into the set leave it, unless somebody else has announced them since.
    pub async fn rolled_back(self) -> Result<(), Error> {
        background::run(self.roll_back()).await
    }

    async fn roll_back(self) -> Result<(), Error> {
        for Part { shard, id, member, keys, added, .. } in &self.parts {
            let stored = keys.iter().filter(|key| !added.contains(key)).cloned().collect();
            let open = Open { id: *id, member: *member, keys: keys.clone() };
            change(&self.inner, *shard, What::Close { open, stored }).await?;
        }
        Ok(())
    }
}

impl Retirement {
    /// The rows were deleted. The keys leave the set, but for those that were announced since the retirement began.
    pub async fn done(self) -> Result<(), Error> {
        background::run(async move {
            for (watch, keys) in &self.parts {
                change(&self.inner, watch.shard, What::Retire { watch: watch.id, keys: keys.clone() }).await?;
            }
            Ok(())
        })
        .await
    }
}
