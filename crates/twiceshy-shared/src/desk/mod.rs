//! The desk of a shard: the one task that changes this process's copy of its filter.
//!
//! It follows the log, and makes the changes that this process wants, all that wait in one record. It plans against the copy, applies the plans
//! at once, and takes them back if another member's record came first. What is applied early is harmless: an added key can only pass, a
//! query that was adapted to is not in the index, and a removed key is [held](crate::replica::Replica::hold) until its removal is committed.

mod appending;
mod drafting;
mod following;
mod growing;
mod requests;
#[cfg(test)]
mod tests;
mod watches;

use crate::clock::Moment;
use crate::engine::{Appended, EngineError, Entry};
use crate::error::Error;
use crate::inner::{Copy, Inner};
use crate::loading::Unloaded;
use crate::names::{Head, MemberId, Shard};
use crate::replica::Replica;
use crate::stats::add;
pub(crate) use appending::DOUBT;
use drafting::Draft;
use growing::Growing;
pub(crate) use requests::{Change, Changed, Request, What};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use twiceshy::remote::Key;
pub(crate) use watches::Watches;

/// How often a change is planned again before its caller is told.
const MOST_ATTEMPTS: u32 = 1_000;

/// The most keys in one record.
const MOST_KEYS: usize = 4_096;

/// The most bytes of keys and values in one record, unless one change has more.
const MOST_BYTES: usize = 4 << 20;

/// How long the desk waits after an error of the engine.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a desk could not go on.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The log has gone on.
    Moved,
    /// The filter has no room.
    Full,
    /// The copy must be loaded anew.
    Lost,
    /// Nobody knows whether a record was appended. The copy must be loaded anew.
    Doubt(EngineError),
    Engine(EngineError),
    Other(Error),
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Trouble {
        Trouble::Engine(error)
    }
}

impl From<Unloaded> for Trouble {
    fn from(unloaded: Unloaded) -> Trouble {
        match unloaded {
            Unloaded::Unfit(_) => Trouble::Lost,
            Unloaded::Engine(error) => Trouble::Engine(error),
            Unloaded::Other(error) => Trouble::Other(error),
        }
    }
}

impl From<Trouble> for Error {
    fn from(trouble: Trouble) -> Error {
        match trouble {
            Trouble::Engine(error) | Trouble::Doubt(error) => Error::Engine(error),
            Trouble::Other(error) => error,
            Trouble::Moved => Error::Contended(MOST_ATTEMPTS),
            Trouble::Full => Error::Filter("it is full and cannot grow".to_owned()),
            Trouble::Lost => Error::Filter("it must be loaded anew: try again".to_owned()),
        }
    }
}

/// The desk.
#[derive(Debug)]
pub(crate) struct Desk {
    inner: Arc<Inner>,
    shard: Shard,
    requests: mpsc::UnboundedReceiver<Request>,
    growing: Option<Growing>,
    /// A member that has begun to fill a larger table has until this moment.
    growth_elsewhere: Option<(MemberId, Moment)>,
    /// The bytes of the log since the newest snapshot that this process knows, and the position of that snapshot.
    log_bytes: u64,
    saved: u64,
    watches: Watches,
}

impl Desk {
    pub(crate) fn new(inner: Arc<Inner>, shard: Shard, requests: mpsc::UnboundedReceiver<Request>) -> Desk {
        Desk {
            inner,
            shard,
            requests,
            growing: None,
            growth_elsewhere: None,
            log_bytes: 0,
            saved: 0,
            watches: Watches::default(),
        }
    }

    /// There is a desk only for shards that are there.
    fn copy(&self) -> &Copy {
        &self.inner.copies[self.shard.0 as usize]
    }

    fn at(&self) -> Head {
        self.copy().read().at()
    }

    /// Works until the guard is closed.
    pub(crate) async fn run(mut self) {
        while !self.inner.is_closed() {
            if self.copy().member().0 == 0
                && let Err(trouble) = self.join().await
            {
                self.wait_out(&trouble.into()).await;
                continue;
            }
            let Some(requests) = self.collect().await else { return };
            if let Err(trouble) = self.work(requests).await {
                self.note(trouble).await;
            }
            self.copy().worked.notify_one();
        }
    }

