//! Rows that the filter denies: found by a check of an absent answer, or met without the guard.

use crate::background;
use crate::desk::{Change, Changed, Request, What};
use crate::error::Error;
use crate::guard::Shared;
use crate::inner::Inner;
use crate::member::change;
use crate::names::Shard;
use crate::replica::Said;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::sleep;
use twiceshy::AsKey;
use twiceshy::remote::Key;
use twiceshy::spot_check::Verdict;

/// How long it waits before it tells the engine again.
const PAUSE: Duration = Duration::from_millis(500);

impl Shared {
    /// `true` if absent keys are turned away: the set has the key of every row. Where rows are elsewhere, a [`Shared::resync`] has ended
    /// once, and no process has found a row since that the filter denied.
    pub fn is_complete(&self) -> bool {
        self.inner().followed().all(|(_, copy)| copy.read().is_complete())
    }

    /// Has this called when this process has found a row that the filter denied: somebody writes rows past all guards. From then on all
    /// processes load all keys, also after they are opened again, until a [`Shared::resync`] has ended. So start one, in a task of its
    /// own: this is called by the look-up that has found the row, or a thread of the guard. It is also called at the end of a resync that is
    /// not enough, with the set still incomplete.
    pub fn on_drift(&self, call: impl Fn() + Send + Sync + 'static) {
        self.inner().watch.on_drift(Arc::new(call));
    }

    /// Shows the guard the key of a row that you have met without it, in a list or a join: some 50 ns, and no network. `false` if the guard
    /// would have denied the row: then it has raised the alarm, as a [check](crate::Opening::spot_check) would have. In a set of level
    /// [`Within`](crate::Level::Within) that is known only after its time, so this is always `true` there.
    ///
    /// Call it within ten seconds of reading the row. One that was deleted under a ticket before looks like one that is denied.
    pub fn seen<K: AsKey + ?Sized>(&self, key: &K) -> bool {
        let (inner, key) = (self.inner(), key.as_key());
        let key = key.as_ref();
        if inner.peek(key) != Said::Absent || !inner.described.beside {
            inner.spot.saw(Verdict::Fine);
            return true;
        }
        if !inner.described.exact {
            let since = inner.spot.lately();
            judge_later(inner, key, since, |inner, verdict| inner.spot.saw(verdict));
            return true;
        }
        let verdict = if inner.spot.has_left(key, inner.spot.lately()) { Verdict::Moving } else { Verdict::Denied };
        inner.spot.saw(verdict);
        alarm_if(inner, verdict);
        verdict != Verdict::Denied
    }

    /// The check of an absent answer has ended, which was given at this moment of the spot check's clock.
    pub(crate) fn checked(&self, key: &[u8], since: Duration, found: bool) {
        let inner = self.inner();
        if found && !inner.described.exact {
            return judge_later(inner, key, since, |inner, verdict| inner.spot.checked(verdict));
        }
        let verdict = if found { judge(inner, key, since) } else { Verdict::Fine };
        inner.spot.checked(verdict);
        alarm_if(inner, verdict);
    }
}

/// A row was found that the filter had denied. A copy that may be believed now has every key that was announced before the row was written. So if it
/// has not this one, the key was there and has left, or never was.
fn judge(inner: &Inner, key: &[u8], since: Duration) -> Verdict {
    match inner.peek(key) {
        // A loader may read a snapshot that is older than the answer.
        Said::Absent if inner.spot.has_left(key, since.min(inner.spot.lately())) => Verdict::Moving,
        Said::Absent => Verdict::Denied,
        // Another one has raised the alarm meanwhile. A copy that is being loaded anew says nothing about the row.
        Said::Unknown if is_doubted(inner, inner.described.shard(key)) => Verdict::Denied,
        Said::Passed | Said::Unknown => Verdict::Moving,
    }
}

/// `true` if a shard's copy is known to lack keys.
fn is_doubted(inner: &Inner, shard: Shard) -> bool {
    inner.copy(shard).is_some_and(|copy| copy.read().is_doubted())
}

/// [`judge`] for a set whose copies may lack what was announced lately: waits until they have it.
fn judge_later(inner: &Arc<Inner>, key: &[u8], since: Duration, count: fn(&Inner, Verdict)) {
    let (inner, key, read) = (Arc::clone(inner), Key::from(key), inner.now());
    let judged = async move {
        while inner.now().since(read) < inner.time() {
            sleep(inner.time() - inner.now().since(read)).await;
        }
        let verdict = judge(&inner, &key, since);
        count(&inner, verdict);
        alarm_if(&inner, verdict);
    };
    // Without a thread there is no guard.
    drop(background::handle().map(|handle| handle.spawn(judged)));
}

/// From now on all processes load all keys, if the filter has denied a row.
fn alarm_if(inner: &Arc<Inner>, verdict: Verdict) {
    if verdict != Verdict::Denied {
        return;
    }
    // Before the engine knows of it.
    let doubted: Vec<Shard> = inner.followed().filter(|(_, copy)| copy.alarm()).map(|(shard, _)| shard).collect();
    if doubted.is_empty() {
        return;
    }
    let checks = inner.spot.counts().checks;
    if inner.spot.alarm() {
        inner.watch.denied(checks);
    }
    for shard in doubted {
        let (reply, answer) = oneshot::channel();
        // Now, so that a resync that is begun next comes after it.
        let sent = inner.send(shard, Request::Change(Change { what: What::Doubt, reply }));
        let told = tell(Arc::clone(inner), shard, answer);
        drop(sent.and_then(|()| background::handle().map(|handle| handle.spawn(told))));
    }
    inner.watch.has_drifted();
}

/// Has the engine know that a shard may lack keys, for the other processes and those that are opened later. If it does not answer, it is told again;
/// no resync counts before it knows.
async fn tell(inner: Arc<Inner>, shard: Shard, answer: oneshot::Receiver<Result<Changed, Error>>) {
    let mut told = answer.await.unwrap_or(Err(Error::Closed));
    let is_untold = || inner.copy(shard).is_some_and(|copy| copy.untold.load(Ordering::Acquire));
    while told.is_err() && !inner.is_closed() && is_untold() {
        sleep(PAUSE).await;
        told = change(&inner, shard, What::Doubt).await;
    }
}
