//! Announcements: opened, closed, settled, and in the way of removals.

use super::{NEAR, SHARDS, append, asked, done, ensure, equal, head, key, next, values};
use crate::engine::{Append, Appended, Engine, Open, Promise, Settle};
use crate::names::{Announcement, MemberId, Shard};

const SHARD: Shard = SHARDS[0];
const FIRST: Announcement = Announcement(NEAR[0]);
const SECOND: Announcement = Announcement(NEAR[1]);

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    opening(engine).await?;
    closing(engine).await?;
    settling(engine).await?;
    settling_two(engine).await
}

fn open(id: Announcement, keys: &[&[u8]]) -> Open {
    Open { id, member: MemberId(NEAR[1]), keys: keys.iter().map(|bytes| key(bytes)).collect() }
}

/// These are the open announcements.
async fn are(engine: &dyn Engine, when: &str, shard: Shard, wanted: &[Open]) -> Result<(), String> {
    let mut found = asked("open", engine.open(shard).await)?;
    found.sort_unstable_by_key(|open| open.id);
    equal(&format!("the announcements {when}"), &found[..], wanted)
}

async fn opening(engine: &dyn Engine) -> Result<(), String> {
    let (first, second) = (open(FIRST, &[b"", b"a\0", b"both"]), open(SECOND, &[b"both", b"\xFF", b"\xFF"]));
    let wanted = Append { open: vec![first.clone(), second.clone()], ..next(engine, SHARD).await? };
    done(engine, "an append that opens announcements", &wanted).await?;
    are(engine, "that were opened", SHARD, &[first, second]).await?;
    are(engine, "of the other shard", SHARDS[1], &[]).await?;
    let at = head(engine, SHARD).await?;
    let asks = Append {
        unopened: [&b"other"[..], b"a\0", b"both", b"\xFF"].map(key).to_vec(),
        values: vec![(key(b"busy"), Some(b"value".to_vec()))],
        ..next(engine, SHARD).await?
    };
    let busy = |keys: &[&[u8]]| Appended::Busy(keys.iter().map(|bytes| key(bytes)).collect());
    let wanted = busy(&[b"a\0", b"both", b"\xFF"]);
    equal("an append of keys that are announced", append(engine, &asks).await?, wanted)?;
    let closes = Append { close: vec![FIRST], ..asks };
    let wanted = busy(&[b"both", b"\xFF"]);
    equal("an append that closes one of two announcements", append(engine, &closes).await?, wanted)?;
    equal("the head after appends that were refused", head(engine, SHARD).await?, at)?;
    equal("a value of one", values(engine, SHARD, &[b"busy"]).await?, vec![None])?;
    ensure(asked("open", engine.open(SHARD).await)?.len() == 2, "an append that was refused closed an announcement")
}

async fn closing(engine: &dyn Engine) -> Result<(), String> {
    let at = head(engine, SHARD).await?;
    let wrong = Append {
        close: vec![FIRST, Announcement(NEAR[0] + 7)],
        values: vec![(key(b"closed"), Some(b"value".to_vec()))],
        ..next(engine, SHARD).await?
    };
    equal("an append that closes what is not open", append(engine, &wrong).await?, Appended::Closed)?;
    equal("the head after it", head(engine, SHARD).await?, at)?;
    equal("a value of it", values(engine, SHARD, &[b"closed"]).await?, vec![None])?;
    ensure(asked("open", engine.open(SHARD).await)?.len() == 2, "an append that was refused closed an announcement")?;
    let both = Append {
        close: vec![FIRST, SECOND],
        unopened: [&b""[..], b"both", b"\xFF"].map(key).to_vec(),
        ..next(engine, SHARD).await?
    };
    done(engine, "an append that closes all announcements of its keys", &both).await?;
    are(engine, "after all were closed", SHARD, &[]).await?;
    let again = Append { unopened: both.unopened, ..next(engine, SHARD).await? };
    done(engine, "an append of keys that are announced no more", &again).await?;
    let twice = Append { close: vec![FIRST], ..next(engine, SHARD).await? };
    equal("an append that closes an announcement again", append(engine, &twice).await?, Appended::Closed)
}

