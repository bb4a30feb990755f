//! Members: joining, renewing, acknowledging, striking, leaving.

use super::{NEAR, SHARDS, asked, done, ensure, equal, head, next, records};
use crate::engine::{Append, Engine, Member, Renewal, Renewed};
use crate::names::{Head, MemberId, Shard};

const SHARD: Shard = SHARDS[0];
const ANNE: MemberId = MemberId(NEAR[0]);
const BERT: MemberId = MemberId(NEAR[1]);
const NOBODY: MemberId = MemberId(77);

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    rooted(engine).await?;
    done(engine, "an append", &next(engine, SHARD).await?).await?;
    let joined = head(engine, SHARD).await?;
    asked("join", engine.join(SHARD, ANNE, NEAR[0]).await)?;
    asked("join", engine.join(SHARD, BERT, NEAR[1]).await)?;
    equal("the head after two have joined", head(engine, SHARD).await?, joined)?;
    let joined = joined.position;
    are(engine, "after two have joined", [(ANNE, 0, joined), (BERT, 0, joined)]).await?;
    equal("the members of the other shard", asked("members", engine.members(SHARDS[1]).await)?, Vec::new())?;
    renewing(engine, joined).await?;
    acknowledging(engine).await?;
    ending(engine).await
}

/// A shard without records takes the tag of those who join it.
async fn rooted(engine: &dyn Engine) -> Result<(), String> {
    for tag in NEAR {
        asked("join", engine.join(SHARD, ANNE, tag).await)?;
        let root = Head { position: 0, tag };
        equal("the head of a shard that was joined", head(engine, SHARD).await?, root)?;
        equal("its log", records(engine, "it", SHARD, root).await?, Vec::new())?;
    }
    equal("the head of the other shard", head(engine, SHARDS[1]).await?, Head::default())?;
    asked("leave", engine.leave(SHARD, ANNE).await)
}

/// These are the members, with how often they have renewed and what they have acknowledged.
async fn are<const N: usize>(engine: &dyn Engine, when: &str, wanted: [(MemberId, u64, u64); N]) -> Result<(), String> {
    let mut members = asked("members", engine.members(SHARD).await)?;
    members.sort_unstable_by_key(|member| member.id);
    let wanted = wanted.map(|(id, renewed, acknowledged)| Member { id, renewed, acknowledged });
    equal(&format!("the members {when}"), members, wanted.to_vec())
}

async fn renew(engine: &dyn Engine, member: MemberId, acknowledged: u64) -> Result<Option<Renewed>, String> {
    let renewal = Renewal { shard: SHARD, member, acknowledged };
    let elsewhere = Renewal { shard: SHARDS[1], ..renewal };
    match asked("renew", engine.renew(&[elsewhere, renewal]).await)?[..] {
        [None, answer] => Ok(answer),
        ref other => Err(format!("a renewal in a shard that was not joined, and one that was, gave {other:?}")),
    }
}

fn at(head: Head) -> Option<Renewed> {
    Some(Renewed { head, outbox_is_empty: true })
}

async fn renewing(engine: &dyn Engine, joined: u64) -> Result<(), String> {
    let first = head(engine, SHARD).await?;
    equal("the answer to a renewal", renew(engine, ANNE, 0).await?, at(first))?;
    are(engine, "after one renewal that acknowledges less", [(ANNE, 1, joined), (BERT, 0, joined)]).await?;
    let append = next(engine, SHARD).await?;
    done(engine, "an append", &append).await?;
    equal("the answer to a renewal after an append", renew(engine, ANNE, 0).await?, at(append.head()))?;
    are(engine, "after an append that nobody has acknowledged", [(ANNE, 2, joined), (BERT, 0, joined)]).await?;
    renew(engine, ANNE, joined + 1).await?;
    are(engine, "after one has acknowledged", [(ANNE, 3, joined + 1), (BERT, 0, joined)]).await?;
    renew(engine, BERT, u64::MAX).await?;
    are(engine, "after one has acknowledged everything", [(ANNE, 3, joined + 1), (BERT, 1, joined + 1)]).await?;
    equal("the renewal of a stranger", renew(engine, NOBODY, 0).await?, None)?;
    are(engine, "after a stranger's renewal", [(ANNE, 3, joined + 1), (BERT, 1, joined + 1)]).await
}

async fn acknowledging(engine: &dyn Engine) -> Result<(), String> {
    let before = head(engine, SHARD).await?.position;
    let append = next(engine, SHARD).await?;
    done(engine, "an append by a member", &Append { applied_by: Some(ANNE), ..append }).await?;
    are(engine, "after a member's append", [(ANNE, 3, before + 1), (BERT, 1, before)]).await?;
    let append = next(engine, SHARD).await?;
    done(engine, "an append by a stranger", &Append { applied_by: Some(NOBODY), ..append }).await?;
    let behind = [(ANNE, 3, before + 1), (BERT, 1, before)];
    are(engine, "after a stranger's append", behind).await?;
    asked("acknowledge", engine.acknowledge(SHARD, NOBODY, before).await)?;
    asked("acknowledge", engine.acknowledge(SHARD, BERT, 0).await)?;
    are(engine, "after acknowledgements that change nothing", behind).await?;
    asked("acknowledge", engine.acknowledge(SHARD, BERT, before + 1).await)?;
    are(engine, "after an acknowledgement", [(ANNE, 3, before + 1), (BERT, 1, before + 1)]).await?;
    asked("acknowledge", engine.acknowledge(SHARD, BERT, u64::MAX).await)?;
    are(engine, "after everything was acknowledged", [(ANNE, 3, before + 1), (BERT, 1, before + 2)]).await?;
    done(engine, "an append", &next(engine, SHARD).await?).await?;
    are(engine, "after an append that follows", [(ANNE, 3, before + 1), (BERT, 1, before + 2)]).await
}

async fn ending(engine: &dyn Engine) -> Result<(), String> {
    let strike = async |member, renewed| asked("strike", engine.strike(SHARD, member, renewed).await);
    for renewed in [0, 2, 4, u64::MAX] {
        ensure(!strike(ANNE, renewed).await?, format!("a member with 3 renewals was struck out for {renewed}"))?;
    }
    ensure(!strike(NOBODY, 0).await?, "a stranger was struck out")?;
    ensure(renew(engine, ANNE, 0).await?.is_some(), "a membership ended although nobody struck it out")?;
    ensure(strike(ANNE, 4).await?, "a silent member was not struck out")?;
    ensure(!strike(ANNE, 4).await?, "a member was struck out twice")?;
    asked("acknowledge", engine.acknowledge(SHARD, ANNE, 1).await)?;
    equal("the renewal of a member that was struck out", renew(engine, ANNE, 1).await?, None)?;
    asked("leave", engine.leave(SHARD, BERT).await)?;
    asked("leave", engine.leave(SHARD, BERT).await)?;
    equal("the renewal of a member that has left", renew(engine, BERT, 1).await?, None)?;
    are(engine, "after all have left", []).await?;
    asked("join", engine.join(SHARD, BERT, NEAR[1]).await)?;
    let position = head(engine, SHARD).await?.position;
    are(engine, "after one has joined again", [(BERT, 0, position)]).await?;
    asked("leave", engine.leave(SHARD, BERT).await)
}
