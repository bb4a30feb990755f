//! The keys that have a value, listed some at a time.

use super::{SHARDS, asked, done, ensure, equal, key, next};
use crate::engine::{Append, Engine, Open, Settle};
use crate::names::{Announcement, MemberId, Shard};
use std::collections::BTreeSet;
use twiceshy::remote::Key;

/// More keys than any list has here.
const MANY: usize = 100_000;

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    let before = list(engine, MANY).await?;
    // The second shard has few: the rest of a list comes from one shard.
    let (here, there) = (keys(0..3_000), keys(3_000..3_010));
    write(engine, SHARDS[0], &here, true).await?;
    write(engine, SHARDS[1], &there, true).await?;
    // A value that was there already.
    write(engine, SHARDS[1], &there, true).await?;
    let all: BTreeSet<Key> = before.iter().chain(&here).chain(&there).cloned().collect();
    let order = list(engine, MANY).await?;
    equal("the keys of values", order.iter().cloned().collect(), all.clone())?;
    for limit in [7, 1_000, usize::MAX] {
        equal(&format!("a list of keys, {limit} at a time"), list(engine, limit).await?, order.clone())?;
    }
    changing(engine, &order, &here).await?;
    write(engine, SHARDS[0], &here, false).await?;
    write(engine, SHARDS[1], &there, false).await?;
    equal("the keys of values after some were deleted", list(engine, 3).await?, before.clone())?;
    settling(engine, before).await
}

fn keys(numbers: std::ops::Range<u32>) -> Vec<Key> {
    // Their order is not that of the numbers.
    numbers.map(|number| key(format!("{:x}:{number}", number.wrapping_mul(0x9E37_79B1)).as_bytes())).collect()
}

/// Writes values, or deletes them.
async fn write(engine: &dyn Engine, shard: Shard, keys: &[Key], is_there: bool) -> Result<(), String> {
    let values = keys.iter().map(|key| (key.clone(), is_there.then(|| b"listed".to_vec()))).collect();
    let append = Append { values, ..next(engine, shard).await? };
    done(engine, "an append of values", &append).await.map(drop)
}

/// All keys of values, `limit` at a time.
async fn list(engine: &dyn Engine, limit: usize) -> Result<Vec<Key>, String> {
    let mut all: Vec<Key> = Vec::new();
    loop {
        let found = asked("keys_of_values", engine.keys_of_values(all.last(), limit).await)?;
        ensure(found.len() <= limit, format!("a list of at most {limit} keys has {}", found.len()))?;
        let is_last = found.len() < limit;
        all.extend(found);
        ensure(all.len() < MANY, "a list of keys does not end")?;
        if is_last {
            let distinct: BTreeSet<&Key> = all.iter().collect();
            ensure(distinct.len() == all.len(), "a key of a value is listed twice")?;
            let rest = asked("keys_of_values", engine.keys_of_values(all.last(), limit).await)?;
            ensure(all.is_empty() || rest.is_empty(), "a list goes on after it has ended")?;
            return Ok(all);
        }
    }
}

/// Keys come and go while others are listed.
async fn changing(engine: &dyn Engine, order: &[Key], own: &[Key]) -> Result<(), String> {
    let half = order.len() / 2;
    let after = &order[half - 1];
    let (coming, going) = (keys(4_000..4_100), [own[0].clone(), own[1].clone(), own[2].clone(), own[3].clone()]);
    write(engine, SHARDS[0], &coming, true).await?;
    write(engine, SHARDS[0], &going, false).await?;
    let found = asked("keys_of_values", engine.keys_of_values(Some(after), MANY).await)?;
    let stayed: Vec<Key> = found.into_iter().filter(|key| !coming.contains(key)).collect();
    let wanted: Vec<Key> = order[half..].iter().filter(|key| !going.contains(key)).cloned().collect();
    equal("the rest of a list while others come and go", stayed, wanted)?;
    // After a key that is gone.
    write(engine, SHARDS[0], &coming, false).await?;
    write(engine, SHARDS[0], &going, true).await?;
    write(engine, SHARDS[0], &own[4..5], false).await?;
    let found = asked("keys_of_values", engine.keys_of_values(Some(&own[4]), MANY).await)?;
    let wanted: Vec<Key> = order.iter().skip_while(|key| **key != own[4]).skip(1).cloned().collect();
    equal("a list after a key that is gone", found, wanted)
}

/// A value that is written when its announcement is closed.
async fn settling(engine: &dyn Engine, before: Vec<Key>) -> Result<(), String> {
    let (id, keys) = (Announcement(31), vec![key(b"listed after it was settled")]);
    let open = Open { id, member: MemberId(1), keys: keys.clone() };
    done(engine, "an append", &Append { open: vec![open], ..next(engine, SHARDS[0]).await? }).await?;
    equal("the keys of values while one is announced", list(engine, MANY).await?, before.clone())?;
    let values = vec![(SHARDS[0], keys[0].clone(), b"value".to_vec())];
    asked("settle", engine.settle(&Settle { close: vec![(SHARDS[0], id)], values }).await)?;
    let listed = list(engine, MANY).await?.contains(&keys[0]);
    ensure(listed, "a value that was settled is not listed")?;
    write(engine, SHARDS[0], &keys, false).await?;
    equal("the keys of values at last", list(engine, MANY).await?, before)
}
