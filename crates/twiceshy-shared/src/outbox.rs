//! Rows that were written past the guard: their keys wait in the engine's outbox until a member logs them.
//!
//! Nobody knows the shard of a row before its key is hashed, so the outbox is one for all shards, and an answer to a renewal says only whether it is
//! empty. If it is not, a member looks for rows of its own shards before it renews the next time. If there are none, what was written before it
//! looked is in the logs, and the head that the renewal returns is not older.

use crate::desk::What;
use crate::error::Error;
use crate::inner::Inner;
use crate::member::{change, stored};
use crate::names::Shard;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::Notify;
use twiceshy::remote::Key;

/// How many rows are read at once.
const STEP: usize = 1_000;

/// The most rows that are looked through for those of one's own shards.
const MOST: usize = 20_000;

/// What a member knows of the outbox, and the task that empties it.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// `true` if rows waited when somebody looked last.
    waits: AtomicBool,
    more: Notify,
}

impl Outbox {
    /// Starts the task, which ends with the guard.
    pub(crate) fn start(inner: &Arc<Inner>) -> Arc<Outbox> {
        let outbox = Arc::new(Outbox { waits: AtomicBool::new(false), more: Notify::new() });
        tokio::spawn(Arc::clone(&outbox).empty(Arc::clone(inner)));
        outbox
    }

    async fn empty(self: Arc<Outbox>, inner: Arc<Inner>) {
        while !inner.is_closed() {
            let _ = tokio::time::timeout(inner.time(), self.more.notified()).await;
            if self.waits.load(Ordering::Acquire) {
                // If this fails, the next renewal sees the same rows.
                let _ = log_all(&inner).await;
                inner.followed().for_each(|(shard, _)| inner.renew_soon(shard));
            }
        }
    }

    /// A renewal said whether rows wait.
    pub(crate) fn note(&self, waits: bool) {
        self.waits.store(waits, Ordering::Release);
        if waits {
            self.more.notify_one();
        }
    }

    /// The shards that this process follows and of which no row waits, if rows waited when somebody looked last.
    pub(crate) async fn cleared(&self, inner: &Inner) -> HashSet<Shard> {
        if !self.waits.load(Ordering::Acquire) {
            return HashSet::new();
        }
        let mut cleared: HashSet<Shard> = inner.followed().map(|(shard, _)| shard).collect();
        let (mut after, mut seen) = (0, 0);
        loop {
            let Ok(waiting) = inner.engine.outbox(after, STEP).await else { return HashSet::new() };
            for (_, key) in &waiting {
                cleared.remove(&inner.described.shard(key));
            }
            seen += waiting.len();
            match waiting.last() {
                Some((last, _)) if waiting.len() == STEP && seen < MOST && !cleared.is_empty() => after = *last,
                _ if waiting.len() == STEP => return HashSet::new(),
                _ => return cleared,
            }
        }
    }
}

/// Logs the rows of the shards that this process follows. An error in one shard does not hold up the others.
async fn log_all(inner: &Inner) -> Result<(), Error> {
    let (mut after, mut failed) = (0, Ok(()));
    loop {
        let waiting = inner.engine.outbox(after, STEP).await?;
        let is_last = waiting.len() < STEP;
        after = waiting.last().map_or(after, |(last, _)| *last);
        let mut shards: BTreeMap<Shard, Vec<(u64, Key)>> = BTreeMap::new();
        for (entry, key) in waiting {
            let shard = inner.described.shard(&key);
            if inner.copy(shard).is_some_and(|copy| copy.is_followed) {
                shards.entry(shard).or_default().push((entry, key));
            }
        }
        for (shard, waiting) in shards {
            if let Err(error) = log(inner, shard, waiting).await {
                failed = Err(error);
            }
        }
        if is_last || inner.is_closed() {
            return failed;
        }
    }
}

async fn log(inner: &Inner, shard: Shard, waiting: Vec<(u64, Key)>) -> Result<(), Error> {
    let (entries, mut keys): (Vec<u64>, Vec<Key>) = waiting.into_iter().unzip();
    keys.sort_unstable();
    keys.dedup();
    let there = stored(inner, shard, &keys).await?;
    let (stored, gone) = keys.into_iter().partition(|key| there.contains(key));
    change(inner, shard, What::Move { entries, stored, gone }).await.map(drop)
}
