//! A suite that checks an engine against the contract of [`Engine`].
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! use twiceshy_shared::{MemoryEngine, contract};
//!
//! let engine = MemoryEngine::new();
//! contract::check(&engine).await?;
//! contract::check_news(&engine, &engine.clone()).await
//! # }).unwrap();
//! ```

mod announcements;
mod creation;
mod index;
mod listing;
mod log;
mod members;
mod news;
mod racing;
mod snapshots;
mod values;

use crate::engine::{Append, Appended, Engine, EngineError, Entry, Log, Logged};
use crate::names::{Head, Shard};
use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use twiceshy::remote::{Generation, Key, OrderWords};

/// Checks an engine that has no set yet. It creates one with two shards, and leaves it behind.
///
/// The error is a sentence about the first thing that is wrong. Needs a tokio runtime with its timer.
pub async fn check(engine: &dyn Engine) -> Result<(), String> {
    creation::check(engine).await?;
    members::check(engine).await?;
    log::check(engine).await?;
    values::check(engine).await?;
    listing::check(engine).await?;
    announcements::check(engine).await?;
    index::check(engine).await?;
    snapshots::check(engine).await?;
    racing::check(engine).await?;
    check_news(engine, engine).await
}

/// Checks that one handle of an engine hears of what another one appends. The set exists already, and nobody else uses it.
pub async fn check_news(engine: &dyn Engine, other: &dyn Engine) -> Result<(), String> {
    news::check(engine, other).await
}

/// The shards of the set.
const SHARDS: [Shard; 2] = [Shard(0), Shard(1)];

/// Two numbers that are the same as floating-point numbers.
const NEAR: [u64; 2] = [(1 << 62) + 1, (1 << 62) + 2];

/// Refuses what is not so.
fn ensure(is: bool, what: impl Into<String>) -> Result<(), String> {
    if is { Ok(()) } else { Err(what.into()) }
}

/// Refuses what differs.
fn equal<T: PartialEq + Debug>(what: &str, got: T, wanted: T) -> Result<(), String> {
    if got == wanted {
        return Ok(());
    }
    // Values of a megabyte are no help.
    let short = |of: &T| format!("{of:?}").chars().take(200).collect::<String>();
    Err(format!("{what}: it is {}, but should be {}", short(&got), short(&wanted)))
}

/// Names the request that failed.
fn asked<T>(what: &str, answer: Result<T, EngineError>) -> Result<T, String> {
    answer.map_err(|error| format!("the request `{what}` failed: {error}"))
}

async fn head(engine: &dyn Engine, shard: Shard) -> Result<Head, String> {
    asked("head", engine.head(shard).await)
}

/// An append after the head, with a record that tells it apart.
async fn next(engine: &dyn Engine, shard: Shard) -> Result<Append, String> {
    let append = Append::after(shard, head(engine, shard).await?);
    Ok(Append { record: append.tag.to_le_bytes().to_vec(), ..append })
}

async fn append(engine: &dyn Engine, append: &Append) -> Result<Appended, String> {
    asked("append", engine.append(append).await)
}

/// An append that must succeed. Returns the keys whose value was deleted.
async fn done(engine: &dyn Engine, what: &str, wanted: &Append) -> Result<Vec<Key>, String> {
    match append(engine, wanted).await? {
        Appended::Done(deleted) => {
            equal(&format!("the head after {what}"), head(engine, wanted.shard).await?, wanted.head())?;
            Ok(deleted)
        }
        other => Err(format!("{what} should be done, but the answer is {other:?}")),
    }
}

async fn records(engine: &dyn Engine, what: &str, shard: Shard, after: Head) -> Result<Vec<Logged>, String> {
    match asked("read", engine.read(shard, after, usize::MAX).await)? {
        Log::Records(records) => Ok(records),
        other => Err(format!("{what}: there should be records, but the answer is {other:?}")),
    }
}

/// The values of keys in one shard.
async fn values(engine: &dyn Engine, shard: Shard, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, String> {
    let keys: Vec<(Shard, Key)> = keys.iter().map(|wanted| (shard, key(wanted))).collect();
    asked("get", engine.get(&keys).await)
}

fn key(bytes: &[u8]) -> Key {
    Key::from(bytes)
}

fn entry(generation: u32, bytes: &[u8], words: &[u64]) -> Entry {
    Entry { generation: Generation(generation), key: key(bytes), words: OrderWords::new(words) }
}

/// A future that borrows.
type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all of them at once.
async fn all<T>(mut tasks: Vec<Task<'_, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = tasks.iter().map(|_| None).collect();
    poll_fn(move |context| {
        for (task, result) in tasks.iter_mut().zip(&mut results).filter(|(_, result)| result.is_none()) {
            if let Poll::Ready(value) = task.as_mut().poll(context) {
                *result = Some(value);
            }
        }
        match results.iter().all(Option::is_some) {
            true => Poll::Ready(results.drain(..).flatten().collect()),
            false => Poll::Pending,
        }
    })
    .await
}