    /// The requests that wait. While a larger table is being filled, none may.
    async fn collect(&mut self) -> Option<Vec<Request>> {
        let mut requests = Vec::new();
        if self.growing.is_some() {
            tokio::task::yield_now().await;
        } else {
            requests.push(self.requests.recv().await?);
        }
        while requests.len() < MOST_KEYS
            && let Ok(request) = self.requests.try_recv()
        {
            requests.push(request);
        }
        Some(requests)
    }

    async fn work(&mut self, requests: Vec<Request>) -> Result<(), Trouble> {
        let (mut changes, mut queries, mut renewal, mut wake) = (Vec::new(), Vec::new(), None, false);
        for request in requests {
            match request {
                // An answer to an earlier membership says nothing of this one.
                Request::Renewed { member, sent, at, renewed } if member == self.copy().member() => {
                    renewal = Some((sent, at, renewed));
                }
                Request::Renewed { .. } => {}
                Request::Unwatch(id) => self.watches.end(id),
                Request::Wake => wake = true,
                Request::Change(change) => changes.push(change),
                Request::Learn(query) => queries.push(query),
            }
        }
        let followed = match (renewal, wake) {
            (Some((sent, at, renewed)), _) => self.renewed(sent, at, renewed).await,
            (None, true) => self.follow().await,
            (None, false) => Ok(()),
        };
        if let Err(trouble) = followed {
            let lost = !matches!(trouble, Trouble::Engine(_));
            let error = Error::from(trouble);
            changes.into_iter().for_each(|change| drop(change.reply.send(Err(error.clone()))));
            return Err(match error {
                Error::Engine(error) if !lost => Trouble::Engine(error),
                _ => Trouble::Lost,
            });
        }
        self.change(changes, queries).await?;
        self.grow_some().await
    }

    /// What follows from trouble.
    async fn note(&mut self, trouble: Trouble) {
        if let Trouble::Lost | Trouble::Doubt(_) = trouble {
            self.lose();
        }
        if !matches!(trouble, Trouble::Moved) {
            sleep(PAUSE / 10).await;
        }
    }

    /// This process is no member from now on, and joins anew.
    fn lose(&mut self) {
        let copy = self.copy();
        copy.member.store(0, Ordering::Release);
        // With what this member has promised: the next one has promised nothing.
        *copy.write() = Replica::default();
        self.growing = None;
        add(&self.inner.counters.rejoined, 1);
    }

    /// Refuses changes for a while.
    async fn wait_out(&mut self, error: &Error) {
        let until = tokio::time::Instant::now() + PAUSE;
        while let Ok(Some(request)) = timeout(until - tokio::time::Instant::now(), self.requests.recv()).await {
            if let Request::Change(change) = request {
                let _ = change.reply.send(Err(error.clone()));
            }
        }
        if !self.inner.is_closed() {
            sleep(until - tokio::time::Instant::now()).await;
        }
    }

    /// Makes changes and learns from mistakes, with one record for as many as possible.
    async fn change(&mut self, changes: Vec<Change>, queries: Vec<Key>) -> Result<(), Trouble> {
        let mut queries: Vec<Key> = {
            let replica = self.copy().read();
            // Another member, or an earlier record, may have taught the filter.
            queries.into_iter().filter(|query| replica.filter().is_some_and(|filter| filter.contains(query))).collect()
        };
        queries.sort_unstable();
        queries.dedup();
        let mut changes = changes.into_iter().peekable();
        while changes.peek().is_some() || !queries.is_empty() {
            let (mut group, mut keys, mut bytes) = (Vec::new(), 0, 0);
            // If an announcement cannot be closed, the whole record fails: no other change should fail with it. A watch that is begun after a
            // doubt must not see it.
            let is_alone = |what: &What| matches!(what, What::Close { .. } | What::Doubt);
            let fits = |change: &Change, group: &[Change], keys: usize, bytes: usize| {
                let alone = is_alone(&change.what) || group.iter().any(|other| is_alone(&other.what));
                let is_small = keys + change.what.len() <= MOST_KEYS && bytes + change.what.bytes() <= MOST_BYTES;
                group.is_empty() || !alone && is_small
            };
            while let Some(change) = changes.next_if(|change| fits(change, &group, keys, bytes)) {
                keys += change.what.len();
                bytes += change.what.bytes();
                group.push(change);
            }
            let learned = queries.split_off(queries.len().saturating_sub(MOST_KEYS));
            let made = self.make(&group, &learned).await;
            let is_lost = matches!(made, Err(Trouble::Lost | Trouble::Doubt(_)));
            let reply = made.map_err(Error::from);
            group.into_iter().for_each(|change| drop(change.reply.send(reply.clone())));
            if is_lost {
                let error = Error::from(Trouble::Lost);
                changes.for_each(|change| drop(change.reply.send(Err(error.clone()))));
                return Err(Trouble::Lost);
            }
        }
        Ok(())
    }

