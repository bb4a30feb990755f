//! Joining a shard, following its log, and keeping its snapshots.

use super::{Desk, Trouble};
use crate::clock::{Moment, with_drift};
use crate::engine::{EngineError, Logged, Renewed, Snapshot};
use crate::error::Error;
use crate::loading::{self, Loaded, Source};
use crate::names::{Head, MemberId, SnapshotId, random};
use crate::record::{self, Record, What};
use crate::replica::Replica;
use crate::set::is_complete;
use crate::stats::add;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use twiceshy::plan::Plan;
use twiceshy::remote::Write;

/// The least bytes of the log that are worth a snapshot.
const LEAST_LOG: u64 = 1 << 18;

impl Desk {
    /// Joins the shard under a new number: registers, then loads the newest snapshot and the log after it.
    pub(super) async fn join(&mut self) -> Result<(), Trouble> {
        let member = MemberId(random());
        *self.copy().write() = Replica::default();
        self.check_set().await?;
        self.inner.engine.join(self.shard, member, self.inner.described.identity).await?;
        // From here on the membership is renewed, however long loading takes: otherwise it would be struck out.
        self.copy().member.store(member.0, Ordering::Release);
        let loaded = self.load_copy().await;
        // If the set is still there, this was its shard. Otherwise what was loaded is of another set.
        if let Err(trouble) = self.check_set().await.and(loaded) {
            self.copy().member.store(0, Ordering::Release);
            // Otherwise every insertion would wait for it.
            let _ = self.inner.engine.leave(self.shard, member).await;
            return Err(trouble);
        }
        // The lease begins with a renewal that is sent from now on.
        self.inner.renew_soon(self.shard);
        Ok(())
    }

    async fn check_set(&self) -> Result<(), Trouble> {
        self.inner.check_set().await.map_err(|error| match error {
            Error::Engine(error) => Trouble::Engine(error),
            other => Trouble::Other(other),
        })
    }