async fn settling(engine: &dyn Engine) -> Result<(), String> {
    let (first, second) = (open(FIRST, &[b"one", b"two"]), open(SECOND, &[b"two"]));
    let wanted = Append { open: vec![first, second.clone()], ..next(engine, SHARD).await? };
    done(engine, "an append that opens announcements", &wanted).await?;
    let value = |bytes: &[u8]| (SHARD, key(bytes), bytes.repeat(2));
    let settle = async |settle: Settle| asked("settle", engine.settle(&settle).await);
    let wrong = Settle { close: vec![(SHARD, FIRST), (SHARD, Announcement(3))], values: vec![value(b"one")] };
    ensure(!settle(wrong).await?, "values were settled though an announcement was not open")?;
    equal("a value that was not settled", values(engine, SHARD, &[b"one"]).await?, vec![None])?;
    ensure(asked("open", engine.open(SHARD).await)?.len() == 2, "a refused `settle` closed an announcement")?;
    let right = Settle { close: vec![(SHARD, FIRST)], values: vec![value(b"one"), value(b"two")] };
    let at = head(engine, SHARD).await?;
    ensure(settle(right.clone()).await?, "values whose announcement is open were not settled")?;
    let wanted = vec![Some(b"oneone".to_vec()), Some(b"twotwo".to_vec())];
    equal("values that were settled", values(engine, SHARD, &[b"one", b"two"]).await?, wanted)?;
    are(engine, "after one was settled", SHARD, &[second]).await?;
    equal("the head after values were settled", head(engine, SHARD).await?, at)?;
    ensure(!settle(right).await?, "values were settled twice")?;
    let asks = Append { unopened: vec![key(b"one"), key(b"two")], ..next(engine, SHARD).await? };
    let wanted = Appended::Busy(vec![key(b"two")]);
    equal("an append of keys of which one is still announced", append(engine, &asks).await?, wanted)?;
    let closes = Append { close: vec![SECOND], ..asks };
    done(engine, "an append that closes it", &closes).await.map(drop)
}

/// Values of two shards: all or nothing, unless the engine may lose what it has committed.
async fn settling_two(engine: &dyn Engine) -> Result<(), String> {
    let (here, there) = (Announcement(21), Announcement(22));
    // A key belongs to one shard.
    let own = |shard: Shard| if shard == SHARDS[0] { &b"settled"[..] } else { b"settled there" };
    for (shard, id) in SHARDS.into_iter().zip([here, there]) {
        let wanted = Append { open: vec![open(id, &[own(shard)])], ..next(engine, shard).await? };
        done(engine, "an append that opens an announcement", &wanted).await?;
    }
    let value = |shard| (shard, key(own(shard)), b"value".to_vec());
    let both = vec![value(SHARDS[0]), value(SHARDS[1])];
    let wrong = Settle { close: vec![(SHARDS[0], here), (SHARDS[1], Announcement(23))], values: both.clone() };
    ensure(!asked("settle", engine.settle(&wrong).await)?, "a shard was settled whose announcement is not open")?;
    let found = async |shard| values(engine, shard, &[own(shard)]).await;
    equal("a value whose announcement is not open", found(SHARDS[1]).await?, vec![None])?;
    if engine.promise() == Promise::Exact {
        equal("a value that was settled with one that was not", found(SHARDS[0]).await?, vec![None])?;
        are(engine, "after that", SHARDS[0], &[open(here, &[b"settled"])]).await?;
        let right = Settle { close: vec![(SHARDS[0], here), (SHARDS[1], there)], values: both };
        ensure(asked("settle", engine.settle(&right).await)?, "values of two shards were not settled")?;
        equal("a value of two", found(SHARDS[0]).await?, vec![Some(b"value".to_vec())])?;
    } else {
        let right = Settle { close: vec![(SHARDS[1], there)], values: both[1..].to_vec() };
        ensure(asked("settle", engine.settle(&right).await)?, "values of a shard were not settled")?;
        let rest: Vec<Announcement> = asked("open", engine.open(SHARDS[0]).await)?.iter().map(|open| open.id).collect();
        let wanted = Append { close: rest, ..next(engine, SHARDS[0]).await? };
        done(engine, "an append that closes the rest", &wanted).await?;
    }
    equal("a value of the second shard", found(SHARDS[1]).await?, vec![Some(b"value".to_vec())])?;
    are(engine, "after two shards were settled", SHARDS[1], &[]).await
}
