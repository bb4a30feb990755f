//! What the parts of a guard share.

use crate::clock::{Clock, Moment, nanos};
use crate::desk::Request;
use crate::engine::{Engine, EngineError, Renewal};
use crate::error::Error;
use crate::names::{MemberId, Shard};
use crate::replica::{Fresh, Replica, Said};
use crate::set::Description;
use crate::stats::Counters;
use crate::watch::Watch;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, watch};
use twiceshy::remote::Key;
use twiceshy::spot_check::SpotCheck;

/// A guard, without its tasks.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) described: Description,
    /// How old a copy may be, in nanoseconds.
    pub(crate) oldest: u64,
    pub(crate) clock: Clock,
    pub(crate) copies: Vec<Copy>,
    pub(crate) counters: Counters,
    /// Checks absent answers, if the rows are elsewhere.
    pub(crate) spot: SpotCheck,
    pub(crate) watch: Watch,
    /// A renewal is wanted now, for each shard. If all are renewed together, only the first one is used.
    pub(crate) renew: Vec<Notify>,
    pub(crate) closed: AtomicBool,
    /// The set was made anew, and so the guard was closed.
    pub(crate) made_anew: AtomicBool,
    /// When the engine was asked last whether it holds this set, and did.
    pub(crate) seen: Mutex<Option<Moment>>,
    /// For tests of the tests: look-ups believe every copy.
    pub(crate) believes_all: bool,
}

/// The copy of one shard's filter, and the way to its desk.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) replica: RwLock<Replica>,
    /// 0 while it is no member.
    pub(crate) member: AtomicU64,
    pub(crate) desk: mpsc::UnboundedSender<Request>,
    /// The last position that this member acknowledges, for the task that tells the engine.
    pub(crate) acknowledged: watch::Sender<(MemberId, u64)>,
    /// The desk has done some of its work.
    pub(crate) worked: Notify,
    /// How many nanoseconds all members usually take to acknowledge a position.
    pub(crate) usual_wait: AtomicU64,
    /// `true` from when this process finds a row that the filter denied until the engine knows of it: until then nothing makes the copy believed.
    pub(crate) untold: AtomicBool,
    /// `false` if this process has no copy of this shard, and asks the store for its keys.
    pub(crate) is_followed: bool,
}

