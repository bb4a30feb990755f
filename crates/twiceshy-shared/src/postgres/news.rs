//! Telling other members of new records, and hearing of theirs.
//!
//! NOTIFY only wakes. It takes a lock of the whole server at its commit, so it is not in the transactions that append records: one task sends one for
//! all that were appended since the last.

use super::line::{Connect, Heard, Line, open};
use crate::background;
use crate::engine::EngineError;
use crate::names::Shard;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client};

/// The time between two notifications of a process that appends records faster than it can send them.
const PAUSE: Duration = Duration::from_millis(1);

/// Shards with news, and the positions of their newest records.
#[derive(Debug, Default)]
struct Pile {
    shards: Mutex<BTreeMap<Shard, u64>>,
    /// Something was put on the pile.
    more: Notify,
}

impl Pile {
    fn put(&self, news: impl IntoIterator<Item = (Shard, u64)>) {
        let mut shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        for (shard, position) in news {
            let newest = shards.entry(shard).or_default();
            *newest = position.max(*newest);
        }
        drop(shards);
        self.more.notify_one();
    }

    fn newest(&self) -> Vec<(Shard, u64)> {
        let shards = self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        shards.iter().map(|(shard, position)| (*shard, *position)).collect()
    }

    fn take(&self) -> Vec<(Shard, u64)> {
        std::mem::take(&mut *self.shards.lock().unwrap_or_else(PoisonError::into_inner)).into_iter().collect()
    }
}

/// Sends news of this process's records.
#[derive(Debug)]
pub(super) struct Teller(Arc<Pile>);

impl Teller {
    /// Starts the task that sends. It ends with the teller.
    pub(super) fn start(line: Arc<Line>, channel: String) -> Teller {
        let pile = Arc::<Pile>::default();
        let weak = Arc::downgrade(&pile);
        if let Ok(handle) = background::handle() {
            handle.spawn(async move {
                while let Some(pile) = weak.upgrade() {
                    let _ = tokio::time::timeout(Duration::from_secs(1), pile.more.notified()).await;
                    let shards = pile.take();
                    if !shards.is_empty() {
                        // Lost news cost time: members ask when they renew their leases.
                        let _ = notify(&line, &channel, &shards).await;
                        let is_behind = !pile.newest().is_empty();
                        drop(pile);
                        if is_behind {
                            tokio::time::sleep(PAUSE).await;
                        }
                    }
                }
            });
        }
        Teller(pile)
    }

    pub(super) fn tell(&self, shard: Shard, position: u64) {
        self.0.put([(shard, position)]);
    }
}

async fn notify(line: &Line, channel: &str, news: &[(Shard, u64)]) -> Result<(), EngineError> {
    // A message may have 8,000 bytes.
    for news in news.chunks(250) {
        let numbers: Vec<String> = news.iter().map(|(shard, position)| format!("{}:{position}", shard.0)).collect();
        line.query("SELECT pg_notify($1, $2)", &[Type::TEXT, Type::TEXT], &[&channel, &numbers.join(",")]).await?;
    }
    Ok(())
}

/// Hears of the records of all processes.
#[derive(Debug, Default)]
pub(super) struct Listener {
    heard: Arc<Pile>,
    client: tokio::sync::Mutex<Option<Client>>,
}

impl Listener {
    /// Waits for news of these shards after these positions.
    pub(super) async fn wait(
        &self,
        connect: &Arc<dyn Connect>,
        line: &Line,
        channel: &str,
        known: &[(Shard, u64)],
        timeout: Duration,
    ) -> Result<Vec<Shard>, EngineError> {
        if self.connect(connect, channel).await? {
            // What was appended before this connection was made is not told.
            let heads = line.query("SELECT id, position FROM {set}.shard", &[], &[]).await?;
            self.heard.take();
            self.heard.put(heads.iter().map(|row| (Shard(row.get::<_, i32>(0) as u32), row.get::<_, i64>(1) as u64)));
        }
        let until = Instant::now() + timeout;
        loop {
            let news = self.heard.newest();
            let is_new = |(shard, position): &(Shard, u64)| known.iter().any(|(own, at)| own == shard && position > at);
            let shards: Vec<Shard> = news.iter().filter(|news| is_new(news)).map(|(shard, _)| *shard).collect();
            if !shards.is_empty() || Instant::now() >= until {
                return Ok(shards);
            }
            let _ = tokio::time::timeout_at(until, self.heard.more.notified()).await;
        }
    }

    /// Connects and listens, unless a connection is open. `true` if the connection is new.
    async fn connect(&self, connect: &Arc<dyn Connect>, channel: &str) -> Result<bool, EngineError> {
        let mut client = self.client.lock().await;
        if client.as_ref().is_some_and(|client| !client.is_closed()) {
            return Ok(false);
        }
        let heard = Arc::clone(&self.heard);
        let hear: Heard = Arc::new(move |message| {
            if let AsyncMessage::Notification(note) = message {
                let news = note.payload().split(',').filter_map(|news| news.split_once(':'));
                heard.put(
                    news.filter_map(|(shard, position)| Some((Shard(shard.parse().ok()?), position.parse().ok()?))),
                );
            }
        });
        let new = open(connect, Some(hear)).await?;
        let listen = format!("LISTEN {}", super::quoted(channel));
        super::line::run_once(&new, &listen).await?;
        *client = Some(new);
        Ok(true)
    }
}
