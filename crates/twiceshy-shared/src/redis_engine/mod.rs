//! An engine on Redis or Valkey: one server, or a cluster.

mod answer;
mod keys;
mod news;
mod requests;
mod scripts;
mod server;
mod servers;
mod slots;
mod snapshots;
mod valued;

use crate::background;
use crate::engine::{
    Append, Appended, Engine, EngineError, Log, Member, Open, Promise, Renewal, Renewed, Reply, Settle, Snapshot, Span,
};
use crate::names::{Head, MemberId, Shard, SnapshotId};
use keys::Names;
use news::News;
use servers::Servers;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use twiceshy::remote::{Generation, Key, Position};

/// The length of the longest key. Every request for a part of the index moves whole keys, so longer ones would be slow.
const LONGEST_KEY: usize = 64 << 10;

/// An engine on Redis 6.2 or Valkey, or later ones: one server, or a cluster. Clones share the connections.
///
/// Every change of a shard is one script, so it happens as a whole. The keys of a shard have the same hash tag, so a cluster keeps them on
/// one server. Redis copies to its replicas after it has answered, and so may lose what it has acknowledged when a server fails: a set in it
/// can be [`Within`](crate::Level::Within) a time, but not [`Exact`](crate::Level::Exact). The tags of the records show what was lost, and
/// members load their copies anew.
///
/// The servers must not evict keys (`maxmemory-policy` must not be one of `allkeys-…`), and should write a log (`appendonly yes`). Connections
/// are made when they are needed, and made again after they broke. There is no TLS.
///
/// ```no_run
/// # async fn example() -> Result<(), twiceshy_shared::Error> {
/// use std::time::Duration;
/// use twiceshy_shared::{Level, RedisEngine, Set, Shared};
///
/// let engine = RedisEngine::open("redis://:password@localhost", "users")?;
/// Set::new().shards(4).level(Level::Within(Duration::from_secs(1))).create(&engine).await?;
/// let guard = Shared::open(engine).await?;
/// guard.insert(b"key", b"value").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct RedisEngine {
    of: Arc<Of>,
    /// Ends the listener when the last clone is dropped.
    _end: Arc<End>,
}

/// What requests need, for as long as they run.
struct Of {
    servers: Arc<Servers>,
    names: Names,
    news: Arc<News>,
}

struct End(Arc<News>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl fmt::Debug for RedisEngine {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisEngine").field("set", &self.of.names.set()).field("at", &self.of.servers).finish()
    }
}

impl RedisEngine {
    /// The set of this name on one server: `redis://[user:password@]host[:port][/database]`. No connection is made yet.
    pub fn open(url: &str, set: &str) -> Result<RedisEngine, EngineError> {
        RedisEngine::new(Servers::new(&[url], false)?, set)
    }

    /// The set of this name in a cluster. Some of its servers are enough: they know the others. The user and the password are those of the
    /// first URL. No connection is made yet.
    pub fn open_cluster(urls: &[&str], set: &str) -> Result<RedisEngine, EngineError> {
        RedisEngine::new(Servers::new(urls, true)?, set)
    }

    fn new(servers: Servers, set: &str) -> Result<RedisEngine, EngineError> {
        let news = Arc::new(News::default());
        let of = Of { servers: Arc::new(servers), names: Names::new(set)?, news: Arc::clone(&news) };
        Ok(RedisEngine { of: Arc::new(of), _end: Arc::new(End(news)) })
    }

    /// Carries out a request in the background, where the connections live: the caller may be in any runtime, or none.
    fn run<'a, T, F>(&'a self, request: impl FnOnce(Arc<Of>) -> F) -> Reply<'a, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>> + Send + 'static,
    {
        let future = request(Arc::clone(&self.of));
        Box::pin(async move {
            let background = background::handle().map_err(|error| EngineError::Failed(error.to_string()))?;
            // A task ends early only if it panics.
            let ended = |_| Err(EngineError::Unknown("the request ended early".to_owned()));
            background.spawn(future).await.unwrap_or_else(ended)
        })
    }

    /// The same for a request that changes nothing.
    fn read_by<'a, T, F>(&'a self, request: impl FnOnce(Arc<Of>) -> F) -> Reply<'a, T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, EngineError>> + Send + 'static,
    {
        let answer = self.run(request);
        Box::pin(async move { answer.await.map_err(EngineError::of_read) })
    }
}

impl Engine for RedisEngine {
    fn promise(&self) -> Promise {
        Promise::Within
    }

    fn longest_key(&self) -> usize {
        LONGEST_KEY
    }

    fn create<'a>(&'a self, description: &'a [u8], shards: u32) -> Reply<'a, bool> {
        let description = description.to_vec();
        self.run(move |of| async move { of.create(description, shards).await })
    }

