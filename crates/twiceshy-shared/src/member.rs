//! The tasks of a member: renewing its leases, hearing of new records, and clearing up after members that are gone.

use crate::clock::{Moment, nanos, with_drift};
use crate::desk::{Change, Changed, Request, What};
use crate::engine::{Engine, Member, Open, Renewal, Renewed};
use crate::error::Error;
use crate::inner::{Copy, Inner};
use crate::names::{MemberId, Shard};
use crate::outbox::Outbox;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};
use twiceshy::remote::Key;

/// A lease is renewed this often in its time.
const RENEWALS: u32 = 4;

/// How long a member waits for news before it asks.
const PATIENCE: Duration = Duration::from_secs(1);

/// Renews the leases of these shards with one request each time, until the guard is closed.
pub(crate) async fn renew(inner: Arc<Inner>, outbox: Arc<Outbox>, shards: Vec<Shard>) {
    let Some(first) = shards.first().copied() else { return };
    let period = inner.time() / RENEWALS;
    while !inner.is_closed() {
        let renewals = inner.renewals(&shards);
        if !renewals.is_empty() {
            let before: Vec<u64> = {
                let position = |of: &Renewal| inner.copy(of.shard).map_or(0, |copy| copy.read().at().position);
                renewals.iter().map(position).collect()
            };
            let sent = inner.now();
            let cleared = outbox.cleared(&inner).await;
            // After an error the memberships may still be there: only the leases end, and the next renewal tells more.
            let answers = inner.engine.renew(&renewals).await.unwrap_or_default();
            for ((renewal, at), renewed) in renewals.iter().zip(before).zip(&answers) {
                let mut renewed = *renewed;
                if let Some(renewed) = &mut renewed {
                    promise(&inner, renewal, renewed.head.position);
                    renewed.outbox_is_empty |= cleared.contains(&renewal.shard);
                }
                let member = renewal.member;
                let _ = inner.send(renewal.shard, Request::Renewed { member, sent, at, renewed });
            }
            let waits = |renewed: &Option<Renewed>| renewed.is_some_and(|renewed| !renewed.outbox_is_empty);
            outbox.note(answers.iter().any(waits));
        }
        let _ = timeout(period, inner.renewal_wanted(first).notified()).await;
    }
}

/// While a copy has no lease, nobody need wait for it: it promises to deny nothing up to this position before that is applied.
fn promise(inner: &Inner, renewal: &Renewal, position: u64) {
    let Some(copy) = inner.copy(renewal.shard) else { return };
    let nanos = inner.oldest;
    // Look-ups wait for those who wait to write, so this is asked first.
    if copy.member() == renewal.member && !copy.read().is_fresh(inner.now(), nanos) {
        let mut replica = copy.write();
        replica.expire(inner.now(), nanos);
        replica.promise(position);
    }
}

/// Tells the engine what was acknowledged last, as long as there is a guard.
pub(crate) async fn acknowledge(
    engine: Arc<dyn Engine>,
    shard: Shard,
    mut acknowledged: watch::Receiver<(MemberId, u64)>,
) {
    while acknowledged.changed().await.is_ok() {
        let (member, position) = *acknowledged.borrow_and_update();
        // The next renewal acknowledges it too.
        let _ = engine.acknowledge(shard, member, position).await;
    }
}

/// Wakes the desks of shards with new records, until the guard is closed.
pub(crate) async fn listen(inner: Arc<Inner>) {
    let mut last = Vec::new();
    while !inner.is_closed() {
        let known: Vec<(Shard, u64)> =
            inner.followed().map(|(shard, copy)| (shard, copy.read().at().position)).collect();
        match inner.engine.wait(&known, PATIENCE).await {
            Ok(shards) if shards.is_empty() => {}
            Ok(shards) => {
                let followed = |shard: Shard| Some((shard, inner.copy(shard).filter(|copy| copy.is_followed)?));
                for (shard, copy) in shards.into_iter().filter_map(followed) {
                    let _ = inner.send(shard, Request::Wake);
                    // An engine that is asked again before the desk has followed would name the same shard.
                    if known == last {
                        let _ = timeout(Duration::from_millis(5), copy.worked.notified()).await;
                    }
                }
                last = known;
            }
            Err(_) => sleep(PATIENCE / 10).await,
        }
    }
}

/// Strikes out silent members of these shards and closes what they have left open, until the guard is closed.
pub(crate) async fn tidy(inner: Arc<Inner>, shards: Vec<Shard>) {
    let mut seen = Seen::default();
    while !inner.is_closed() {
        sleep(inner.time() / 2).await;
        for shard in shards.iter().copied() {
            if tidy_shard(&inner, shard, &mut seen).await.is_err() {
                // While the engine does not answer, nobody can renew: silence counts from when it does again.
                seen.forget_all_but(shard, &[]);
            }
        }
    }
}

/// Since when each member has not renewed its leases.
#[derive(Debug, Default)]
struct Seen(HashMap<(Shard, MemberId), (u64, Moment)>);

impl Seen {
    /// How long a member has been silent on this process's clock.
    fn silence(&mut self, shard: Shard, member: &Member, now: Moment) -> Duration {
        let (renewed, since) = self.0.entry((shard, member.id)).or_insert((member.renewed, now));
        if *renewed != member.renewed {
            (*renewed, *since) = (member.renewed, now);
        }
        now.since(*since)
    }

