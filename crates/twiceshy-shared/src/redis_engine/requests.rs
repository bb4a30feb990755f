//! The requests of the engine, as commands and scripts.

use super::Of;
use super::answer::{Pair, all_bytes, bytes, head, is_one, list, maybe_bytes, number, numbers, pairs, unexpected};
use super::keys::{self, Part};
use super::news::Checked;
use super::scripts::{self, Lua};
use super::servers::{Call, What};
use crate::engine::{Append, Appended, EngineError, Log, Logged, Member, Open, Renewal, Renewed, Settle, Span};
use crate::names::{Announcement, Head, MemberId, Shard};
use redis::Value;
use std::collections::{BTreeMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use twiceshy::remote::{Key, Position};

/// The last position that a script's numbers can hold.
pub(super) const LAST: u64 = 1 << 53;

/// How long news of one shard wait for the answers of others that were asked at the same time.
const GRACE: Duration = Duration::from_millis(20);

impl Call {
    pub(super) fn key(mut self, key: String) -> Call {
        self.keys.push(key);
        self
    }

    pub(super) fn arg(mut self, arg: &[u8]) -> Call {
        self.args.push(arg.to_vec());
        self
    }

    pub(super) fn number(self, number: u64) -> Call {
        self.arg(number.to_string().as_bytes())
    }

    /// A list after its length. Each item may have several arguments.
    fn list<const N: usize>(mut self, items: impl IntoIterator<Item = [Vec<u8>; N]>) -> Call {
        let (length, before) = (self.args.len(), self.args.len() + 1);
        self.args.push(Vec::new());
        self.args.extend(items.into_iter().flatten());
        self.args[length] = ((self.args.len() - before) / N).to_string().into_bytes();
        self
    }

    /// It must not be sent twice.
    pub(super) fn changes(self) -> Call {
        Call { changes: true, ..self }
    }
}

impl Of {
    pub(super) async fn send(&self, call: &Call) -> Result<Value, EngineError> {
        self.servers.call(call).await
    }

    pub(super) fn bare(&self, name: &'static str, slot: u16) -> Call {
        Call { what: What::Command(name), slot, changes: false, keys: Vec::new(), args: Vec::new() }
    }

    pub(super) fn command(&self, name: &'static str, shard: Shard, part: Part) -> Call {
        self.bare(name, self.names.slot(shard)).key(self.names.of(shard, part))
    }

    pub(super) fn script(&self, script: &'static Lua, shard: Shard, parts: &[Part]) -> Call {
        let keys = parts.iter().map(|part| self.names.of(shard, *part)).collect();
        Call { what: What::Script(script), slot: self.names.slot(shard), changes: false, keys, args: Vec::new() }
    }

    pub(super) async fn create(&self, description: Vec<u8>, shards: u32) -> Result<bool, EngineError> {
        self.refuse_eviction().await?;
        let ([first, second], slot) = (self.names.own(), self.names.own_slot());
        let call = self.bare("MSETNX", slot).arg(first.as_bytes()).arg(&description);
        is_one(self.send(&call.arg(second.as_bytes()).number(u64::from(shards)).changes()).await?)
    }

    /// A server that deletes what it has no room for would delete parts of the set.
    async fn refuse_eviction(&self) -> Result<(), EngineError> {
        // Who may not ask must know.
        let info = self.send(&self.bare("INFO", self.names.own_slot()).arg(b"memory")).await.and_then(bytes);
        let info = info.unwrap_or_default();
        let evicts = info.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"maxmemory_policy:allkeys"));
        match evicts {
            true => Err(EngineError::Failed(
                "the server deletes keys when its memory is full: set `maxmemory-policy` to `noeviction`".to_owned(),
            )),
            false => Ok(()),
        }
    }

    pub(super) async fn description(&self) -> Result<Option<Vec<u8>>, EngineError> {
        let [description, _] = self.names.own();
        maybe_bytes(self.send(&self.bare("GET", self.names.own_slot()).key(description)).await?)
    }

    pub(super) async fn join(&self, shard: Shard, member: MemberId, root: u64) -> Result<(), EngineError> {
        let call = self.script(&scripts::JOIN, shard, &[Part::Head, Part::Members]);
        self.send(&call.number(member.0).number(root).changes()).await.map(drop)
    }

    pub(super) async fn leave(&self, shard: Shard, member: MemberId) -> Result<(), EngineError> {
        self.send(&self.command("HDEL", shard, Part::Members).number(member.0).changes()).await.map(drop)
    }

    pub(super) async fn renew(&self, renewal: Renewal) -> Result<Option<Renewed>, EngineError> {
        let call = self.script(&scripts::RENEW, renewal.shard, &[Part::Head, Part::Members]).number(renewal.member.0);
        match self.send(&call.number(renewal.acknowledged.min(LAST)).number(1).changes()).await? {
            Value::Nil => Ok(None),
            answer => Ok(Some(Renewed { head: head(answer)?.0, outbox_is_empty: true })),
        }
    }

    pub(super) async fn acknowledge(&self, shard: Shard, member: MemberId, position: u64) -> Result<(), EngineError> {
        let call = self.script(&scripts::RENEW, shard, &[Part::Head, Part::Members]).number(member.0);
        self.send(&call.number(position.min(LAST)).number(0).changes()).await.map(drop)
    }

    pub(super) async fn members(&self, shard: Shard) -> Result<Vec<Member>, EngineError> {
        let members = pairs(self.send(&self.command("HGETALL", shard, Part::Members)).await?)?;
        let member = |(id, member): Pair| {
            let [renewed, acknowledged] = numbers(&member)?;
            Ok(Member { id: MemberId(number(&id)?), renewed, acknowledged })
        };
        members.into_iter().map(member).collect()
    }

    pub(super) async fn strike(&self, shard: Shard, member: MemberId, renewed: u64) -> Result<bool, EngineError> {
        let call = self.script(&scripts::STRIKE, shard, &[Part::Members]).number(member.0).number(renewed);
        is_one(self.send(&call.changes()).await?)
    }

    pub(super) async fn head(&self, shard: Shard) -> Result<Head, EngineError> {
        let answer = self.send(&self.command("HMGET", shard, Part::Head).arg(b"position").arg(b"tag")).await?;
        match &list(answer)?[..] {
            [Value::Nil, Value::Nil] => Ok(Head::default()),
            [Value::BulkString(position), Value::BulkString(tag)] => {
                Ok(Head { position: number(position)?, tag: number(tag)? })
            }
            _ => Err(unexpected()),
        }
    }

    pub(super) async fn read(&self, shard: Shard, after: Head, limit: usize) -> Result<Log, EngineError> {
        let call = self.script(&scripts::READ, shard, &[Part::Head, Part::Log]).number(after.position.min(LAST));
        let answer = self.send(&call.number(after.tag).number((limit as u64).min(LAST))).await?;
        let answer = all_bytes(list(answer)?)?;
        let (what, records) = answer.split_first().ok_or_else(unexpected)?;
        match &what[..] {
            b"records" => records.chunks_exact(3).map(logged).collect::<Result<_, _>>().map(Log::Records),
            b"cut" => Ok(Log::Cut),
            b"broken" => Ok(Log::Broken),
            _ => Err(unexpected()),
        }
    }

    pub(super) async fn candidates(&self, shard: Shard, spans: &[Span]) -> Result<(Head, Vec<Vec<Key>>), EngineError> {
        let mut call = self.script(&scripts::CANDIDATES, shard, &[Part::Head, Part::Index]);
        call.args = spans.iter().flat_map(keys::bounds).collect();
        let (head, found) = head(self.send(&call).await?)?;
        let keys = |found| Ok(positions(found)?.into_iter().map(|position| position.key).collect());
        Ok((head, found.map(keys).collect::<Result<_, EngineError>>()?))
    }

    pub(super) async fn walk(
        &self,
        shard: Shard,
        bounds: [Vec<u8>; 2],
        limit: usize,
    ) -> Result<(Head, Vec<Position>), EngineError> {
        let mut call = self.script(&scripts::WALK, shard, &[Part::Head, Part::Index]);
        call.args = bounds.to_vec();
        let (head, mut found) = head(self.send(&call.number((limit as u64).min(LAST))).await?)?;
        Ok((head, positions(found.next().unwrap_or_default())?))
    }

    /// The arguments are those that `lua/append.lua` names.
    pub(super) fn append_call(&self, append: &Append) -> Call {
        use Part::{Announced, Head, Index, Log, Members, Open, Valued, Values};
        let parts = [Head, Log, Index, Values, Valued, Open, Announced, Members];
        let member = append.applied_by.map_or_else(String::new, |member| member.0.to_string());
        let one = |key: &Key| [key.to_vec()];
        let value = |(key, value): &(Key, Option<Vec<u8>>)| match value {
            Some(value) => [b"1".to_vec(), key.to_vec(), value.clone()],
            None => [b"0".to_vec(), key.to_vec(), Vec::new()],
        };
        self.script(&scripts::APPEND, append.shard, &parts)
            .number(append.after.position)
            .number(append.after.tag)
            .number(append.tag)
            .arg(&append.record)
            .arg(member.as_bytes())
            .arg(self.names.channel().as_bytes())
            .number(u64::from(append.shard.0))
            .list(append.close.iter().map(|id| [id.0.to_string().into_bytes()]))
            .list(append.unopened.iter().map(one))
            .list(append.rowless.iter().map(one))
            .list(append.remove.iter().flat_map(keys::entries).map(|entry| [entry]))
            .list(append.add.iter().flat_map(keys::entries).map(|entry| [entry]))
            .list(append.open.iter().map(|open| [open.id.0.to_string().into_bytes(), keys::body(open)]))
            .list(append.values.iter().map(value))
            .changes()
    }

    pub(super) async fn append(&self, call: Call) -> Result<Appended, EngineError> {
        let answer = all_bytes(list(self.send(&call).await?)?)?;
        let (what, named) = answer.split_first().ok_or_else(unexpected)?;
        let named = || named.iter().map(|key| Key::from(&key[..])).collect();
        match &what[..] {
            b"done" => Ok(Appended::Done(named())),
            b"moved" => Ok(Appended::Moved),
            b"busy" => Ok(Appended::Busy(named())),
            b"closed" => Ok(Appended::Closed),
            _ => Err(unexpected()),
        }
    }

    pub(super) async fn settle(&self, settle: Settle) -> Result<bool, EngineError> {
        let mut shards: BTreeMap<Shard, Settle> = BTreeMap::new();
        for (shard, id) in settle.close {
            shards.entry(shard).or_default().close.push((shard, id));
        }
        for (shard, key, value) in settle.values {
            shards.entry(shard).or_default().values.push((shard, key, value));
        }
        let mut all = true;
        for (shard, Settle { close, values }) in shards {
            let parts = [Part::Values, Part::Valued, Part::Open, Part::Announced];
            let mut call = self.script(&scripts::SETTLE, shard, &parts);
            call = call.list(close.iter().map(|(_, id)| [id.0.to_string().into_bytes()]));
            call.args.extend(values.into_iter().flat_map(|(_, key, value)| [key.to_vec(), value]));
            all &= is_one(self.send(&call.changes()).await?)?;
        }
        Ok(all)
    }

    pub(super) async fn open(&self, shard: Shard) -> Result<Vec<Open>, EngineError> {
        let open = pairs(self.send(&self.command("HGETALL", shard, Part::Open)).await?)?;
        let parse = |(id, body): Pair| {
            let (member, keys) = keys::parse_body(&body).ok_or_else(unexpected)?;
            Ok(Open { id: Announcement(number(&id)?), member, keys })
        };
        open.into_iter().map(parse).collect()
    }

    async fn values(&self, shard: Shard, keys: &[Key]) -> Result<Vec<Option<Vec<u8>>>, EngineError> {
        let mut call = self.command("HMGET", shard, Part::Values);
        call.args.extend(keys.iter().map(|key| key.to_vec()));
        list(self.send(&call).await?)?.into_iter().map(maybe_bytes).collect()
    }
}

