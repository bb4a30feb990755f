//! An engine in this process's memory: for tests, and to try a shared set without a server.

mod line;
mod state;

use crate::engine::{
    Append, Appended, Engine, EngineError, Log, Member, Open, Promise, Renewal, Renewed, Reply, Settle, Snapshot, Span,
};
use crate::names::{Head, MemberId, Shard, SnapshotId};
use line::Line;
pub use line::{Fate, Faults};
use state::State;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use twiceshy::remote::{Generation, Key, Position};

/// An engine in memory. Clones share the set and the line to it.
#[derive(Clone, Debug, Default)]
pub struct MemoryEngine {
    shared: Arc<Held>,
    line: Line,
}

#[derive(Debug, Default)]
struct Held {
    state: Mutex<State>,
    /// Records were appended.
    news: Notify,
}

impl MemoryEngine {
    /// An engine without a set.
    pub fn new() -> MemoryEngine {
        MemoryEngine::default()
    }

    /// The same set over a bad line.
    pub fn with_faults(&self, faults: Faults) -> MemoryEngine {
        MemoryEngine { shared: Arc::clone(&self.shared), line: Line::bad(faults) }
    }

    /// The same set over a line on which this decides what becomes of each request, by the name of its function.
    pub fn with_script(&self, script: impl Fn(&str) -> Fate + Send + Sync + 'static) -> MemoryEngine {
        MemoryEngine { shared: Arc::clone(&self.shared), line: Line::scripted(script) }
    }

    /// From now on this line loses everything, or nothing more than before.
    pub fn cut_line(&self, is_cut: bool) {
        self.line.cut(is_cut);
    }

    /// Writes or deletes a value past all guards, as plain SQL would: with an entry in the outbox.
    pub fn write_past(&self, shard: Shard, key: &[u8], value: Option<&[u8]>) {
        self.locked(|state| state.write_past(shard, &Key::from(key), value.map(<[u8]>::to_vec)));
    }

    fn locked<T>(&self, with: impl FnOnce(&mut State) -> T) -> T {
        with(&mut self.shared.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Carries out a request of this name, after and before what may go wrong.
    fn request<'a, T: Send + 'a>(
        &'a self,
        name: &'static str,
        work: impl FnOnce(&mut State) -> Result<T, EngineError> + Send + 'a,
    ) -> Reply<'a, T> {
        Box::pin(async move {
            let fate = self.line.carry_request(name).await?;
            let answer = self.locked(work);
            self.line.carry_answer(fate).await?;
            answer
        })
    }
}

impl Engine for MemoryEngine {
    fn promise(&self) -> Promise {
        Promise::Exact
    }

    fn longest_key(&self) -> usize {
        usize::MAX
    }

    fn create<'a>(&'a self, description: &'a [u8], shards: u32) -> Reply<'a, bool> {
        self.request("create", move |state| Ok(state.create(description, shards)))
    }

    fn description(&self) -> Reply<'_, Option<Vec<u8>>> {
        self.request("description", |state| Ok(state.description.clone()))
    }