    async fn make(&mut self, group: &[Change], queries: &[Key]) -> Result<Changed, Trouble> {
        self.watch(group).await?;
        // Keys that an announcement keeps in the set.
        let mut kept = HashSet::new();
        for attempt in 0..MOST_ATTEMPTS {
            if attempt > 0 {
                add(&self.inner.counters.replanned, 1);
            }
            let draft = match self.draft(group, queries, &kept).await {
                Ok(draft) => draft,
                Err(Trouble::Moved) => {
                    self.follow().await?;
                    continue;
                }
                Err(Trouble::Full) => {
                    self.grow_at_once(group.iter().map(|change| change.what.len() as u64).sum()).await?;
                    continue;
                }
                Err(trouble) => return Err(trouble),
            };
            let Some(append) = &draft.append else {
                // Nothing to append. That is right if nothing was appended meanwhile.
                let at = self.at();
                draft.exceptions.iter().for_each(|query| self.copy().write().except(query.clone()));
                if self.inner.engine.head(self.shard).await? == at {
                    return Ok(Changed::nothing(at, self.inner.now()));
                }
                self.follow().await?;
                continue;
            };
            match self.append(append).await {
                Ok(Appended::Done(deleted)) => {
                    let keys = |entries: &[Entry]| Arc::new(entries.iter().map(|entry| entry.key.clone()).collect());
                    let changed = Changed {
                        at: append.head(),
                        returned: self.inner.now(),
                        deleted: Arc::new(deleted),
                        added: keys(&append.add),
                        removed: keys(&append.remove),
                    };
                    self.keep(draft);
                    self.save_if_due().await;
                    return Ok(changed);
                }
                Ok(Appended::Moved) => {
                    self.take_back(draft);
                    self.follow().await?;
                }
                Ok(Appended::Busy(keys)) => {
                    self.take_back(draft);
                    let before = kept.len();
                    kept.extend(keys);
                    if kept.len() == before {
                        return Err(EngineError::Damaged("it refuses a change for no reason".to_owned()).into());
                    }
                }
                Ok(Appended::Closed) => {
                    self.take_back(draft);
                    return Err(Trouble::Other(Error::Overtaken));
                }
                Err(trouble @ (Trouble::Doubt(_) | Trouble::Lost)) => {
                    // It may have been committed, and the copy without it must not be believed.
                    self.copy().write().replace(None, Head::default());
                    return Err(trouble);
                }
                Err(trouble) => {
                    self.take_back(draft);
                    return Err(trouble);
                }
            }
        }
        Err(Trouble::Moved)
    }

    /// A draft was committed.
    fn keep(&mut self, draft: Draft) {
        let Draft { append, undo: _, exceptions, learned, bytes, changes, adopted, complete } = draft;
        let Some(append) = append else { return };
        {
            let mut replica = self.copy().write();
            exceptions.into_iter().for_each(|query| replica.except(query));
            append.add.iter().for_each(|entry| replica.announced(&entry.key));
            replica.applied(append.head());
            replica.let_go();
        }
        if complete == Some(false) {
            self.copy().untold.store(false, Ordering::Release);
        }
        self.note_complete(complete);
        self.log_bytes += bytes;
        add(&self.inner.counters.learned, learned);
        if self.inner.described.beside {
            append.open.iter().for_each(|open| self.watches.announced(&open.keys, Some(open.id)));
            self.watches.announced(&adopted, None);
        }
        if let Some(growing) = &mut self.growing {
            growing.queue.extend(changes);
        }
    }

    /// A draft was not committed.
    fn take_back(&self, draft: Draft) {
        let mut replica = self.copy().write();
        let undone = replica
            .filter_mut()
            .is_none_or(|filter| draft.undo.into_iter().rev().all(|undo| filter.undo(undo).is_ok()));
        replica.let_go();
        if !undone {
            // Plans are taken back in reverse order, so this cannot happen. If it does, the copy must not be believed.
            replica.replace(None, Head::default());
        }
    }
}
