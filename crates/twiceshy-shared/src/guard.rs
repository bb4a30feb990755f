//! The guard of a shared set, as its users see it.

use crate::background;
use crate::clock::{Clock, nanos};
use crate::desk::{DOUBT, Desk, Request, What};
use crate::engine::{Engine, EngineError, Open, Settle};
use crate::error::Error;
use crate::inner::{Copy, Inner};
use crate::member::{self, change, wait_for_members};
use crate::names::{Announcement, MemberId, Shard, random};
use crate::outbox::Outbox;
use crate::replica::{Fresh, Replica, Said};
use crate::set::Description;
use crate::stats::{CopyStats, Counters, Stats, add};
use crate::watch::Watch;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};
use twiceshy::AsKey;
use twiceshy::remote::Key;
use twiceshy::spot_check::SpotCheck;

/// A set that many processes share: this process's copies of its filters, and the way to its engine.
///
/// Look-ups of absent keys are answered from memory. They touch no lock of another process and no network, and still see every insertion that
/// was acknowledged before they began (see [`Level`](crate::Level)). A mistake that one process learns from is fixed in all.
///
/// The guard works on two threads of its own, so its functions can be awaited in any runtime. Clones share everything.
///
/// [`Blocking`](crate::Blocking) has the same functions for threads.
#[derive(Clone, Debug)]
pub struct Shared {
    pub(crate) inner: Arc<Inner>,
    /// Ends the tasks when the last clone is dropped.
    _end: Arc<End>,
}

#[derive(Debug)]
struct End(Arc<Inner>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// How fresh an answer must be, if not as the set promises.
#[derive(Clone, Debug, Default)]
pub enum Freshness {
    /// As the set promises.
    #[default]
    Promised,
    /// Insertions that were acknowledged less than this long ago may be missed. A time that is shorter than what the set promises makes no
    /// difference.
    Within(Duration),
    /// At least the insertions with this token must be seen. No clock is read.
    AtLeast(Token),
}

/// Shows an insertion to any process: see [`Freshness::AtLeast`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Token(BTreeMap<Shard, u64>);

impl Token {
    /// The positions, by shard.
    pub fn positions(&self) -> impl Iterator<Item = (Shard, u64)> + '_ {
        self.0.iter().map(|(shard, position)| (*shard, *position))
    }

    /// A token for these positions.
    pub fn from_positions(positions: impl IntoIterator<Item = (Shard, u64)>) -> Token {
        Token(positions.into_iter().collect())
    }

    fn of(&self, shard: Shard) -> u64 {
        self.0.get(&shard).copied().unwrap_or(0)
    }
}

/// How to open a set.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// `None` for all.
    shards: Option<Vec<Shard>>,
    clock: Clock,
    believes_all: bool,
    /// `None` for the default.
    spot_check: Option<Option<u32>>,
    spot_clock: Option<fn() -> Duration>,
    name: Option<String>,
}

/// One absent answer in this many is checked, if nothing else was said.
const SPOT_CHECK: u32 = 1_024;

impl Opening {
    /// The usual way.
    pub fn new() -> Opening {
        Opening::default()
    }

    /// Follows only these shards, for processes that have no memory for all: the store is asked for keys of the others, and this process cannot change
    /// them.
    pub fn follow(mut self, shards: impl IntoIterator<Item = Shard>) -> Opening {
        self.shards = Some(shards.into_iter().collect());
        self
    }

    /// Of a set whose rows are elsewhere: one in this many *absent* answers is checked at the store, and more of the first ones. `Some(1_024)` by
    /// default; `None` for none. Without checks nobody notices that rows are written past all guards.
    ///
    /// The answer number k of [`Shared::get_or_load`] is checked with probability max(1/N, min(1, 256/k)), at most 100 in a second: about
    /// 2,000 loads in the first 262,144 absent answers of each process, then 0.1 %. The caller gets what the loader finds. If that
    /// is a row, and its key is not on its way into the set or out of it, all processes load from then on, until a [`Shared::resync`]: see
    /// [`Shared::on_drift`].
    pub fn spot_check(mut self, one_in: Option<u32>) -> Opening {
        self.spot_check = Some(one_in);
        self
    }

