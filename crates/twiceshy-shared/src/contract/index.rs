//! The index: its entries, parts of it, and walks.

use super::{SHARDS, asked, done, ensure, entry, equal, head, key, next};
use crate::engine::{Append, Engine, Entry, Span};
use crate::names::Shard;
use twiceshy::remote::{Generation, Key, Order, Position};

const SHARD: Shard = SHARDS[0];
const MIDDLE: u64 = i64::MAX as u64;

/// The keys in the order of a walk, with their words.
const KEYS: [(&[u8], [u64; 3]); 11] = [
    (b"zero", [0, u64::MAX, 5]),
    (b"one", [1, u64::MAX - 1, 5]),
    (b"", [500, 7, 5]),
    (b"\0", [500, 7, 6]),
    (b"\0\0", [500, 8, 6]),
    (b"\0\xFF", [500, MIDDLE, 6]),
    (b"\xFF", [500, MIDDLE + 1, 6]),
    (b"\xFF\xFF\xFF", [500, 0, 6]),
    (b"middle", [MIDDLE, 1, 6]),
    (b"above", [MIDDLE + 1, 2, 6]),
    (b"last", [u64::MAX, 3, 6]),
];

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    let entries: Vec<Entry> = KEYS.iter().map(|(bytes, words)| entry(3, bytes, words)).collect();
    // In neighbouring generations, and in another shard.
    let others = [entry(2, b"other", &[500; 3]), entry(4, b"other", &[0; 3]), entry(0x0100_0000, b"other", &[0; 3])];
    let add = entries.iter().chain(&others).cloned().collect();
    done(engine, "an append that adds to the index", &Append { add, ..next(engine, SHARD).await? }).await?;
    let elsewhere = Append { add: vec![entry(3, b"elsewhere", &[500; 3])], ..next(engine, SHARDS[1]).await? };
    done(engine, "an append to the other shard", &elsewhere).await?;
    spans(engine, &KEYS).await?;
    walks(engine, &KEYS).await?;
    changing(engine, &entries).await?;
    longest(engine).await
}

fn span(order: u8, first: u64, last: u64) -> Span {
    Span { generation: Generation(3), order: Order(order), first, last }
}

/// Every part between two of the words that are there or next to them has the keys that it should have.
async fn spans(engine: &dyn Engine, keys: &[(&[u8], [u64; 3])]) -> Result<(), String> {
    let bounds = [0, 1, 2, 7, 499, 500, 501, MIDDLE - 1, MIDDLE, MIDDLE + 1, MIDDLE + 2, u64::MAX - 1, u64::MAX];
    let mut spans = vec![span(3, 0, u64::MAX)];
    for order in 0..3 {
        let pairs = bounds.iter().enumerate().flat_map(|(at, first)| bounds[at..].iter().map(|last| (*first, *last)));
        spans.extend(pairs.map(|(first, last)| span(order, first, last)));
    }
    let (at, found) = asked("candidates", engine.candidates(SHARD, &spans).await)?;
    equal("the head of parts of the index", at, head(engine, SHARD).await?)?;
    equal("the number of parts", found.len(), spans.len())?;
    for (span, mut found) in spans.iter().zip(found) {
        let is_in = |words: &[u64; 3]| {
            words.get(usize::from(span.order.0)).is_some_and(|word| (span.first..=span.last).contains(word))
        };
        let mut wanted: Vec<Key> = keys.iter().filter(|(_, words)| is_in(words)).map(|(bytes, _)| key(bytes)).collect();
        wanted.sort_unstable();
        found.sort_unstable();
        equal(&format!("the keys of {span:?}"), found, wanted)?;
    }
    Ok(())
}

