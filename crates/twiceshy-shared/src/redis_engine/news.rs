//! Hearing of new records.
//!
//! An append publishes the shard and the position on the set's channel, and a connection of its own listens there. A poll of the heads
//! every few milliseconds would be as simple, but each process would ask hundreds of times a second when nothing happens. Blocking reads of
//! the streams would need a connection for each shard of a cluster. What is published may be lost: so the heads are asked for when a
//! listener begins, and after every silence.

use super::server::{CONNECTING, Server};
use super::servers::Servers;
use crate::background;
use crate::names::Shard;
use futures_util::StreamExt;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// The pause before a connection is made again.
const PAUSE: Duration = Duration::from_millis(100);

/// After this long without a message, another server is listened to: a machine that is gone does not end its connections.
const SILENCE: Duration = Duration::from_secs(10);

/// What was heard.
#[derive(Debug, Default)]
pub(super) struct News {
    heard: Mutex<HashMap<Shard, u64>>,
    /// Something was heard, or must be asked for anew.
    pub(super) came: Notify,
    listener: Mutex<Option<JoinHandle<()>>>,
}

/// What is known of shards.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// They have records after the known positions.
    pub(super) ahead: Vec<Shard>,
    /// Their heads must be asked for.
    pub(super) unknown: Vec<(Shard, u64)>,
}

impl News {
    fn heard(&self) -> MutexGuard<'_, HashMap<Shard, u64>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compares what was heard with what is known. News are told once: after that the head is asked for, which may have gone back.
    pub(super) fn check(&self, known: &[(Shard, u64)]) -> Checked {
        let (mut heard, mut checked) = (self.heard(), Checked::default());
        for (shard, position) in known {
            match heard.get(shard) {
                Some(head) if head > position => {
                    heard.remove(shard);
                    checked.ahead.push(*shard);
                }
                Some(_) => {}
                None => checked.unknown.push((*shard, *position)),
            }
        }
        checked
    }

    /// The answer to a question. What was heard meanwhile is newer.
    pub(super) fn asked(&self, shard: Shard, position: u64) {
        self.heard().entry(shard).or_insert(position);
        self.came.notify_waiters();
    }

    /// Nothing was heard for long, and something may have been missed.
    pub(super) fn doubt(&self) {
        self.heard().clear();
    }

    /// Begins to listen, if nobody does.
    pub(super) fn listen(self: &Arc<News>, servers: &Arc<Servers>, channel: &str) {
        let mut listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Ok(background)) = (&*listener, background::handle()) {
            *listener = Some(background.spawn(follow(Arc::downgrade(self), Arc::clone(servers), channel.to_owned())));
        }
    }

    /// From here on nothing is missed, but something may have been.
    fn begin(&self) {
        self.doubt();
        self.came.notify_waiters();
    }

    /// Takes in a message: the shard and the position.
    fn hear(&self, message: &[u8]) {
        if let Ok([shard, position]) = super::answer::numbers(message)
            && let Ok(shard) = u32::try_from(shard)
        {
            self.heard().insert(Shard(shard), position);
            self.came.notify_waiters();
        }
    }

    /// Ends the listener.
    pub(super) fn end(&self) {
        let listener = self.listener.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(listener) = listener {
            listener.abort();
        }
    }
}

/// Listens to one server after another, until the engine is dropped.
async fn follow(news: Weak<News>, servers: Arc<Servers>, channel: String) {
    loop {
        for server in servers.any() {
            if follow_one(&news, &server, &channel).await.is_none() && news.strong_count() == 0 {
                return;
            }
            sleep(PAUSE).await;
        }
    }
}

/// Listens to a server until the connection breaks or is silent.
async fn follow_one(news: &Weak<News>, server: &Server, channel: &str) -> Option<()> {
    let mut subscribed = timeout(CONNECTING, server.client.get_async_pubsub()).await.ok()?.ok()?;
    timeout(CONNECTING, subscribed.subscribe(channel)).await.ok()?.ok()?;
    news.upgrade()?.begin();
    let mut messages = subscribed.into_on_message();
    loop {
        let message = timeout(SILENCE, messages.next()).await.ok()??;
        news.upgrade()?.hear(message.get_payload_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_told_once_and_then_asked_for() {
        let news = News::default();
        let known = [(Shard(0), 5), (Shard(1), 5)];
        assert_eq!(news.check(&known).unknown, known);
        news.asked(Shard(0), 5);
        news.asked(Shard(1), 5);
        let checked = news.check(&known);
        assert!(checked.unknown.is_empty() && checked.ahead.is_empty());
        news.hear(b"1 6");
        // An answer from before it.
        news.asked(Shard(1), 5);
        assert_eq!(news.check(&known).ahead, [Shard(1)]);
        assert_eq!(news.check(&known).unknown, [(Shard(1), 5)]);
        news.hear(b"nonsense");
        news.hear(b"99999999999 1");
        news.doubt();
        assert_eq!(news.check(&known).unknown, known);
    }
}