    /// The clock of the spot checks, which begin with a fixed seed then: for tests.
    #[doc(hidden)]
    pub fn spot_clock(mut self, clock: fn() -> Duration) -> Opening {
        self.spot_clock = Some(clock);
        self
    }

    /// The guard's name in events and metrics (features `tracing` and `metrics`): `shared` if none is given. Two guards should have two names.
    pub fn name(mut self, name: impl Into<String>) -> Opening {
        self.name = Some(name.into());
        self
    }

    /// A clock that runs faster than the machine's by this many millionths: for tests. Processes of one set may differ by 10,000.
    #[doc(hidden)]
    pub fn faster_clock(mut self, millionths: i32) -> Opening {
        self.clock.faster = millionths;
        self
    }

    /// Look-ups do not check that the copy is fresh. This breaks the promise: it is for tests that must see it broken.
    #[doc(hidden)]
    pub fn without_lease_check(mut self) -> Opening {
        self.believes_all = true;
        self
    }

    /// Opens the set in an engine: joins all shards, and waits until the copies may be believed.
    pub async fn open(self, engine: Arc<dyn Engine>) -> Result<Shared, Error> {
        background::run(self.start(engine)).await
    }

    async fn start(self, engine: Arc<dyn Engine>) -> Result<Shared, Error> {
        let description = engine.description().await?.ok_or(Error::NoSet)?;
        let described = Description::from_bytes(&description)?;
        if let Some(Shard(missing)) = self.shards.iter().flatten().find(|shard| shard.0 >= described.shards) {
            let shards = described.shards;
            return Err(Error::Options(format!("the set has {shards} shards, counted from 0, and no shard {missing}")));
        }
        let (mut copies, mut desks) = (Vec::new(), Vec::new());
        for shard in (0..described.shards).map(Shard) {
            let (desk, requests) = mpsc::unbounded_channel();
            let (acknowledged, acknowledgements) = watch::channel((MemberId(0), 0));
            let is_followed = self.shards.as_ref().is_none_or(|shards| shards.contains(&shard));
            copies.push(Copy {
                replica: RwLock::new(Replica::default()),
                member: AtomicU64::new(0),
                desk,
                acknowledged,
                worked: Notify::new(),
                usual_wait: AtomicU64::new(0),
                untold: AtomicBool::new(false),
                is_followed,
            });
            // A request for a shard without a desk fails with an error.
            desks.extend(is_followed.then_some((shard, requests, acknowledgements)));
        }
        let one_in = self.spot_check.unwrap_or(Some(SPOT_CHECK)).filter(|_| described.beside);
        let inner = Arc::new(Inner {
            engine,
            described,
            oldest: nanos(described.time),
            clock: self.clock,
            copies,
            counters: Counters::default(),
            spot: match self.spot_clock {
                Some(clock) => SpotCheck::fixed(one_in, 0, clock),
                None => SpotCheck::new(one_in),
            }
            .judged_after(if described.exact { Duration::ZERO } else { described.time }),
            watch: Watch::new(self.name),
            renew: (0..described.shards).map(|_| Notify::new()).collect(),
            closed: AtomicBool::new(false),
            made_anew: AtomicBool::new(false),
            seen: Mutex::new(None),
            believes_all: self.believes_all,
        });
        let shared = Shared { _end: Arc::new(End(Arc::clone(&inner))), inner };
        let inner = &shared.inner;
        for (shard, requests, acknowledgements) in desks {
            tokio::spawn(Desk::new(Arc::clone(inner), shard, requests).run());
            tokio::spawn(member::acknowledge(Arc::clone(&inner.engine), shard, acknowledgements));
        }
        let outbox = Outbox::start(inner);
        for shards in inner.groups() {
            tokio::spawn(member::renew(Arc::clone(inner), Arc::clone(&outbox), shards.clone()));
            tokio::spawn(member::tidy(Arc::clone(inner), shards));
        }
        tokio::spawn(member::listen(Arc::clone(inner)));
        shared.wait_until_fresh(described.time.max(Duration::from_secs(10))).await;
        Ok(shared)
    }
}