impl Copy {
    #[inline(always)]
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Replica> {
        self.replica.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Replica> {
        self.replica.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the engine told that nothing up to this position will be denied. Does not wait for it.
    pub(crate) fn acknowledge(&self, position: u64) {
        self.acknowledged.send_replace((self.member(), position));
    }

    /// The engine, or a record, says whether the shard has the key of every row.
    pub(crate) fn note_complete(&self, replica: &mut Replica, complete: bool) {
        replica.doubt(!complete || self.untold.load(Ordering::Acquire));
    }

    /// A row was found that the filter denied. `true` if the engine must be told.
    pub(crate) fn alarm(&self) -> bool {
        let mut replica = self.write();
        // While it is not told, the copy may have been loaded anew.
        replica.doubt(true) && !self.untold.swap(true, Ordering::AcqRel)
    }

    pub(crate) fn member(&self) -> MemberId {
        MemberId(self.member.load(Ordering::Acquire))
    }
}

impl Inner {
    /// The copy of a shard; `None` if the set has no such shard.
    #[inline(always)]
    pub(crate) fn copy(&self, shard: Shard) -> Option<&Copy> {
        self.copies.get(shard.0 as usize)
    }

    /// This process's member of a shard; 0 if it has none.
    pub(crate) fn member(&self, shard: Shard) -> MemberId {
        self.copy(shard).map_or(MemberId(0), Copy::member)
    }

    /// Asks the copy of a key's shard, and counts the answer.
    #[inline(always)]
    pub(crate) fn ask(&self, key: &[u8], nanos: u64) -> Said {
        // The clock is read after the look-up began, and before the filter is: whatever happens later, the copy was fresh at that moment.
        let fresh = Fresh::At(self.clock.now(), nanos);
        self.ask_at(self.described.shard(key), key, fresh)
    }

    #[inline(always)]
    pub(crate) fn ask_at(&self, shard: Shard, key: &[u8], fresh: Fresh) -> Said {
        let fresh = if self.believes_all { Fresh::Position(0) } else { fresh };
        // After a panic nobody knows what the copy says, and no copy knows of a shard that is not there.
        let replica = self.copy(shard).and_then(|copy| copy.replica.read().ok());
        let said = replica.map_or(Said::Unknown, |replica| replica.ask(key, fresh));
        self.counters.count(said);
        said
    }

    /// Asks the copy of a key's shard, and counts nothing.
    pub(crate) fn peek(&self, key: &[u8]) -> Said {
        let fresh = Fresh::At(self.clock.now(), self.oldest);
        self.copy(self.described.shard(key)).map_or(Said::Unknown, |copy| copy.read().ask(key, fresh))
    }

    /// Asks the copies for several keys: `true` where a key may be present.
    pub(crate) fn ask_batch(&self, keys: &[&[u8]], fresh: Fresh) -> Vec<bool> {
        let fresh = if self.believes_all { Fresh::Position(0) } else { fresh };
        let mut found = vec![true; keys.len()];
        if let [copy] = &self.copies[..] {
            self.ask_copy(copy, keys, fresh, &mut found);
        } else {
            self.ask_by_shard(keys, fresh, &mut found);
        }
        found
    }

    /// Asks one copy, and counts the answers.
    fn ask_copy(&self, copy: &Copy, keys: &[&[u8]], fresh: Fresh, found: &mut [bool]) {
        let knows = copy.replica.read().is_ok_and(|replica| replica.ask_batch(keys, fresh, found));
        if knows {
            let passed = found.iter().filter(|found| **found).count() as u64;
            self.counters.count_batch(passed, keys.len() as u64 - passed);
        } else {
            self.counters.count_unfiltered(keys.len() as u64);
        }
    }

    /// Sorts the keys by shard, and asks each copy once.
    fn ask_by_shard(&self, keys: &[&[u8]], fresh: Fresh, found: &mut [bool]) {
        let mut by_shard: Vec<(Vec<usize>, Vec<&[u8]>)> = vec![Default::default(); self.copies.len()];
        for (at, key) in keys.iter().enumerate() {
            let (places, keys) = &mut by_shard[self.described.shard(key).0 as usize];
            places.push(at);
            keys.push(key);
        }
        for (copy, (places, keys)) in self.copies.iter().zip(&by_shard).filter(|(_, (_, keys))| !keys.is_empty()) {
            let mut of_shard = vec![true; keys.len()];
            self.ask_copy(copy, keys, fresh, &mut of_shard);
            places.iter().zip(of_shard).for_each(|(at, of_shard)| found[*at] = of_shard);
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Stops answering, and ends the tasks.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.renew.iter().for_each(Notify::notify_one);
        for copy in &self.copies {
            copy.write().distrust();
            // Wakes the desk.
            let _ = copy.desk.send(Request::Wake);
        }
    }

    /// Why there is no answer to a request.
    pub(crate) fn ended(&self) -> Error {
        if self.made_anew.load(Ordering::Acquire) { Error::MadeAnew } else { Error::Closed }
    }

    /// Returns an error if the engine no longer holds the set that was opened. If it holds another one, this guard ends: the shards of its keys are
    /// others, and so are the filters.
    pub(crate) async fn check_set(&self) -> Result<(), Error> {
        let sent = self.now();
        let description = self.engine.description().await.map_err(EngineError::of_read)?.ok_or(Error::NoSet)?;
        if Description::from_bytes(&description)? != self.described {
            self.made_anew.store(true, Ordering::Release);
            self.close();
            return Err(Error::MadeAnew);
        }
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(sent);
        Ok(())
    }

    /// `true` if the engine held this set so lately that none of another one's keys need be found in this shard.
    fn is_this_set(&self, shard: Shard) -> bool {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let was_seen = || seen.is_some_and(|seen| self.now().nanos_since(seen) < self.oldest);
        self.copy(shard).is_some_and(|copy| copy.read().is_fresh(self.now(), self.oldest)) || was_seen()
    }

    /// Values from the engine.
    pub(crate) async fn get(&self, asked: &[(Shard, Key)]) -> Result<Vec<Option<Vec<u8>>>, Error> {
        if self.made_anew.load(Ordering::Acquire) {
            return Err(Error::MadeAnew);
        }
        let values = self.engine.get(asked).await.map_err(EngineError::of_read)?;
        // In a set that was made anew, a key's value may be in another shard.
        let mut absent = asked.iter().zip(&values).filter(|(_, value)| value.is_none());
        if absent.any(|((shard, _), _)| !self.is_this_set(*shard)) {
            self.check_set().await?;
        }
        Ok(values)
    }

    /// The lease of an exact set, the stated time of another.
    pub(crate) fn time(&self) -> Duration {
        self.described.time
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Sends a request to a shard's desk.
    pub(crate) fn send(&self, shard: Shard, request: Request) -> Result<(), Error> {
        let missing = || EngineError::Damaged(format!("it has {} shards, and no shard {}", self.copies.len(), shard.0));
        let copy = self.copy(shard).ok_or_else(missing)?;
        copy.desk.send(request).map_err(|_| if copy.is_followed { self.ended() } else { Error::NotFollowed(shard) })
    }

    /// The shards that this process follows.
    pub(crate) fn followed(&self) -> impl Iterator<Item = (Shard, &Copy)> + '_ {
        (0..).map(Shard).zip(&self.copies).filter(|(_, copy)| copy.is_followed)
    }

    /// The shards that this process follows, in groups that are renewed together.
    pub(crate) fn groups(&self) -> Vec<Vec<Shard>> {
        let followed: Vec<Shard> = self.followed().map(|(shard, _)| shard).collect();
        match self.engine.renews_together() {
            true => vec![followed],
            false => followed.into_iter().map(|shard| vec![shard]).collect(),
        }
    }

    /// Wakes the task that renews a shard.
    pub(crate) fn renew_soon(&self, shard: Shard) {
        self.renewal_wanted(shard).notify_one();
    }

    pub(crate) fn renewal_wanted(&self, shard: Shard) -> &Notify {
        let at = if self.engine.renews_together() { 0 } else { shard.0 as usize };
        self.renew.get(at).unwrap_or(&self.renew[0])
    }

    /// What the copies of these shards acknowledge now.
    pub(crate) fn renewals(&self, shards: &[Shard]) -> Vec<Renewal> {
        let renewal = |shard: &Shard| {
            let copy = self.copy(*shard)?;
            let (member, replica) = (copy.member(), copy.read());
            (member.0 != 0).then_some(Renewal { shard: *shard, member, acknowledged: replica.acknowledged() })
        };
        shards.iter().filter_map(renewal).collect()
    }

    /// How old a copy may be for a look-up that asks for less than the set promises.
    pub(crate) fn allowance(&self, time: Duration) -> u64 {
        nanos(time).max(self.oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryEngine, Set, Shared};

    #[tokio::test]
    async fn a_shard_that_is_not_there_is_answered_from_no_other_and_changed_in_no_other() {
        let engine = MemoryEngine::new();
        Set::new().shards(2).create(&engine).await.expect("a new engine");
        let guard = Shared::open(engine).await.expect("a set");
        let inner = &guard.inner;
        let ask = |shard| inner.ask_at(shard, b"key", Fresh::At(inner.now(), inner.oldest));
        assert_eq!(
            [0, 1, 2, u32::MAX].map(|shard| ask(Shard(shard))),
            [Said::Absent, Said::Absent, Said::Unknown, Said::Unknown]
        );
        assert!(inner.send(Shard(1), Request::Wake).is_ok());
        let error = inner.send(Shard(2), Request::Wake).expect_err("there are two");
        assert!(error.to_string().ends_with("it has 2 shards, and no shard 2"), "{error}");
    }
}