    fn join(&self, shard: Shard, member: MemberId, root: u64) -> Reply<'_, ()> {
        self.request("join", move |state| state.shard(shard).map(|of| of.join(member, root)))
    }

    fn leave(&self, shard: Shard, member: MemberId) -> Reply<'_, ()> {
        self.request("leave", move |state| {
            state.shard(shard).map(|of| {
                of.members.remove(&member);
            })
        })
    }

    fn renew<'a>(&'a self, renewals: &'a [Renewal]) -> Reply<'a, Vec<Option<Renewed>>> {
        self.request("renew", move |state| renewals.iter().map(|renewal| state.renew(renewal)).collect())
    }

    fn acknowledge(&self, shard: Shard, member: MemberId, position: u64) -> Reply<'_, ()> {
        self.request("acknowledge", move |state| state.shard(shard).map(|of| of.acknowledge(member, position)))
    }

    fn members(&self, shard: Shard) -> Reply<'_, Vec<Member>> {
        self.request("members", move |state| Ok(state.shard(shard)?.members.values().copied().collect()))
    }

    fn strike(&self, shard: Shard, member: MemberId, renewed: u64) -> Reply<'_, bool> {
        self.request("strike", move |state| Ok(state.shard(shard)?.strike(member, renewed)))
    }

    fn head(&self, shard: Shard) -> Reply<'_, Head> {
        self.request("head", move |state| Ok(state.shard(shard)?.head()))
    }

    fn read(&self, shard: Shard, after: Head, limit: usize) -> Reply<'_, Log> {
        self.request("read", move |state| Ok(state.shard(shard)?.read(after, limit)))
    }

    fn candidates<'a>(&'a self, shard: Shard, spans: &'a [Span]) -> Reply<'a, (Head, Vec<Vec<Key>>)> {
        self.request("candidates", move |state| {
            let of = state.shard(shard)?;
            Ok((of.head(), spans.iter().map(|span| of.candidates(span)).collect()))
        })
    }

    fn walk<'a>(
        &'a self,
        shard: Shard,
        generation: Generation,
        after: Option<&'a Position>,
        limit: usize,
    ) -> Reply<'a, (Head, Vec<Position>)> {
        self.request("walk", move |state| {
            let of = state.shard(shard)?;
            Ok((of.head(), of.walk(generation, after, limit)))
        })
    }

    fn append<'a>(&'a self, append: &'a Append) -> Reply<'a, Appended> {
        Box::pin(async move {
            let appended = self.request("append", move |state| state.append(append)).await;
            self.shared.news.notify_waiters();
            appended
        })
    }

    fn settle<'a>(&'a self, settle: &'a Settle) -> Reply<'a, bool> {
        self.request("settle", move |state| state.settle(settle))
    }

    fn open(&self, shard: Shard) -> Reply<'_, Vec<Open>> {
        self.request("open", move |state| Ok(state.shard(shard)?.open.values().cloned().collect()))
    }

    fn get<'a>(&'a self, keys: &'a [(Shard, Key)]) -> Reply<'a, Vec<Option<Vec<u8>>>> {
        self.request("get", move |state| {
            keys.iter().map(|(shard, key)| Ok(state.shard(*shard)?.values.get(key).cloned())).collect()
        })
    }

    fn keys_of_values<'a>(&'a self, after: Option<&'a Key>, limit: usize) -> Reply<'a, Vec<Key>> {
        self.request("keys_of_values", move |state| Ok(state.keys_of_values(after, limit)))
    }

    fn outbox(&self, after: u64, limit: usize) -> Reply<'_, Vec<(u64, Key)>> {
        self.request("outbox", move |state| {
            let waiting = state.outbox.range(after.saturating_add(1)..);
            Ok(waiting.take(limit).map(|(id, key)| (*id, key.clone())).collect())
        })
    }

    fn save<'a>(&'a self, shard: Shard, snapshot: Snapshot, bytes: &'a [u8]) -> Reply<'a, ()> {
        self.request("save", move |state| state.shard(shard).map(|of| of.snapshots.push((snapshot, bytes.to_vec()))))
    }

    fn load(&self, shard: Shard, id: SnapshotId) -> Reply<'_, Option<Vec<u8>>> {
        self.request("load", move |state| {
            let of = state.shard(shard)?;
            Ok(of.snapshots.iter().find(|(snapshot, _)| snapshot.id == id).map(|(_, bytes)| bytes.clone()))
        })
    }

    fn newest(&self, shard: Shard) -> Reply<'_, Option<Snapshot>> {
        self.request("newest", move |state| Ok(state.shard(shard)?.newest()))
    }

    fn cut(&self, shard: Shard, up_to: u64) -> Reply<'_, ()> {
        self.request("cut", move |state| state.shard(shard).map(|of| of.cut(up_to)))
    }

    fn wait<'a>(&'a self, known: &'a [(Shard, u64)], timeout: Duration) -> Reply<'a, Vec<Shard>> {
        Box::pin(async move {
            let news = self.shared.news.notified();
            tokio::pin!(news);
            // From here on no news is missed.
            news.as_mut().enable();
            let moved = || self.locked(|state| state.moved(known));
            self.line.carry_request("wait").await?;
            let at_once = moved();
            if !at_once.is_empty() {
                return Ok(at_once);
            }
            let _ = tokio::time::timeout(timeout, news).await;
            self.line.pass("answer").await?;
            Ok(moved())
        })
    }
}
