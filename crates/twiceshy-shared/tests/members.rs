//! Several members of one set in one process, on the engine in memory.

use std::sync::Arc;
use std::time::{Duration, Instant};
use twiceshy::HashKey;
use twiceshy_shared::{Engine, Error, Faults, Freshness, Level, MemoryEngine, Opening, Set, Shard, Shared};

const LEASE: Duration = Duration::from_millis(300);

fn set() -> Set {
    Set::new().expected_keys(2_000).shards(2).lease(LEASE)
}

async fn made(set: Set) -> MemoryEngine {
    let engine = MemoryEngine::new();
    set.create(&engine).await.expect("a new engine");
    engine
}

async fn open(engine: &MemoryEngine) -> Shared {
    Shared::open(engine.clone()).await.expect("a set")
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// Waits until something is so.
async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn what_one_member_inserts_no_member_denies() {
    let engine = made(set()).await;
    let members = [open(&engine).await, open(&engine).await, open(&engine).await];
    for number in 0..300 {
        let by = &members[number as usize % 3];
        by.insert(&key(number), &number.to_le_bytes()).await.expect("memory");
        for member in &members {
            assert!(member.may_contain(&key(number)), "{number}");
            assert_eq!(member.get(&key(number)).await.expect("memory"), Some(number.to_le_bytes().to_vec()));
        }
    }
    let away = (1_000..11_000).filter(|number| !members[1].may_contain(&key(*number))).count();
    assert!(away > 9_900, "{away}");
    for number in 0..300 {
        assert!(members[number as usize % 2].remove(&key(number)).await.expect("memory"));
        for member in &members {
            assert_eq!(member.get(&key(number)).await.expect("memory"), None);
        }
        assert!(!members[2].remove(&key(number)).await.expect("memory"), "it was removed already");
    }
    agree(&members).await;
    assert!(members.iter().all(|member| member.stats().copies.iter().all(|copy| copy.keys == 0)));
}

#[tokio::test]
async fn many_keys_are_read_at_once_and_what_they_teach_can_be_waited_for() {
    let engine = made(set().hash_key(HashKey::fixed(5))).await;
    let (one, other) = (open(&engine).await, open(&engine).await);
    one.insert_all((0..1_500).map(|number| (key(number), number.to_le_bytes()))).await.expect("memory");
    let values = one.get_all((0..30_000).map(key)).await.expect("memory");
    for (number, value) in (0..30_000u64).zip(values) {
        assert_eq!(value, (number < 1_500).then(|| number.to_le_bytes().to_vec()), "{number}");
    }
    one.wait().await.expect("memory");
    let mistakes = one.stats().false_positives;
    assert!(mistakes > 30 && one.stats().learned >= mistakes * 9 / 10, "{:?}", one.stats());
    other.insert(&key(0), b"").await.expect("memory");
    assert_eq!(other.contains_all([key(0), key(40_000)]).await.expect("memory"), [true, false]);
    // An adaptation may undo another one.
    let again = (1_500..30_000).filter(|number| one.may_contain(&key(*number))).count() as u64;
    assert!(again <= mistakes / 4, "{again} of {mistakes}");
}

/// All members reach the same position with the same bits.
async fn agree(members: &[Shared]) {
    eventually("the copies do not become equal", || {
        let digests: Vec<_> = members.iter().map(Shared::digests).collect();
        digests.iter().all(|digest| *digest == digests[0])
    })
    .await;
    assert!(members.iter().all(|member| member.stats().diverged == 0));
}

#[tokio::test]
async fn a_mistake_that_one_member_pays_for_is_fixed_in_all() {
    // A known hash key: how many mistakes can be fixed at once depends on it.
    let engine = made(set().hash_key(HashKey::fixed(5))).await;
    let members = [open(&engine).await, open(&engine).await, open(&engine).await];
    members[0].insert_all((0..1_500).map(|number| (key(number), b""))).await.expect("memory");
    agree(&members).await;
    let mistakes: Vec<u64> = (10_000..40_000).filter(|number| members[0].may_contain(&key(*number))).collect();
    assert!(mistakes.len() > 50, "{}", mistakes.len());
    for number in &mistakes {
        assert_eq!(members[0].get(&key(*number)).await.expect("memory"), None);
    }
    eventually("not all is learned", || members[0].stats().learned as usize >= mistakes.len() * 95 / 100).await;
    agree(&members).await;
    let (before, again) = (members[1].stats().loads, mistakes.len() / 20);
    for number in &mistakes {
        assert_eq!(members[1].get(&key(*number)).await.expect("memory"), None);
    }
    assert!(members[1].stats().loads - before <= again as u64);
}

#[tokio::test]
async fn the_set_grows_while_all_members_use_it() {
    let engine = made(set().expected_keys(100)).await;
    let members = [open(&engine).await, open(&engine).await, open(&engine).await];
    let count = 6_000u64;
    let tasks = (0..3).map(|own| {
        let member = members[own as usize].clone();
        tokio::spawn(async move {
            for first in (own..count).step_by(3 * 50) {
                let keys = (first..(first + 150).min(count)).step_by(3);
                member.insert_all(keys.map(|number| (key(number), b"v"))).await.expect("memory");
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("no panic");
    }
    for member in &members {
        assert!((0..count).all(|number| member.may_contain(&key(number))));
    }
    eventually("nobody grew", || members.iter().map(|member| member.stats().grown).sum::<u64>() >= 2).await;
    agree(&members).await;
    assert_eq!(members[0].stats().copies.iter().map(|copy| copy.keys).sum::<u64>(), count);
    // Whoever joins now begins with a snapshot.
    let late = open(&engine).await;
    assert!((0..count).all(|number| late.may_contain(&key(number))));
    agree(&[late, members[0].clone()]).await;
}

#[tokio::test]
async fn an_insertion_waits_for_a_dead_member_once() {
    let engine = made(set()).await;
    let (alive, dead) = (open(&engine).await, open(&engine).await);
    alive.insert(b"before", b"").await.expect("memory");
    // It ends without leaving.
    drop(dead);
    tokio::time::sleep(LEASE / 6).await;
    let begin = Instant::now();
    alive.insert(b"after", b"").await.expect("memory");
    let first = begin.elapsed();
    assert!(first > LEASE / 2, "the lease of the dead member had not ended: {first:?}");
    assert!(first < LEASE * 3, "{first:?}");
    let strangers = async || {
        engine.members(Shard(0)).await.expect("memory").len() + engine.members(Shard(1)).await.expect("memory").len()
    };
    while strangers().await > 2 {
        assert!(begin.elapsed() < Duration::from_secs(20), "the dead member is not struck out");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let begin = Instant::now();
    alive.insert(b"later", b"").await.expect("memory");
    assert!(begin.elapsed() < LEASE / 2);
}

#[tokio::test]
async fn a_set_within_a_time_shows_its_insertions_in_that_time() {
    let within = Duration::from_millis(200);
    let engine = made(set().level(Level::Within(within))).await;
    let (writer, reader) = (open(&engine).await, open(&engine).await);
    for number in 0..50 {
        let token = writer.insert(&key(number), b"v").await.expect("memory");
        assert_eq!(reader.get_at(&key(number), &Freshness::AtLeast(token)).await.expect("memory"), Some(b"v".to_vec()));
    }
    tokio::time::sleep(within).await;
    assert!((0..50).all(|number| reader.may_contain(&key(number))));
    // Rows that are written past the guard come by the outbox.
    let mover = reader.clone();
    engine.write_past(shard_of(&engine, &writer, b"past").await, b"past", Some(b"v"));
    eventually("the row was not moved", || mover.stats().copies.iter().map(|copy| copy.keys).sum::<u64>() == 51).await;
    assert_eq!(reader.get(b"past").await.expect("memory"), Some(b"v".to_vec()));
}

#[tokio::test]
async fn a_process_may_follow_some_shards_and_ask_the_store_for_the_rest() {
    let engine = made(set()).await;
    let all = open(&engine).await;
    all.insert_all((0..200).map(|number| (key(number), b"v"))).await.expect("memory");
    let half = Opening::new().follow([Shard(1)]).open(Arc::new(engine.clone())).await.expect("a set");
    assert_eq!(half.stats().copies.len(), 1);
    for number in 0..200 {
        assert_eq!(half.get(&key(number)).await.expect("memory"), Some(b"v".to_vec()));
    }
    let denied = (1_000..2_000).filter(|number| !half.may_contain(&key(*number))).count();
    assert!((400..600).contains(&denied), "{denied}");
    let mut made = 0;
    for number in 1_000..1_040 {
        match half.insert(&key(number), b"v").await {
            Ok(_) => made += 1,
            Err(error) => assert!(matches!(error, Error::NotFollowed(Shard(0))), "{error}"),
        }
    }
    assert!((5..35).contains(&made), "{made}");
    let nowhere = Opening::new().follow([Shard(1), Shard(2)]).open(Arc::new(engine)).await;
    let error = nowhere.expect_err("it has the shards 0 and 1");
    assert_eq!(error.to_string(), "the set has 2 shards, counted from 0, and no shard 2");
}

/// The shard of a key, found by inserting it and removing it.
async fn shard_of(engine: &MemoryEngine, member: &Shared, key: &[u8]) -> Shard {
    let token = member.insert(key, b"").await.expect("memory");
    let shard = token.positions().next().expect("one").0;
    assert!(member.remove(key).await.expect("memory"));
    let _ = engine;
    shard
}

#[tokio::test]
async fn lost_and_late_messages_lose_no_key() {
    let engine = made(set().expected_keys(200)).await;
    let faults = Faults { lost_request: 0.03, lost_answer: 0.03, late: 0.2, delay: Duration::from_millis(20) };
    let bad = |millionths| {
        let engine: Arc<dyn Engine> = Arc::new(engine.with_faults(faults));
        async move { Opening::new().faster_clock(millionths).open(engine).await }
    };
    let mut members = Vec::new();
    while members.len() < 3 {
        members.extend(bad(5_000 * (members.len() as i32 - 1)).await);
    }
    let tasks = (0..3u64).map(|own| {
        let (member, others) = (members[own as usize].clone(), members.clone());
        tokio::spawn(async move {
            let mut stored = Vec::new();
            for number in (own..180).step_by(3) {
                if member.insert(&key(number), b"v").await.is_ok() {
                    stored.push(number);
                    let denied = others.iter().position(|other| !other.may_contain(&key(number)));
                    assert_eq!(denied, None, "key {number} was acknowledged");
                }
            }
            stored
        })
    });
    let mut stored = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        stored.extend(task.await.expect("no key is denied"));
    }
    assert!(stored.len() > 90, "{}", stored.len());
    let good = open(&engine).await;
    for number in stored {
        assert_eq!(good.get(&key(number)).await.expect("memory"), Some(b"v".to_vec()));
    }
    eventually("the copies do not become equal", || {
        let digests: Vec<_> = members.iter().chain([&good]).map(Shared::digests).collect();
        digests.iter().all(|digest| *digest == digests[0])
    })
    .await;
    assert!(members.iter().all(|member| member.stats().diverged == 0));
}
