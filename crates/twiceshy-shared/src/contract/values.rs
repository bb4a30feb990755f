//! Values: written and deleted with records, and read.

use super::{SHARDS, append, done, ensure, equal, head, key, next, values};
use crate::engine::{Append, Appended, Engine};
use crate::names::Shard;
use twiceshy::remote::Key;

const SHARD: Shard = SHARDS[0];

/// Keys that a careless engine mistakes for others.
const KEYS: [&[u8]; 7] = [b"", b"\0", b"\0\0", b"a", b"a\0b", b"\xFF\xFF", b"line\r\nbreak {and} 'more'"];

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    writing(engine).await?;
    repeating(engine).await?;
    refusing(engine).await?;
    batch(engine).await
}

fn put(bytes: &[u8], value: &[u8]) -> (Key, Option<Vec<u8>>) {
    (key(bytes), Some(value.to_vec()))
}

async fn writing(engine: &dyn Engine) -> Result<(), String> {
    let large: Vec<u8> = (0..1u32 << 20).map(|at| (at % 251) as u8).collect();
    let mut written: Vec<(&[u8], Vec<u8>)> = KEYS.iter().map(|key| (*key, key.repeat(3))).collect();
    written[3].1 = large;
    let append = Append {
        values: written.iter().map(|(bytes, value)| put(bytes, value)).collect(),
        ..next(engine, SHARD).await?
    };
    equal("the deleted keys of an append that writes", done(engine, "an append", &append).await?, Vec::new())?;
    let wanted: Vec<Option<Vec<u8>>> = written.iter().map(|(_, value)| Some(value.clone())).collect();
    equal("the values", values(engine, SHARD, &KEYS).await?, wanted.clone())?;
    let mixed =
        [(SHARDS[1], key(b"absent there")), (SHARD, key(b"absent")), (SHARD, key(KEYS[1])), (SHARD, key(KEYS[1]))];
    let found = super::asked("get", engine.get(&mixed).await)?;
    equal("values of two shards, one key twice", found, vec![None, None, wanted[1].clone(), wanted[1].clone()])?;
    let append = Append {
        values: vec![(key(KEYS[0]), None), (key(b"absent"), None), put(KEYS[1], b"new"), (key(KEYS[4]), None)],
        ..next(engine, SHARD).await?
    };
    let deleted = done(engine, "an append that deletes", &append).await?;
    equal("the deleted keys, of which one had no value", deleted, vec![key(KEYS[0]), key(KEYS[4])])?;
    let mut after = wanted;
    (after[0], after[1], after[4]) = (None, Some(b"new".to_vec()), None);
    equal("the values after some were deleted", values(engine, SHARD, &KEYS).await?, after)
}

/// One key several times: the last one counts.
async fn repeating(engine: &dyn Engine) -> Result<(), String> {
    let append = Append {
        values: vec![put(b"twice", b"1"), put(b"twice", b"2"), put(b"gone", b"1"), (key(b"gone"), None)],
        ..next(engine, SHARD).await?
    };
    let deleted = done(engine, "an append that names keys twice", &append).await?;
    equal("the deleted keys of it", deleted, vec![key(b"gone")])?;
    let found = values(engine, SHARD, &[b"twice", b"gone"]).await?;
    equal("the values of keys that were named twice", found, vec![Some(b"2".to_vec()), None])
}

/// Keys that must have no value.
async fn refusing(engine: &dyn Engine) -> Result<(), String> {
    let at = head(engine, SHARD).await?;
    let wanted = Append {
        rowless: vec![key(b"absent"), key(KEYS[1])],
        values: vec![(key(KEYS[2]), None), put(b"absent", b"value")],
        ..next(engine, SHARD).await?
    };
    let answer = append(engine, &wanted).await?;
    equal("an append that forbids a value that is there", answer, Appended::Busy(vec![key(KEYS[1])]))?;
    equal("the head after it", head(engine, SHARD).await?, at)?;
    let found = values(engine, SHARD, &[KEYS[2], b"absent"]).await?;
    ensure(found == [Some(KEYS[2].repeat(3)), None], "an append that was refused has changed values")?;
    let wanted = Append { rowless: vec![key(b"absent"), key(b"other")], ..wanted };
    equal("the deleted keys", done(engine, "an append that forbids other values", &wanted).await?, vec![key(KEYS[2])])
}

/// As many keys as a guard puts into one record.
async fn batch(engine: &dyn Engine) -> Result<(), String> {
    let keys: Vec<[u8; 4]> = (0..4_096u32).map(u32::to_be_bytes).collect();
    let append = Append {
        values: keys.iter().map(|key| put(key, &key.repeat(256))).collect(),
        add: keys.iter().map(|key| super::entry(9, key, &[7, 8])).collect(),
        ..next(engine, SHARD).await?
    };
    done(engine, "an append of 4,096 values of 1 KiB", &append).await?;
    let asked: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    let found = values(engine, SHARD, &asked).await?;
    let same = keys.iter().zip(&found).all(|(key, value)| value.as_deref() == Some(&key.repeat(256)));
    ensure(found.len() == keys.len() && same, "not all of 4,096 values of 1 KiB are there")?;
    let append = Append {
        values: keys.iter().map(|bytes| (key(bytes), None)).collect(),
        remove: append.add,
        ..next(engine, SHARD).await?
    };
    equal("how many of 4,096 values were deleted", done(engine, "an append", &append).await?.len(), keys.len())
}