    fn source(&self) -> Source<'_> {
        Source { engine: &*self.inner.engine, described: &self.inner.described, shard: self.shard }
    }

    /// Loads the newest snapshot, or begins with an empty filter, and catches up.
    async fn load_copy(&mut self) -> Result<(), Trouble> {
        let Loaded { filter, at, .. } = self.source().start().await?;
        self.growing = None;
        // Records were skipped.
        self.watches.lose();
        self.log_bytes = 0;
        if self.inner.counters.rejoined.load(Ordering::Relaxed) > 0 {
            self.inner.spot.lost();
        }
        // After the snapshot was read: records that say otherwise since then follow.
        let complete = is_complete(&*self.inner.engine, &self.inner.described, self.shard).await?;
        {
            let mut replica = self.copy().write();
            replica.replace(Some(filter), at);
            self.copy().note_complete(&mut replica, complete);
        }
        self.catch_up().await
    }

    /// Applies what others have appended, and acknowledges it.
    pub(super) async fn follow(&mut self) -> Result<(), Trouble> {
        let before = self.at();
        self.catch_up().await?;
        let at = self.at();
        if self.inner.described.exact && at != before {
            self.copy().acknowledge(at.position);
        }
        Ok(())
    }

    /// A renewal was answered that was sent when the copy had the position `before`.
    pub(super) async fn renewed(&mut self, sent: Moment, before: u64, renewed: Option<Renewed>) -> Result<(), Trouble> {
        let Some(Renewed { head, outbox_is_empty }) = renewed else { return Err(Trouble::Lost) };
        if self.at().position < head.position {
            self.follow().await?;
        }
        let mut replica = self.inner.copies[self.shard.0 as usize].write();
        match replica.at() {
            // Later records may have been applied since, but those from before were there.
            at if head.position >= before && (at == head || at.position > head.position) => {}
            // The engine has lost records, or has others in their place.
            _ => {
                replica.distrust();
                return Err(Trouble::Lost);
            }
        }
        // A guard that is being closed has stopped answering: nobody waits for it any more.
        if outbox_is_empty && !self.inner.is_closed() {
            replica.refresh(sent);
        }
        Ok(())
    }

    /// Applies all records that the log has after this copy's position.
    pub(super) async fn catch_up(&mut self) -> Result<(), Trouble> {
        loop {
            let (records, is_last) = self.source().records(self.at()).await?;
            for logged in records {
                self.apply(logged).await?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    async fn apply(&mut self, logged: Logged) -> Result<(), Trouble> {
        let Record { digest, what, complete, announced, plans } = loading::next(&logged, self.at())?;
        self.log_bytes += logged.record.len() as u64;
        add(&self.inner.counters.applied, 1);
        self.watches.announced(&announced, None);
        match what {
            What::Change => self.apply_plans(plans, logged.at)?,
            What::Grow { member } => {
                if member != self.copy().member() {
                    let patience = with_drift(self.inner.time()) * 10;
                    self.growth_elsewhere = Some((member, self.inner.now().after(patience)));
                    self.growing = None;
                }
                self.copy().write().applied(logged.at);
            }
            What::Switch { to } => self.switch(&to, plans, logged.at).await?,
        }
        self.note_complete(complete);
        match digest {
            Some(digest) if self.digest() != Some(digest) => self.differs(),
            _ => Ok(()),
        }
    }

    /// A record may say whether the set has every row's key.
    pub(super) fn note_complete(&mut self, complete: Option<bool>) {
        let Some(complete) = complete else { return };
        let copy = self.copy();
        copy.note_complete(&mut copy.write(), complete);
        if !complete {
            self.watches.doubt();
        }
    }

    /// The bits of this copy are not those of the others. It joins anew.
    fn differs(&self) -> Result<(), Trouble> {
        add(&self.inner.counters.diverged, 1);
        self.copy().write().replace(None, Head::default());
        Err(Trouble::Lost)
    }

    pub(super) fn digest(&self) -> Option<u64> {
        let replica = self.copy().read();
        let filter = replica.filter()?;
        Some(tokio::task::block_in_place(|| record::save(filter).1))
    }

    /// Applies the plans of a record, all before anybody looks.
    fn apply_plans(&mut self, plans: Vec<Plan>, at: Head) -> Result<(), Trouble> {
        let leaves = |write: &Write| matches!(write, Write::Remove { .. });
        if self.inner.described.beside && plans.iter().any(|plan| plan.writes().iter().any(leaves)) {
            let keys = plans.iter().flat_map(|plan| plan.writes()).filter_map(|write| match write {
                Write::Remove { key, .. } => Some(&**key),
                _ => None,
            });
            self.inner.spot.leaving(keys);
        }
        let mut replica = self.inner.copies[self.shard.0 as usize].write();
        for plan in plans {
            for write in plan.writes() {
                let (comes, key) = match write {
                    Write::Add { key, .. } => (true, key),
                    Write::Remove { key, .. } => (false, key),
                    _ => continue,
                };
                if comes {
                    replica.announced(key);
                }
                if let Some(growing) = &mut self.growing {
                    growing.queue.push_back((comes, key.clone()));
                }
            }
            if replica.filter_mut().is_none_or(|filter| filter.apply(plan).is_err()) {
                drop(replica);
                return self.differs();
            }
        }
        replica.applied(at);
        Ok(())
    }

    /// Another table takes the place of the filter. Until it is loaded, look-ups ask the store, and everything can be acknowledged.
    async fn switch(&mut self, to: &Snapshot, plans: Vec<Plan>, at: Head) -> Result<(), Trouble> {
        self.growing = None;
        self.growth_elsewhere = None;
        self.copy().write().distrust();
        let head = self.inner.engine.head(self.shard).await?;
        self.copy().write().promise(head.position);
        self.copy().acknowledge(head.position);
        let filter = self.source().switched(to, plans).await?;
        self.copy().write().replace(Some(filter), at);
        self.log_bytes = 0;
        self.inner.renew_soon(self.shard);
        Ok(())
    }

    /// Saves the filter if much was appended since the newest snapshot, and cuts the log behind it. An error is no harm: the next member that
    /// appends tries again.
    pub(super) async fn save_if_due(&mut self) {
        let bits = self.copy().read().filter().map_or(0, |filter| filter.local_bits());
        if self.log_bytes < (bits / 4).max(LEAST_LOG) {
            return;
        }
        self.log_bytes = 0;
        let _ = self.save_copy().await;
    }

    async fn save_copy(&mut self) -> Result<(), EngineError> {
        let engine = Arc::clone(&self.inner.engine);
        if let Some(newest) = engine.newest(self.shard).await?
            && newest.at.position > self.saved
        {
            // Another member was due before.
            self.saved = newest.at.position;
            return Ok(());
        }
        let (bytes, snapshot) = {
            let replica = self.copy().read();
            let Some(filter) = replica.filter() else { return Ok(()) };
            let (bytes, digest) = tokio::task::block_in_place(|| record::save(filter));
            let len = bytes.len() as u64;
            (bytes, Snapshot { id: SnapshotId(random()), at: replica.at(), digest, bytes: len })
        };
        engine.save(self.shard, snapshot, &bytes).await?;
        self.saved = snapshot.at.position;
        let members = engine.members(self.shard).await?;
        let acknowledged = members.iter().map(|member| member.acknowledged).min().unwrap_or(0);
        engine.cut(self.shard, acknowledged.min(snapshot.at.position)).await
    }
}
