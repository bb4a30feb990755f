//! The keys that have a value, in the order of their bytes over all shards.

use super::Of;
use super::answer::{all_bytes, list, maybe_bytes, number};
use super::keys::Part;
use super::requests::all;
use super::scripts;
use crate::engine::EngineError;
use crate::names::Shard;
use redis::Value;
use std::sync::Arc;
use twiceshy::remote::Key;

/// The most keys in one answer, so that no request holds up others for long.
const STEP: usize = 1_024;

/// The keys of one shard, as far as they were read.
#[derive(Debug)]
struct Run {
    shard: Shard,
    keys: Vec<Key>,
    /// `true` if it has no more.
    is_over: bool,
}

impl Run {
    /// `true` if it may have keys, not read yet, below `bound`, or any if there is no bound.
    fn is_behind(&self, bound: Option<&Key>) -> bool {
        let reaches = |last: &Key| bound.is_some_and(|bound| last >= bound);
        !self.is_over && !self.keys.last().is_some_and(reaches)
    }
}

/// The first `limit` keys after a key.
pub(super) async fn keys(of: Arc<Of>, after: Option<Key>, limit: usize) -> Result<Vec<Key>, EngineError> {
    if limit == 0 {
        return Ok(Vec::new());
    }
    let shards = of.shards().await?;
    let step = (limit / shards.max(1) as usize + 1).min(STEP);
    let mut runs: Vec<Run> =
        (0..shards).map(|shard| Run { shard: Shard(shard), keys: Vec::new(), is_over: false }).collect();
    loop {
        let mut found: Vec<&Key> = runs.iter().flat_map(|run| &run.keys).collect();
        found.sort_unstable();
        found.truncate(limit);
        // The last one that is wanted: a shard that was read beyond it has no others to offer.
        let bound = (found.len() == limit).then(|| found[limit - 1]);
        let behind: Vec<usize> = (0..runs.len()).filter(|at| runs[*at].is_behind(bound)).collect();
        if behind.is_empty() {
            return Ok(found.into_iter().cloned().collect());
        }
        let more = all(behind.clone().into_iter().map(|at| {
            let (of, run) = (Arc::clone(&of), &runs[at]);
            let (shard, after) = (run.shard, run.keys.last().or(after.as_ref()).cloned());
            async move { of.valued(shard, after.as_ref(), step).await }
        }));
        for (at, keys) in behind.into_iter().zip(more.await?) {
            runs[at].is_over = keys.len() < step;
            runs[at].keys.extend(keys);
        }
    }
}

impl Of {
    /// The number of shards; 0 if there is no set.
    async fn shards(&self) -> Result<u32, EngineError> {
        let [_, shards] = self.names.own();
        let text = maybe_bytes(self.send(&self.bare("GET", self.names.own_slot()).key(shards)).await?)?;
        let shards = text.map_or(Ok(0), |text| number(&text))?;
        u32::try_from(shards).map_err(|_| EngineError::Damaged(format!("it has {shards} shards")))
    }

    async fn valued(&self, shard: Shard, after: Option<&Key>, limit: usize) -> Result<Vec<Key>, EngineError> {
        let bound = after.map_or_else(|| b"-".to_vec(), |after| [&b"("[..], after].concat());
        let call = self.script(&scripts::VALUED, shard, &[Part::Values, Part::Valued]).arg(&bound);
        match self.send(&call.number(limit as u64)).await? {
            Value::Nil => Err(EngineError::Damaged(format!(
                "shard {} has more values than keys of values, or fewer: something else has written to it",
                shard.0
            ))),
            found => Ok(all_bytes(list(found)?)?.iter().map(|key| Key::from(&key[..])).collect()),
        }
    }
}