impl Shared {
    /// Opens the set in an engine: joins all shards, and waits until the copies may be believed.
    pub async fn open(engine: impl Engine) -> Result<Shared, Error> {
        Opening::new().open(Arc::new(engine)).await
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Waits until all copies may be believed, or this long.
    async fn wait_until_fresh(&self, most: Duration) {
        let until = self.inner.now().after(most);
        let waits = || !self.inner.is_closed() && !self.inner.followed().all(|(_, copy)| copy.read().has_lease());
        while waits() && self.inner.now() < until {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// `false` if the key is not in the set; `true` if it may be. Reads memory and a clock, nothing else. `false` is never checked at the store,
    /// since there is no loader: see [`Opening::spot_check`]. If you only use this, show rows to [`Shared::seen`].
    #[inline]
    pub fn may_contain<K: AsKey + ?Sized>(&self, key: &K) -> bool {
        self.inner.ask(key.as_key().as_ref(), self.inner.oldest) != Said::Absent
    }

    /// The same, with another freshness.
    pub fn may_contain_at<K: AsKey + ?Sized>(&self, key: &K, freshness: &Freshness) -> bool {
        self.ask_at(key.as_key().as_ref(), freshness) != Said::Absent
    }

    /// [`Shared::may_contain`] of each key. In large filters this is several times as fast.
    pub fn may_contain_batch<K: AsKey>(&self, keys: &[K]) -> Vec<bool> {
        let fresh = Fresh::At(self.inner.now(), self.inner.oldest);
        let held: Vec<_> = keys.iter().map(AsKey::as_key).collect();
        let bytes: Vec<&[u8]> = held.iter().map(AsRef::as_ref).collect();
        self.inner.ask_batch(&bytes, fresh)
    }

    fn ask_at(&self, key: &[u8], freshness: &Freshness) -> Said {
        match freshness {
            Freshness::Promised => self.inner.ask(key, self.inner.oldest),
            Freshness::Within(time) => self.inner.ask(key, self.inner.allowance(*time)),
            Freshness::AtLeast(token) => {
                let shard = self.inner.described.shard(key);
                self.inner.ask_at(shard, key, Fresh::Position(token.of(shard)))
            }
        }
    }

    /// The value of a key. An absent key is turned away by the filter, if it does not err; if it errs, it learns.
    pub async fn get<K: AsKey + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>, Error> {
        self.get_at(key, &Freshness::Promised).await
    }

    /// The same, with another freshness.
    pub async fn get_at<K: AsKey + ?Sized>(&self, key: &K, freshness: &Freshness) -> Result<Option<Vec<u8>>, Error> {
        if self.inner.described.beside {
            return Err(Error::Beside);
        }
        let key = key.as_key();
        match self.ask_at(key.as_ref(), freshness) {
            Said::Absent => Ok(None),
            said => background::run(load(Arc::clone(&self.inner), Key::from(key.as_ref()), said)).await,
        }
    }

    /// `true` if the key has a value.
    pub async fn contains<K: AsKey + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        Ok(self.get(key).await?.is_some())
    }

    /// Tells the filter that it was wrong: it let a key pass that is not in the set. All members learn. A key that is in the set after all
    /// makes no difference.
    pub fn was_absent<K: AsKey + ?Sized>(&self, key: &K) {
        let key = Key::from(key.as_key().as_ref());
        let _ = self.inner.send(self.inner.described.shard(&key), Request::Learn(key));
    }

    /// Sets the value of a key. When this returns, no process denies the key any more, or in a set of level
    /// [`Within`](crate::Level::Within) none will after that time.
    pub async fn insert<K: AsKey + ?Sized>(&self, key: &K, value: &[u8]) -> Result<Token, Error> {
        self.insert_all([(key.as_key().as_ref(), value)]).await
    }

    /// Sets the values of several keys. With PostgreSQL all of them or none; with a cluster, all of a shard or none.
    pub async fn insert_all<K: AsKey, V: AsRef<[u8]>>(
        &self,
        values: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Token, Error> {
        if self.inner.described.beside {
            return Err(Error::Beside);
        }
        let mut shards: BTreeMap<Shard, BTreeMap<Key, Vec<u8>>> = BTreeMap::new();
        for (key, value) in values {
            let (key, value) = (self.key(key.as_key().as_ref())?, value.as_ref());
            let longest = self.inner.engine.longest_value();
            if value.len() > longest {
                return Err(Error::ValueTooLong { len: value.len(), longest });
            }
            let shard = self.inner.described.shard(&key);
            shards.entry(shard).or_default().insert(key, value.to_vec());
        }
        let inner = Arc::clone(&self.inner);
        match inner.described.exact {
            true => background::run(insert_exact(inner, shards)).await,
            false => background::run(insert_within(inner, shards)).await,
        }
    }

    /// Deletes the value of a key. `true` if it had one.
    pub async fn remove<K: AsKey + ?Sized>(&self, key: &K) -> Result<bool, Error> {
        Ok(self.remove_all([key.as_key().as_ref()]).await? > 0)
    }

    /// Deletes the values of several keys. Returns how many had one.
    pub async fn remove_all<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<u64, Error> {
        if self.inner.described.beside {
            return Err(Error::Beside);
        }
        let mut shards: BTreeMap<Shard, Vec<Key>> = BTreeMap::new();
        for key in keys {
            let key = self.key(key.as_key().as_ref())?;
            shards.entry(self.inner.described.shard(&key)).or_default().push(key);
        }
        let inner = Arc::clone(&self.inner);
        background::run(async move {
            let mut removed = 0;
            for (shard, mut keys) in shards {
                keys.sort_unstable();
                keys.dedup();
                let changed = change(&inner, shard, What::Remove { keys: keys.clone() }).await?;
                // Others' removals may share the record.
                removed += changed.deleted.iter().filter(|key| keys.binary_search(key).is_ok()).count() as u64;
            }
            Ok(removed)
        })
        .await
    }

    pub(crate) fn key(&self, key: &[u8]) -> Result<Key, Error> {
        let longest = self.inner.engine.longest_key();
        if key.len() > longest {
            return Err(Error::KeyTooLong { len: key.len(), longest });
        }
        Ok(Key::from(key))
    }

    /// What the guard has done, and the state of its copies. Reads memory only.
    pub fn stats(&self) -> Stats {
        let now = self.inner.now();
        let copies = self.inner.followed().map(|(shard, copy)| {
            let (member, replica) = (copy.member(), copy.read());
            CopyStats {
                shard,
                member,
                at: replica.at(),
                keys: replica.filter().map_or(0, |filter| filter.len()),
                local_bits: replica.filter().map_or(0, |filter| filter.local_bits()),
                age: replica.fresh_from().map(|from| now.since(from)),
                exceptions: replica.exceptions(),
            }
        });
        let spot = self.inner.spot.counts();
        Stats {
            copies: copies.collect(),
            spot_checks: spot.checks,
            spot_raced: spot.raced,
            denied_rows: spot.denied,
            seen: spot.seen,
            clean_checks: spot.clean,
            ..self.inner.counters.read()
        }
    }

    /// The digest of this process's copy of each shard's filter, with its position. Copies at the same position have the same digest.
    pub fn digests(&self) -> Vec<(crate::Head, Option<u64>)> {
        let digest = |copy: &Copy| {
            let replica = copy.read();
            (replica.at(), replica.filter().map(|filter| crate::record::save(filter).1))
        };
        self.inner.copies.iter().map(digest).collect()
    }

    /// Leaves the set, so that nobody waits for this process. Otherwise the first insertion after its end waits for its lease.
    pub async fn close(self) -> Result<(), Error> {
        self.inner.close();
        let inner = Arc::clone(&self.inner);
        background::run(async move {
            let mut left = Ok(());
            for (shard, copy) in inner.followed() {
                // One shard that cannot be left is no reason to stay in the others.
                left = left.and(inner.engine.leave(shard, copy.member()).await);
            }
            Ok(left?)
        })
        .await
    }
}

/// Reads a value. If the filter let the key pass and there is no value, the filter learns.
async fn load(inner: Arc<Inner>, key: Key, said: Said) -> Result<Option<Vec<u8>>, Error> {
    let shard = inner.described.shard(&key);
    add(&inner.counters.loads, 1);
    let value = inner.get(&[(shard, key.clone())]).await?.pop().flatten();
    if value.is_none() && said == Said::Passed {
        add(&inner.counters.false_positives, 1);
        let _ = inner.send(shard, Request::Learn(key));
    }
    Ok(value)
}

/// Announces the keys, waits until all members know of them, and writes their values.
async fn insert_exact(inner: Arc<Inner>, shards: BTreeMap<Shard, BTreeMap<Key, Vec<u8>>>) -> Result<Token, Error> {
    let (mut settle, mut token) = (Settle::default(), Token::default());
    let (mut waits, mut members) = (Vec::new(), Vec::new());
    for (shard, values) in shards {
        let id = Announcement(random());
        let keys: Vec<Key> = values.keys().cloned().collect();
        members.push((shard, inner.member(shard)));
        let announced = change(&inner, shard, What::Announce { id, keys }).await;
        settle.close.push((shard, id));
        settle.values.extend(values.into_iter().map(|(key, value)| (shard, key, value)));
        match announced {
            Ok(changed) => {
                token.0.insert(shard, changed.at.position);
                waits.push((shard, changed));
            }
            Err(error) => {
                give_up(&inner, settle).await;
                return Err(error);
            }
        }
    }
    for (shard, changed) in &waits {
        wait_for_members(&inner, *shard, changed).await;
    }
    match settled(&inner, &settle, &members).await {
        Ok(()) => Ok(token),
        Err(error) => {
            give_up(&inner, settle).await;
            Err(error)
        }
    }
}

/// Writes the values of announced keys. If the answer is lost, finds out what happened.
async fn settled(inner: &Inner, settle: &Settle, members: &[(Shard, MemberId)]) -> Result<(), Error> {
    let (begin, mut doubt) = (inner.now(), None);
    loop {
        let hopes = !inner.is_closed() && inner.now().since(begin) <= inner.time() * DOUBT;
        match (inner.engine.settle(settle).await, doubt) {
            (Ok(true), _) => return Ok(()),
            (Ok(false), None) => return Err(Error::Overtaken),
            (Ok(false), Some(lost)) => {
                // Either the first attempt closed the announcements, or others took this process for dead, and closed them. A member that is
                // still in the table was never struck out.
                return match are_members(inner, members).await {
                    Ok(true) => Ok(()),
                    Ok(false) => Err(Error::Engine(lost)),
                    Err(error) => Err(error.into()),
                };
            }
            (Err(error @ EngineError::Unknown(_)), _) if hopes => doubt = Some(error),
            (Err(_), Some(lost)) if hopes => doubt = Some(lost),
            // If an earlier attempt may have been carried out, that decides.
            (Err(_), Some(lost)) => return Err(lost.into()),
            (Err(error), None) => return Err(error.into()),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// `true` if these are members in the engine's own table.
async fn are_members(inner: &Inner, members: &[(Shard, MemberId)]) -> Result<bool, EngineError> {
    for (shard, id) in members {
        if inner.engine.members(*shard).await?.iter().all(|member| member.id != *id) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Closes announcements whose values were not written. What fails here is closed by others when this process is gone.
async fn give_up(inner: &Inner, settle: Settle) {
    for (shard, id) in settle.close {
        let keys = settle.values.iter().filter(|(of, ..)| *of == shard).map(|(_, key, _)| key.clone()).collect();
        let open = Open { id, member: inner.member(shard), keys };
        let _ = member::close_announcement(inner, shard, open).await;
    }
}

/// Logs the keys together with their values.
async fn insert_within(inner: Arc<Inner>, shards: BTreeMap<Shard, BTreeMap<Key, Vec<u8>>>) -> Result<Token, Error> {
    let mut token = Token::default();
    for (shard, values) in shards {
        let changed = change(&inner, shard, What::Put { values: values.into_iter().collect() }).await?;
        token.0.insert(shard, changed.at.position);
    }
    Ok(token)
}