/// Entries of the index.
fn positions(found: Value) -> Result<Vec<Position>, EngineError> {
    list(found)?.into_iter().map(|entry| keys::parse_entry(&bytes(entry)?).ok_or_else(unexpected)).collect()
}

/// A record: its id in the stream, its tag and its bytes.
fn logged(fields: &[Vec<u8>]) -> Result<Logged, EngineError> {
    let position = fields[0].split(|byte| *byte == b'-').next().unwrap_or_default();
    Ok(Logged { at: Head { position: number(position)?, tag: number(&fields[1])? }, record: fields[2].clone() })
}

/// Carries out several requests at once.
pub(super) async fn all<T: Send + 'static>(
    requests: impl IntoIterator<Item = impl Future<Output = Result<T, EngineError>> + Send + 'static>,
) -> Result<Vec<T>, EngineError> {
    let tasks: Vec<_> = requests.into_iter().map(tokio::spawn).collect();
    let mut answers = Vec::with_capacity(tasks.len());
    for task in tasks {
        answers.push(task.await.map_err(|_| EngineError::Unknown("the request ended early".to_owned()))??);
    }
    Ok(answers)
}

/// Reads values, with one request for each shard.
pub(super) async fn get(of: Arc<Of>, keys: Vec<(Shard, Key)>) -> Result<Vec<Option<Vec<u8>>>, EngineError> {
    let mut shards: BTreeMap<Shard, (Vec<usize>, Vec<Key>)> = BTreeMap::new();
    let mut values = vec![None; keys.len()];
    for (at, (shard, key)) in keys.into_iter().enumerate() {
        let (places, keys) = shards.entry(shard).or_default();
        places.push(at);
        keys.push(key);
    }
    let requests = shards.into_iter().map(|(shard, (places, keys))| {
        let of = Arc::clone(&of);
        async move { Ok((places, of.values(shard, &keys).await?)) }
    });
    for (places, found) in all(requests).await? {
        places.into_iter().zip(found).for_each(|(at, value)| values[at] = value);
    }
    Ok(values)
}

