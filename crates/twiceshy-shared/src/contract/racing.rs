//! Appends at the same time.

use super::{SHARDS, Task, all, append, ensure, equal, head, next, records};
use crate::engine::{Append, Appended, Engine};
use crate::names::{Head, Shard, random};

const SHARD: Shard = SHARDS[1];
const RIVALS: usize = 6;
const ROUNDS: usize = 12;

pub(super) async fn check(engine: &dyn Engine) -> Result<(), String> {
    let before = head(engine, SHARD).await?;
    let mut winners = Vec::new();
    for _ in 0..ROUNDS {
        winners.push(round(engine).await?);
    }
    let log = records(engine, "the log of a race", SHARD, before).await?;
    equal("the log of a race", log.iter().map(|logged| logged.at).collect::<Vec<_>>(), winners)?;
    chains(engine).await
}

/// Several appends after the same head: exactly one wins.
async fn round(engine: &dyn Engine) -> Result<Head, String> {
    let first = next(engine, SHARD).await?;
    let rivals: Vec<Append> = (0..RIVALS).map(|_| Append { tag: random(), ..first.clone() }).collect();
    let tasks = rivals.iter().map(|rival| Box::pin(append(engine, rival)) as Task<'_, _>).collect();
    let answers: Vec<Appended> = all(tasks).await.into_iter().collect::<Result<_, String>>()?;
    let winners: Vec<Head> = rivals
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| matches!(answer, Appended::Done(_)))
        .map(|(rival, _)| rival.head())
        .collect();
    ensure(winners.len() == 1, format!("{} of {RIVALS} appends after the same head were done", winners.len()))?;
    equal("the head after a race", head(engine, SHARD).await?, winners[0])?;
    Ok(winners[0])
}

/// Several that append until they have succeeded a few times: nothing is lost, and nothing is there twice.
async fn chains(engine: &dyn Engine) -> Result<(), String> {
    let before = head(engine, SHARD).await?;
    let tasks = (0..RIVALS).map(|_| Box::pin(chain(engine)) as Task<'_, _>).collect();
    let chains: Vec<Vec<Head>> = all(tasks).await.into_iter().collect::<Result<_, String>>()?;
    let mut wanted = chains.concat();
    wanted.sort_unstable_by_key(|at| at.position);
    let log = records(engine, "the log of several chains", SHARD, before).await?;
    let found: Vec<Head> = log.iter().map(|logged| logged.at).collect();
    equal("the log of several chains", &found, &wanted)?;
    let positions = found.iter().map(|at| at.position);
    ensure(positions.eq((before.position + 1..).take(found.len())), "the positions of the log have gaps")
}

async fn chain(engine: &dyn Engine) -> Result<Vec<Head>, String> {
    let mut won = Vec::new();
    while won.len() < 5 {
        let wanted = next(engine, SHARD).await?;
        if let Appended::Done(_) = append(engine, &wanted).await? {
            won.push(wanted.head());
        }
    }
    Ok(won)
}