    fn forget_all_but(&mut self, shard: Shard, members: &[Member]) {
        self.0.retain(|(of, id), _| *of != shard || members.iter().any(|member| member.id == *id));
    }
}

async fn tidy_shard(inner: &Inner, shard: Shard, seen: &mut Seen) -> Result<(), Error> {
    let mut members = inner.engine.members(shard).await?;
    // Read after the answer came: what it shows is older than this.
    let now = inner.now();
    seen.forget_all_but(shard, &members);
    let lease = with_drift(inner.time());
    let silent: Vec<Member> =
        members.iter().copied().filter(|member| seen.silence(shard, member, now) > lease).collect();
    for member in silent {
        if inner.engine.strike(shard, member.id, member.renewed).await? {
            members.retain(|other| other.id != member.id);
        }
    }
    if inner.described.exact && !inner.described.beside {
        close_dead(inner, shard, &members).await?;
    }
    Ok(())
}

/// Closes the announcements of members that are gone. Those whose key has no value leave the set.
async fn close_dead(inner: &Inner, shard: Shard, members: &[Member]) -> Result<(), Error> {
    let open = inner.engine.open(shard).await?;
    for open in open.into_iter().filter(|open| members.iter().all(|member| member.id != open.member)) {
        // The member may have joined after the members were read.
        let members = inner.engine.members(shard).await?;
        if members.iter().any(|member| member.id == open.member) {
            continue;
        }
        close_announcement(inner, shard, open).await?;
    }
    Ok(())
}

/// Closes an announcement. Its keys leave the set, but for those that have a value or are announced by others.
pub(crate) async fn close_announcement(inner: &Inner, shard: Shard, open: Open) -> Result<(), Error> {
    let stored = stored(inner, shard, &open.keys).await?;
    match change(inner, shard, What::Close { open, stored }).await {
        // Somebody else has closed it.
        Err(Error::Overtaken) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Those of the keys that have a value.
pub(crate) async fn stored(inner: &Inner, shard: Shard, keys: &[Key]) -> Result<HashSet<Key>, Error> {
    let asked: Vec<(Shard, Key)> = keys.iter().map(|key| (shard, key.clone())).collect();
    let values = inner.get(&asked).await?;
    Ok(keys.iter().zip(values).filter(|(_, value)| value.is_some()).map(|(key, _)| key.clone()).collect())
}

/// Has a shard's desk make a change.
pub(crate) async fn change(inner: &Inner, shard: Shard, what: What) -> Result<Changed, Error> {
    let (reply, answer) = oneshot::channel();
    inner.send(shard, Request::Change(Change { what, reply }))?;
    answer.await.unwrap_or_else(|_| Err(inner.ended()))
}

/// The shortest and the longest pause between two looks at what the members have acknowledged.
const LOOK: Duration = Duration::from_micros(150);
const LONGEST_LOOK: Duration = Duration::from_millis(20);

/// Waits until every member knows of a position, or has no lease from before it.
pub(crate) async fn wait_for_members(inner: &Inner, shard: Shard, changed: &Changed) {
    let until = changed.returned.after(with_drift(inner.time()));
    // To look before they can have answered takes the processor from them, if they are on this machine.
    // Its desk has made the change.
    let Some(Copy { usual_wait: usual, .. }) = inner.copy(shard) else { return };
    let waited = |changed: &Changed| inner.now().since(changed.returned);
    let first = Duration::from_nanos(usual.load(Ordering::Relaxed)).saturating_sub(waited(changed));
    pause(first.min(Duration::from_millis(3)) / 2).await;
    let mut seen: Option<(Moment, Vec<Member>)> = None;
    while inner.now() < until {
        if let Ok(members) = inner.engine.members(shard).await {
            let lags = |member: &Member| member.acknowledged < changed.at.position;
            let late: Vec<Member> = members.into_iter().filter(lags).collect();
            if late.is_empty() {
                let (before, now) = (usual.load(Ordering::Relaxed), nanos(waited(changed)));
                usual.store(before - before / 8 + now / 8, Ordering::Relaxed);
                return;
            }
            // The clock is read after the answer came: what it shows is older than this.
            seen.get_or_insert((inner.now(), late));
        }
        // An eighth of the time that has passed is lost at most.
        pause((waited(changed) / 8).clamp(LOOK, LONGEST_LOOK)).await;
    }
    if let Some((since, silent)) = seen {
        // A program that ends before it tidies would leave them to the next one, which would wait as long.
        let _ = strike_silent(inner, shard, since, &silent).await;
    }
}

/// Strikes out those of these members who have not renewed their leases since they were seen at this moment, and leaves the others.
async fn strike_silent(inner: &Inner, shard: Shard, since: Moment, silent: &[Member]) -> Result<(), Error> {
    let lease = with_drift(inner.time());
    pause(lease.saturating_sub(inner.now().since(since)) + LOOK).await;
    if inner.now().since(since) > lease {
        for member in silent {
            inner.engine.strike(shard, member.id, member.renewed).await?;
        }
    }
    Ok(())
}

/// A pause that may be shorter than the millisecond that the runtime's clock counts in.
async fn pause(time: Duration) {
    if time >= Duration::from_millis(2) {
        sleep(time).await;
    } else {
        let _ = tokio::task::spawn_blocking(move || std::thread::sleep(time)).await;
    }
}