/// Waits for news, and asks for heads that nothing was heard of. A shard that does not answer holds up no news of others.
pub(super) async fn wait(of: Arc<Of>, known: Vec<(Shard, u64)>, timeout: Duration) -> Result<Vec<Shard>, EngineError> {
    let until = Instant::now() + timeout;
    of.news.listen(&of.servers, &of.names.channel());
    let (mut asks, mut asked) = (JoinSet::new(), HashSet::new());
    loop {
        let came = of.news.came.notified();
        tokio::pin!(came);
        // From here on no news is missed.
        came.as_mut().enable();
        let Checked { mut ahead, unknown } = of.news.check(&known);
        while let Some(Ok(shard)) = asks.try_join_next() {
            asked.remove(&shard);
        }
        for (shard, _) in unknown {
            if asked.insert(shard) {
                let of = Arc::clone(&of);
                asks.spawn(async move {
                    if let Ok(head) = of.head(shard).await {
                        of.news.asked(shard, head.position);
                    }
                    shard
                });
            }
        }
        if !ahead.is_empty() {
            let others = async { while asks.join_next().await.is_some() {} };
            let _ = tokio::time::timeout(GRACE, others).await;
            ahead.extend(of.news.check(&known).ahead);
            return Ok(ahead);
        }
        if timeout_at(until, came).await.is_err() {
            of.news.doubt();
            return Ok(Vec::new());
        }
    }
}
