//! Saved filters.

use super::{NEAR, SHARDS, asked, done, ensure, equal, head, next};
use crate::engine::{Engine, Snapshot};
use crate::names::{Head, Shard, SnapshotId};

const SHARD: Shard = SHARDS[0];

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    let sizes = [0, 1, 3 << 20, (1 << 20) + 17];
    let mut saved: Vec<(Snapshot, Vec<u8>)> = Vec::new();
    for (size, id) in sizes.into_iter().zip([NEAR[0], NEAR[1], 3, 4]) {
        done(engine, "an append", &next(engine, SHARD).await?).await?;
        let bytes: Vec<u8> = (0..size).map(|at: usize| (at % 253) as u8 ^ (at >> 16) as u8).collect();
        let snapshot = Snapshot {
            id: SnapshotId(id),
            at: head(engine, SHARD).await?,
            digest: u64::MAX - id,
            bytes: bytes.len() as u64,
        };
        saved.push((snapshot, bytes));
    }
    // The last one is not the newest.
    for (at, newest) in [(0, 0), (2, 2), (1, 2), (3, 3)] {
        let (snapshot, bytes) = &saved[at];
        asked("save", engine.save(SHARD, *snapshot, bytes).await)?;
        equal("the newest snapshot", asked("newest", engine.newest(SHARD).await)?, Some(saved[newest].0))?;
        loads(engine, snapshot, Some(bytes)).await?;
    }
    for (snapshot, bytes) in &saved {
        loads(engine, snapshot, Some(bytes)).await?;
    }
    loads(engine, &Snapshot { id: SnapshotId(999), ..saved[0].0 }, None).await?;
    equal("the newest snapshot of the other shard", asked("newest", engine.newest(SHARDS[1]).await)?, None)?;
    let elsewhere = asked("load", engine.load(SHARDS[1], saved[1].0.id).await)?;
    equal("a snapshot of one shard, asked of the other", elsewhere, None)?;
    strays(engine, saved[3].0).await?;
    cutting(engine, &saved).await
}

/// Snapshots of records that the log does not have: they can be loaded, but are not the newest.
async fn strays(engine: &dyn Engine, newest: Snapshot) -> Result<(), String> {
    let beyond = Head { position: newest.at.position + 1_000, tag: 5 };
    let other = Head { tag: newest.at.tag ^ 1, ..newest.at };
    for (id, at) in [(5, other), (6, beyond)] {
        let stray = Snapshot { id: SnapshotId(id), at, digest: 1, bytes: 2 };
        asked("save", engine.save(SHARD, stray, &[1, 2]).await)?;
        loads(engine, &stray, Some(&vec![1, 2])).await?;
        let found = asked("newest", engine.newest(SHARD).await)?;
        equal("the newest snapshot beside one of a record that the log does not have", found, Some(newest))?;
    }
    Ok(())
}

async fn loads(engine: &dyn Engine, snapshot: &Snapshot, wanted: Option<&Vec<u8>>) -> Result<(), String> {
    let found = asked("load", engine.load(SHARD, snapshot.id).await)?;
    ensure(found.as_ref() == wanted, format!("{snapshot:?} is not loaded as it was saved"))
}

async fn cutting(engine: &dyn Engine, saved: &[(Snapshot, Vec<u8>)]) -> Result<(), String> {
    let cut = saved[2].0.at;
    asked("cut", engine.cut(SHARD, cut.position).await)?;
    for (at, (snapshot, bytes)) in saved.iter().enumerate() {
        loads(engine, snapshot, (at >= 2).then_some(bytes)).await?;
    }
    equal("the newest snapshot after a cut", asked("newest", engine.newest(SHARD).await)?, Some(saved[3].0))?;
    let after = super::records(engine, "the log after a snapshot that was kept", SHARD, cut).await?;
    equal("its records", after.first().map(|logged| logged.at), Some(saved[3].0.at))?;
    let last: Head = saved[3].0.at;
    asked("cut", engine.cut(SHARD, last.position).await)?;
    equal("the newest snapshot after all was cut", asked("newest", engine.newest(SHARD).await)?, Some(saved[3].0))?;
    loads(engine, &saved[3].0, Some(&saved[3].1)).await?;
    // One of a later position is kept until that is cut.
    let stray = Snapshot { id: SnapshotId(6), ..saved[3].0 };
    loads(engine, &stray, Some(&vec![1, 2])).await?;
    asked("cut", engine.cut(SHARD, last.position + 1_001).await)?;
    loads(engine, &stray, None).await
}
