//! Telling other members of new records, and hearing of theirs.
//!
//! NOTIFY only wakes. It takes a lock of the whole server at its commit, so it is not in the transactions that append records: one task sends one for
//! all that were appended since the last.

use super::line::{Connect, Heard, Line, open};
use crate::background;
use crate::engine::EngineError;
use crate::names::Shard;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_postgres::types::Type;
use tokio_postgres::{AsyncMessage, Client};

/// The least time between two notifications of a process.
const PAUSE: Duration = Duration::from_millis(1);

/// Shards with news.
#[derive(Debug, Default)]
struct Pile {
    shards: Mutex<BTreeSet<Shard>>,
    /// Something was put on the pile.
    more: Notify,
}

impl Pile {
    fn put(&self, shards: impl IntoIterator<Item = Shard>) {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner).extend(shards);
        self.more.notify_one();
    }

    fn take(&self) -> Vec<Shard> {
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
                    drop(pile);
                    if !shards.is_empty() {
                        // Lost news cost time: members ask when they renew their leases.
                        let _ = notify(&line, &channel, &shards).await;
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            });
        }
        Teller(pile)
    }

    pub(super) fn tell(&self, shard: Shard) {
        self.0.put([shard]);
    }
}

async fn notify(line: &Line, channel: &str, shards: &[Shard]) -> Result<(), EngineError> {
    // A message may have 8,000 bytes.
    for shards in shards.chunks(1_000) {
        let numbers: Vec<String> = shards.iter().map(|shard| shard.0.to_string()).collect();
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
    /// Waits for news. After a new connection all these shards may have some.
    pub(super) async fn wait(
        &self,
        connect: &Arc<dyn Connect>,
        channel: &str,
        known: &[(Shard, u64)],
        timeout: Duration,
    ) -> Result<Vec<Shard>, EngineError> {
        let mut client = self.client.lock().await;
        if client.as_ref().is_none_or(Client::is_closed) {
            let heard = Arc::clone(&self.heard);
            let hear: Heard = Arc::new(move |message| {
                if let AsyncMessage::Notification(note) = message {
                    heard.put(note.payload().split(',').filter_map(|number| number.parse().ok().map(Shard)));
                }
            });
            let new = open(connect, Some(hear)).await?;
            let listen = format!("LISTEN {}", super::quoted(channel));
            new.batch_execute(&listen).await.map_err(|error| super::line::before(&error))?;
            *client = Some(new);
            return Ok(known.iter().map(|(shard, _)| *shard).collect());
        }
        drop(client);
        let _ = tokio::time::timeout(timeout, self.heard.more.notified()).await;
        Ok(self.heard.take())
    }
}
