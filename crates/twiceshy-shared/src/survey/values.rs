//! Compares the keys of the values with those of the index, while others may change both.
//!
//! The values cannot be read at one position of the log: an insertion writes them without a record. So what does not match is only suspected, and
//! looked at again, a few keys at a time, between two looks at an index that has not moved.

use super::checking::TRIES;
use crate::engine::{Engine, Span};
use crate::error::Error;
use crate::names::{Head, Shard};
use crate::set::Description;
use std::collections::{BTreeMap, HashSet};
use twiceshy::remote::{Key, Order};

/// How many keys are asked for at once.
const STEP: usize = 1_024;

/// What does not match.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) values: u64,
    /// Keys that have a value and are not in the index.
    pub(super) denied: Vec<Key>,
    /// Keys of the index without a value or an open announcement.
    pub(super) left_behind: u64,
}

/// Compares the values with the keys of the index.
pub(super) async fn compare(
    engine: &dyn Engine,
    described: &Description,
    index: &HashSet<Key>,
) -> Result<Found, Error> {
    let (mut found, mut valued) = (Found::default(), HashSet::new());
    let mut suspects: BTreeMap<Shard, Vec<Key>> = BTreeMap::new();
    let mut last: Option<Key> = None;
    loop {
        let keys = engine.keys_of_values(last.as_ref(), STEP).await?;
        found.values += keys.len() as u64;
        for key in &keys {
            match index.get(key) {
                Some(key) => drop(valued.insert(key)),
                None => suspects.entry(described.shard(key)).or_default().push(key.clone()),
            }
        }
        match keys.into_iter().next_back() {
            Some(key) => last = Some(key),
            None => break,
        }
    }
    for key in index.iter().filter(|key| !valued.contains(key)) {
        suspects.entry(described.shard(key)).or_default().push(key.clone());
    }
    for (shard, keys) in suspects {
        for keys in keys.chunks(STEP) {
            judge(engine, described, shard, keys, &mut found).await?;
        }
    }
    found.denied.sort_unstable();
    Ok(found)
}

/// Looks at suspected keys of a shard again, until nothing moves meanwhile.
async fn judge(
    engine: &dyn Engine,
    described: &Description,
    shard: Shard,
    keys: &[Key],
    found: &mut Found,
) -> Result<(), Error> {
    for _ in 0..TRIES {
        let (before, indexed) = indexed(engine, described, shard, keys).await?;
        // In this order: a row gets its value before it leaves the outbox's keys, and an announcement is closed together with its value.
        let open: HashSet<Key> = engine.open(shard).await?.into_iter().flat_map(|open| open.keys).collect();
        let asked: Vec<(Shard, Key)> = keys.iter().map(|key| (shard, key.clone())).collect();
        let values = engine.get(&asked).await?;
        let waiting: HashSet<Key> = engine.outbox(0, usize::MAX).await?.into_iter().map(|(_, key)| key).collect();
        if engine.head(shard).await? != before {
            continue;
        }
        for ((key, is_indexed), value) in keys.iter().zip(indexed).zip(values) {
            match (is_indexed, value) {
                (false, Some(_)) if !waiting.contains(key) => found.denied.push(key.clone()),
                (true, None) if !waiting.contains(key) && !open.contains(key) => found.left_behind += 1,
                _ => {}
            }
        }
        return Ok(());
    }
    Err(Error::Moving(TRIES))
}

/// `true` for each key that the index has, and the head that this belongs to.
async fn indexed(
    engine: &dyn Engine,
    described: &Description,
    shard: Shard,
    keys: &[Key],
) -> Result<(Head, Vec<bool>), Error> {
    let layout = described.empty_filter()?;
    let span = |key: &Key| {
        let (generation, words) = layout.entries(key);
        let word = words.as_slice().first().copied().unwrap_or_default();
        Span { generation, order: Order(0), first: word, last: word }
    };
    let spans: Vec<Span> = keys.iter().map(span).collect();
    let (head, found) = engine.candidates(shard, &spans).await?;
    Ok((head, keys.iter().zip(found).map(|(key, found)| found.contains(key)).collect()))
}
