//! Waiting for records.

use super::{SHARDS, Task, all, asked, done, ensure, equal, head, next};
use crate::engine::Engine;
use crate::names::Shard;
use std::time::{Duration, Instant};

/// Long enough for any engine to tell its news.
const LONG: Duration = Duration::from_secs(5);

/// Short enough for a test.
const SHORT: Duration = Duration::from_millis(150);

pub(super) async fn check(engine: &dyn Engine, other: &dyn Engine) -> Result<(), String> {
    let known = known(engine).await?;
    let begin = Instant::now();
    equal("the news when there are none", asked("wait", engine.wait(&known, SHORT).await)?, Vec::new())?;
    ensure(begin.elapsed() >= SHORT / 2, "waiting for news ended early, and there are none")?;
    for shard in SHARDS {
        while_waiting(engine, other, shard).await?;
    }
    let behind = known;
    let begin = Instant::now();
    let mut news = asked("wait", engine.wait(&behind, LONG).await)?;
    news.sort_unstable();
    equal("the news of shards that were behind already", news, SHARDS.to_vec())?;
    ensure(begin.elapsed() < LONG / 2, "waiting for news took long, though there were some already")
}

async fn known(engine: &dyn Engine) -> Result<Vec<(Shard, u64)>, String> {
    Ok(vec![(SHARDS[0], head(engine, SHARDS[0]).await?.position), (SHARDS[1], head(engine, SHARDS[1]).await?.position)])
}

/// A record that is appended while somebody waits.
async fn while_waiting(engine: &dyn Engine, other: &dyn Engine, shard: Shard) -> Result<(), String> {
    let known = known(engine).await?;
    let begin = Instant::now();
    let waits = async {
        let news = asked("wait", engine.wait(&known, LONG).await)?;
        equal("the news after an append", news, vec![shard])?;
        ensure(begin.elapsed() < LONG / 2, "the news of an append took long")
    };
    let appends = async {
        tokio::time::sleep(SHORT).await;
        done(other, "an append while somebody waits", &next(other, shard).await?).await.map(drop)
    };
    let tasks: Vec<Task<'_, Result<(), String>>> = vec![Box::pin(waits), Box::pin(appends)];
    all(tasks).await.into_iter().collect()
}