async fn walks(engine: &dyn Engine, keys: &[(&[u8], [u64; 3])]) -> Result<(), String> {
    let wanted: Vec<Position> =
        keys.iter().map(|(bytes, words)| Position { word: words[0], key: key(bytes) }).collect();
    for limit in [1, 2, 5, keys.len(), keys.len() + 1, 100_000] {
        let (mut walked, mut after) = (Vec::new(), None::<Position>);
        loop {
            let (at, found) = asked("walk", engine.walk(SHARD, Generation(3), after.as_ref(), limit).await)?;
            equal("the head of a walk", at, head(engine, SHARD).await?)?;
            ensure(found.len() <= limit, format!("a walk with a limit of {limit} gave {} keys", found.len()))?;
            let Some(last) = found.last() else { break };
            after = Some(last.clone());
            walked.extend(found);
            ensure(walked.len() <= keys.len(), format!("a walk with a limit of {limit} does not end"))?;
        }
        equal(&format!("a walk with a limit of {limit}"), &walked, &wanted)?;
    }
    // After a position that is not there.
    let after = Position { word: 500, key: key(b"\0a") };
    let (_, found) = asked("walk", engine.walk(SHARD, Generation(3), Some(&after), 100).await)?;
    let wanted: Vec<Position> = wanted.into_iter().filter(|position| *position > after).collect();
    equal("a walk after a key that is not there", found, wanted)?;
    let (_, found) = asked("walk", engine.walk(SHARD, Generation(7), None, 100).await)?;
    equal("a walk of another generation", found, Vec::new())
}

async fn changing(engine: &dyn Engine, entries: &[Entry]) -> Result<(), String> {
    let (gone, rest) = (&entries[3..6], [&KEYS[..3], &KEYS[6..]].concat());
    let absent = entry(3, b"never there", &[500; 3]);
    let remove = gone.iter().chain([&absent]).cloned().collect();
    // What is there already is added once more.
    let change = Append { remove, add: vec![entries[0].clone()], ..next(engine, SHARD).await? };
    done(engine, "an append that removes from the index", &change).await?;
    spans(engine, &rest).await?;
    walks(engine, &rest).await?;
    let back = Append { add: gone.to_vec(), ..next(engine, SHARD).await? };
    done(engine, "an append that adds again", &back).await?;
    spans(engine, &KEYS).await?;
    let all = Append { remove: entries.to_vec(), ..next(engine, SHARD).await? };
    done(engine, "an append that removes all", &all).await?;
    spans(engine, &[]).await?;
    for (generation, count) in [(2, 1), (3, 0), (4, 1), (0x0100_0000, 1)] {
        let (_, found) = asked("walk", engine.walk(SHARD, Generation(generation), None, 100).await)?;
        equal(&format!("the number of keys of generation {generation}"), found.len(), count)?;
    }
    Ok(())
}

/// Two keys of the greatest length that differ in the last byte.
async fn longest(engine: &dyn Engine) -> Result<(), String> {
    let mut long = vec![0xA5; engine.longest_key().min(100_000)];
    let first = entry(3, &long, &[MIDDLE]);
    if let Some(last) = long.last_mut() {
        *last += 1;
    }
    let second = entry(3, &long, &[MIDDLE]);
    let add = vec![second.clone(), first.clone()];
    done(engine, "an append of the longest keys", &Append { add, ..next(engine, SHARD).await? }).await?;
    let (_, found) = asked("candidates", engine.candidates(SHARD, &[span(0, MIDDLE, MIDDLE)]).await)?;
    ensure(found.concat().len() == 2, "two of the longest keys are not both in the index")?;
    let (_, found) = asked("walk", engine.walk(SHARD, Generation(3), None, 10).await)?;
    ensure(found.len() == 2 && found[0].key == first.key, "the longest keys are not in order")?;
    let after = Some(&found[0]);
    let (_, found) = asked("walk", engine.walk(SHARD, Generation(3), after, 10).await)?;
    ensure(found.len() == 1 && found[0].key == second.key, "a walk does not go on after one of the longest keys")?;
    let remove = vec![first, second];
    done(engine, "an append that removes them", &Append { remove, ..next(engine, SHARD).await? }).await.map(drop)
}