    fn description(&self) -> Reply<'_, Option<Vec<u8>>> {
        self.read_by(|of| async move { of.description().await })
    }

    fn join(&self, shard: Shard, member: MemberId, root: u64) -> Reply<'_, ()> {
        self.run(move |of| async move { of.join(shard, member, root).await })
    }

    fn leave(&self, shard: Shard, member: MemberId) -> Reply<'_, ()> {
        self.run(move |of| async move { of.leave(shard, member).await })
    }

    fn renews_together(&self) -> bool {
        false
    }

    fn renew<'a>(&'a self, renewals: &'a [Renewal]) -> Reply<'a, Vec<Option<Renewed>>> {
        let renewals = renewals.to_vec();
        self.run(move |of| async move {
            requests::all(renewals.into_iter().map(|renewal| {
                let of = Arc::clone(&of);
                async move { of.renew(renewal).await }
            }))
            .await
        })
    }

    fn acknowledge(&self, shard: Shard, member: MemberId, position: u64) -> Reply<'_, ()> {
        self.run(move |of| async move { of.acknowledge(shard, member, position).await })
    }

    fn members(&self, shard: Shard) -> Reply<'_, Vec<Member>> {
        self.read_by(move |of| async move { of.members(shard).await })
    }

    fn strike(&self, shard: Shard, member: MemberId, renewed: u64) -> Reply<'_, bool> {
        self.run(move |of| async move { of.strike(shard, member, renewed).await })
    }

    fn head(&self, shard: Shard) -> Reply<'_, Head> {
        self.read_by(move |of| async move { of.head(shard).await })
    }

    fn read(&self, shard: Shard, after: Head, limit: usize) -> Reply<'_, Log> {
        self.read_by(move |of| async move { of.read(shard, after, limit).await })
    }

    fn candidates<'a>(&'a self, shard: Shard, spans: &'a [Span]) -> Reply<'a, (Head, Vec<Vec<Key>>)> {
        let spans = spans.to_vec();
        self.read_by(move |of| async move { of.candidates(shard, &spans).await })
    }

    fn walk<'a>(
        &'a self,
        shard: Shard,
        generation: Generation,
        after: Option<&'a Position>,
        limit: usize,
    ) -> Reply<'a, (Head, Vec<Position>)> {
        let bounds = keys::bounds_after(generation, after);
        self.read_by(move |of| async move { of.walk(shard, bounds, limit).await })
    }

    fn append<'a>(&'a self, append: &'a Append) -> Reply<'a, Appended> {
        let call = self.of.append_call(append);
        self.run(move |of| async move { of.append(call).await })
    }

    /// Each shard is settled apart.
    fn settle<'a>(&'a self, settle: &'a Settle) -> Reply<'a, bool> {
        let settle = settle.clone();
        self.run(move |of| async move { of.settle(settle).await })
    }

    fn open(&self, shard: Shard) -> Reply<'_, Vec<Open>> {
        self.read_by(move |of| async move { of.open(shard).await })
    }

    fn get<'a>(&'a self, keys: &'a [(Shard, Key)]) -> Reply<'a, Vec<Option<Vec<u8>>>> {
        let keys = keys.to_vec();
        self.read_by(move |of| async move { requests::get(of, keys).await })
    }

    /// In the order of the keys' bytes.
    fn keys_of_values<'a>(&'a self, after: Option<&'a Key>, limit: usize) -> Reply<'a, Vec<Key>> {
        let after = after.cloned();
        self.read_by(move |of| async move { valued::keys(of, after, limit).await })
    }

    /// Nobody can write past the guard here.
    fn outbox(&self, _: u64, _: usize) -> Reply<'_, Vec<(u64, Key)>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn save<'a>(&'a self, shard: Shard, snapshot: Snapshot, bytes: &'a [u8]) -> Reply<'a, ()> {
        let bytes = bytes.to_vec();
        self.run(move |of| async move { of.save(shard, snapshot, &bytes).await })
    }

    fn load(&self, shard: Shard, id: SnapshotId) -> Reply<'_, Option<Vec<u8>>> {
        self.read_by(move |of| async move { of.load(shard, id).await })
    }

    fn newest(&self, shard: Shard) -> Reply<'_, Option<Snapshot>> {
        self.read_by(move |of| async move { of.newest(shard).await })
    }

    fn cut(&self, shard: Shard, up_to: u64) -> Reply<'_, ()> {
        self.run(move |of| async move { of.cut(shard, up_to).await })
    }

    fn wait<'a>(&'a self, known: &'a [(Shard, u64)], timeout: Duration) -> Reply<'a, Vec<Shard>> {
        let known = known.to_vec();
        self.read_by(move |of| async move { requests::wait(of, known, timeout).await })
    }
}
