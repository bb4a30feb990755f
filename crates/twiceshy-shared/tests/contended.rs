//! Insertions and removals of the same keys at the same time, so that one record holds several of them.

use std::collections::HashSet;
use std::time::Duration;
use twiceshy::remote::{Generation, Key};
use twiceshy_shared::{Engine, Level, MemoryEngine, Set, Shard, Shared};

const ROUNDS: u64 = 150;
const KEYS: u64 = 3;

fn key(round: u64, number: u64) -> [u8; 8] {
    (round * 100 + number).to_be_bytes()
}

/// Inserts and removes a few keys from many tasks.
async fn contend(member: &Shared, round: u64) {
    let tasks: Vec<_> = (0..20)
        .map(|task: u64| {
            let (member, key) = (member.clone(), key(round, task % KEYS));
            tokio::spawn(async move {
                match task % 2 {
                    0 => member.insert(&key, b"v").await.map(drop),
                    _ => member.remove(&key).await.map(drop),
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic").expect("memory");
    }
}

async fn indexed(engine: &MemoryEngine) -> HashSet<Key> {
    let (_, keys) = engine.walk(Shard(0), Generation(0), None, usize::MAX).await.expect("memory");
    keys.into_iter().map(|position| position.key).collect()
}

async fn has_value(engine: &MemoryEngine, key: &Key) -> bool {
    engine.get(&[(Shard(0), key.clone())]).await.expect("memory")[0].is_some()
}

async fn run(level: Level) -> Vec<(bool, bool, bool)> {
    let engine = MemoryEngine::new();
    Set::new().expected_keys(1_000).level(level).create(&engine).await.expect("a new engine");
    let member = Shared::open(engine.clone()).await.expect("a set");
    let mut found = Vec::new();
    for round in 0..ROUNDS {
        contend(&member, round).await;
        let indexed = indexed(&engine).await;
        for number in 0..KEYS {
            let key = Key::from(&key(round, number)[..]);
            found.push((has_value(&engine, &key).await, indexed.contains(&key), member.may_contain(&key[..])));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_with_a_value_is_denied_in_an_exact_set() {
    let found = run(Level::Exact).await;
    let denied = found.iter().filter(|(value, indexed, passes)| *value && !(*indexed && *passes)).count();
    assert_eq!(denied, 0, "of {}", found.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_has_exactly_the_keys_with_a_value_in_a_set_within_a_time() {
    let found = run(Level::Within(Duration::from_secs(2))).await;
    let wrong = found.iter().filter(|(value, indexed, passes)| value != indexed || (*value && !passes)).count();
    assert_eq!(wrong, 0, "of {}", found.len());
}
