//! All entries of a shard's index at one position of its log.

use crate::engine::Span;
use crate::error::Error;
use crate::loading::Source;
use crate::names::Head;
use std::collections::HashSet;
use twiceshy::filter::Backed;
use twiceshy::remote::{Key, Order, Position};

/// How many keys are asked for at once.
const STEP: usize = 1_024;

/// What the index holds.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) keys: Vec<Key>,
    /// Keys that have an entry with a wrong word, or lack one.
    pub(super) wrong: Vec<Key>,
    /// Entries that belong to none of the keys.
    pub(super) stray: u64,
}

/// Reads the index. `None` if the log has gone on.
pub(super) async fn walk(source: &Source<'_>, filter: &dyn Backed, at: Head) -> Result<Option<Walk>, Error> {
    let Some(entries) = first_order(source, filter, at).await? else { return Ok(None) };
    let mut keys: Vec<Key> = entries.iter().map(|entry| entry.key.clone()).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut wrong: HashSet<Key> = HashSet::new();
    for Position { word, key } in &entries {
        if filter.entries(key).1.as_slice().first() != Some(word) {
            wrong.insert(key.clone());
        }
    }
    let mut stray = 0;
    for order in (1..filter.layout().1.orders).map(Order) {
        let Some(missing) = lacking(source, filter, at, order, &keys).await? else { return Ok(None) };
        let Some(count) = count(source, filter, at, order, keys.len()).await? else { return Ok(None) };
        stray += count.saturating_sub((keys.len() - missing.len()) as u64);
        wrong.extend(missing);
    }
    let mut wrong: Vec<Key> = wrong.into_iter().collect();
    wrong.sort_unstable();
    Ok(Some(Walk { keys, wrong, stray }))
}

/// The entries of order 0, which every key has.
async fn first_order(source: &Source<'_>, filter: &dyn Backed, at: Head) -> Result<Option<Vec<Position>>, Error> {
    let generation = filter.layout().0;
    let mut all: Vec<Position> = Vec::new();
    loop {
        let (head, entries) = source.engine.walk(source.shard, generation, all.last(), STEP).await?;
        if head != at {
            return Ok(None);
        }
        let is_last = entries.is_empty();
        all.extend(entries);
        if is_last {
            return Ok(Some(all));
        }
    }
}

/// The keys that are not where they belong in another order.
async fn lacking(
    source: &Source<'_>,
    filter: &dyn Backed,
    at: Head,
    order: Order,
    keys: &[Key],
) -> Result<Option<Vec<Key>>, Error> {
    let mut missing = Vec::new();
    for keys in keys.chunks(STEP) {
        let span = |key: &Key| {
            let (generation, words) = filter.entries(key);
            let word = words.as_slice().get(usize::from(order.0)).copied().unwrap_or_default();
            Span { generation, order, first: word, last: word }
        };
        let spans: Vec<Span> = keys.iter().map(span).collect();
        let (head, found) = source.engine.candidates(source.shard, &spans).await?;
        if head != at {
            return Ok(None);
        }
        missing.extend(keys.iter().zip(found).filter(|(key, found)| !found.contains(key)).map(|(key, _)| key.clone()));
    }
    Ok(Some(missing))
}

/// The number of entries of an order.
async fn count(
    source: &Source<'_>,
    filter: &dyn Backed,
    at: Head,
    order: Order,
    keys: usize,
) -> Result<Option<u64>, Error> {
    let generation = filter.layout().0;
    // Parts of the words with about as many keys as are asked for at once.
    let parts = keys.div_ceil(STEP).max(1) as u64;
    let width = u64::MAX / parts;
    let mut count = 0;
    for part in 0..parts {
        let last = if part + 1 == parts { u64::MAX } else { (part + 1) * width - 1 };
        let span = Span { generation, order, first: part * width, last };
        let (head, found) = source.engine.candidates(source.shard, &[span]).await?;
        if head != at {
            return Ok(None);
        }
        count += found.iter().map(|keys| keys.len() as u64).sum::<u64>();
    }
    Ok(Some(count))
}
