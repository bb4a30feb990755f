//! Several keys at once, and waiting for what was learned from them.

use crate::background;
use crate::desk::{Request, What};
use crate::error::Error;
use crate::guard::Shared;
use crate::inner::Inner;
use crate::member::change;
use crate::names::Shard;
use crate::replica::Said;
use crate::stats::add;
use std::sync::Arc;
use twiceshy::AsKey;
use twiceshy::remote::Key;

impl Shared {
    /// The values of several keys, with one request for all that the filters let pass.
    pub async fn get_all<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let inner = Arc::clone(self.inner());
        if inner.described.beside {
            return Err(Error::Beside);
        }
        let said = keys.into_iter().map(|key| {
            let key = Key::from(key.as_key().as_ref());
            let said = inner.ask(&key, inner.oldest);
            (key, said)
        });
        let said: Vec<(Key, Said)> = said.collect();
        background::run(async move { load_all(&inner, &said).await }).await
    }

    /// `true` for each key that has a value.
    pub async fn contains_all<K: AsKey>(&self, keys: impl IntoIterator<Item = K>) -> Result<Vec<bool>, Error> {
        Ok(self.get_all(keys).await?.iter().map(Option::is_some).collect())
    }

    /// Waits until all members are taught the mistakes that this process has made so far.
    pub async fn wait(&self) -> Result<(), Error> {
        let inner = Arc::clone(self.inner());
        background::run(async move {
            for shard in (0..inner.described.shards).map(Shard) {
                // A desk works in the order of its requests: when it has made this change of nothing, it has learned.
                change(&inner, shard, What::Remove { keys: Vec::new() }).await?;
            }
            Ok(())
        })
        .await
    }
}

/// Reads values. The filter learns from each key that it let pass and that has no value.
async fn load_all(inner: &Inner, said: &[(Key, Said)]) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let passed = || said.iter().filter(|(_, said)| *said != Said::Absent);
    let asked: Vec<(Shard, Key)> = passed().map(|(key, _)| (inner.described.shard(key), key.clone())).collect();
    if asked.is_empty() {
        return Ok(vec![None; said.len()]);
    }
    add(&inner.counters.loads, asked.len() as u64);
    let values = inner.get(&asked).await?;
    for (((shard, key), (_, said)), value) in asked.into_iter().zip(passed()).zip(&values) {
        if value.is_none() && *said == Said::Passed {
            add(&inner.counters.false_positives, 1);
            let _ = inner.send(shard, Request::Learn(key));
        }
    }
    let mut values = values.into_iter();
    Ok(said.iter().map(|(_, said)| if *said == Said::Absent { None } else { values.next().flatten() }).collect())
}
