//! Failures at chosen moments, on the engine in memory: what a line loses or delays is decided for each request.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use twiceshy_shared::{Engine, Error, Fate, Level, MemoryEngine, Opening, Set, Shard, Shared};

const LEASE: Duration = Duration::from_millis(300);

async fn made(set: Set) -> MemoryEngine {
    let engine = MemoryEngine::new();
    set.lease(LEASE).create(&engine).await.expect("a new engine");
    engine
}

async fn open(engine: &MemoryEngine) -> Shared {
    Shared::open(engine.clone()).await.expect("a set")
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A switch that a script reads.
#[derive(Clone, Default)]
struct Switch(Arc<AtomicBool>);

impl Switch {
    fn set(&self, is_on: bool) {
        self.0.store(is_on, Ordering::Release);
    }

    fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Waits until something is so.
async fn eventually(what: &str, mut is: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !is().await {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn an_insertion_whose_announcement_others_closed_is_no_success() {
    let engine = made(Set::new()).await;
    let (alive, silent) = (open(&engine).await, Switch::default());
    let off = silent.clone();
    // While it is silent, neither its renewals nor its values arrive.
    let line = engine.with_script(move |name| match name {
        "renew" | "settle" if off.is_on() => Fate::Lost,
        _ => Fate::Answered,
    });
    let late = open(&line).await;
    silent.set(true);
    let insertion = tokio::spawn({
        let late = late.clone();
        async move { late.insert(b"key", b"value").await }
    });
    eventually("nothing was announced", async || !engine.open(Shard(0)).await.expect("memory").is_empty()).await;
    eventually("nobody closed it", async || engine.open(Shard(0)).await.expect("memory").is_empty()).await;
    silent.set(false);
    let inserted = insertion.await.expect("no panic");
    assert!(inserted.is_err(), "others have closed its announcement");
    assert_eq!(alive.get(b"key").await.expect("memory"), None);
    eventually("it does not join anew", async || late.stats().rejoined > 0 && !late.may_contain(b"other")).await;
    late.insert(b"key", b"value").await.expect("memory");
    assert!(alive.may_contain(b"key") && late.may_contain(b"key"));
}

#[tokio::test]
async fn a_guard_that_was_closed_denies_nothing_even_if_a_renewal_is_answered_late() {
    for delay in (10..160).step_by(15).map(Duration::from_millis) {
        let engine = made(Set::new()).await;
        let writer = open(&engine).await;
        // It hears of records by renewals alone, and is slow to follow: so it is at work on a renewal when the guard is closed.
        let line = engine.with_script(|name| match name {
            "wait" => Fate::Late(Duration::from_secs(30)),
            "read" => Fate::AnswerLate(Duration::from_millis(60)),
            _ => Fate::Answered,
        });
        let closed = open(&line).await;
        let kept = closed.clone();
        assert!(!kept.may_contain(b"late"));
        let writing = tokio::spawn({
            let writer = writer.clone();
            async move {
                for number in 0..3 {
                    writer.insert(&key(number), b"").await.expect("memory");
                }
            }
        });
        tokio::time::sleep(delay).await;
        closed.close().await.expect("memory");
        writer.insert(b"late", b"").await.expect("memory");
        for _ in 0..20 {
            assert!(kept.may_contain(b"late"), "nobody waits for it any more");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        writing.await.expect("no panic");
    }
}

#[tokio::test]
async fn a_join_may_take_longer_than_a_lease() {
    let engine = made(Set::new().expected_keys(12_000)).await;
    let writer = open(&engine).await;
    for first in (0..10_000).step_by(500) {
        writer.insert_all((first..first + 500).map(|number| (key(number), b""))).await.expect("memory");
    }
    assert!(engine.newest(Shard(0)).await.expect("memory").is_some(), "there is a snapshot to load");
    let slow = engine.with_script(|name| if name == "load" { Fate::Late(LEASE * 4) } else { Fate::Answered });
    let late = open(&slow).await;
    assert_eq!(late.stats().rejoined, 0);
    assert!((0..10_000).all(|number| late.may_contain(&key(number))));
    assert!(!late.may_contain(b"absent"), "it has a lease");
}

#[tokio::test]
async fn an_append_that_is_never_answered_is_given_up_and_later_ones_work() {
    let engine = made(Set::new()).await;
    let (lost, other) = (Switch::default(), open(&engine).await);
    let off = lost.clone();
    let line = engine.with_script(move |name| match name {
        "append" if off.is_on() => Fate::AnswerLost,
        _ => Fate::Answered,
    });
    let guard = open(&line).await;
    guard.insert(b"before", b"").await.expect("memory");
    lost.set(true);
    // The first attempt is carried out, and the second one finds that the head has moved: that is answered by a read.
    guard.insert(b"lost", b"").await.expect_err("no answer ever comes");
    lost.set(false);
    eventually("it does not recover", async || guard.insert(b"after", b"").await.is_ok()).await;
    assert!([&b"before"[..], b"after"].iter().all(|key| guard.may_contain(*key) && other.may_contain(*key)));
    eventually("the copies differ", async || guard.digests() == other.digests()).await;
    assert_eq!((guard.stats().diverged, other.stats().diverged), (0, 0));
}

#[tokio::test]
async fn a_value_whose_end_is_never_told_is_given_up() {
    let engine = made(Set::new()).await;
    let line = engine.with_script(|name| if name == "settle" { Fate::Lost } else { Fate::Answered });
    let (guard, other) = (open(&line).await, open(&engine).await);
    let begin = Instant::now();
    guard.insert(b"lost", b"").await.expect_err("no answer ever comes");
    assert!(begin.elapsed() < LEASE * 20, "{:?}", begin.elapsed());
    // Nothing was written, and its announcement is closed.
    assert_eq!(other.get(b"lost").await.expect("memory"), None);
    assert!(engine.open(Shard(0)).await.expect("memory").is_empty());
}

#[tokio::test]
async fn a_desk_that_hangs_holds_up_one_insertion() {
    let engine = made(Set::new()).await;
    let (writer, hangs) = (open(&engine).await, Switch::default());
    let off = hangs.clone();
    let line = engine.with_script(move |name| match name {
        "read" if off.is_on() => Fate::Late(Duration::from_secs(30)),
        _ => Fate::Answered,
    });
    let stuck = open(&line).await;
    hangs.set(true);
    writer.insert(&key(0), b"").await.expect("memory");
    // Its lease is over. Its renewals go on, so it is not struck out.
    let begin = Instant::now();
    for number in 1..20 {
        writer.insert(&key(number), b"").await.expect("memory");
        assert!(stuck.may_contain(&key(number)));
    }
    assert!(begin.elapsed() < LEASE * 10, "{:?}: each waits for the next renewal, not for a lease", begin.elapsed());
    assert_eq!(engine.members(Shard(0)).await.expect("memory").len(), 2);
}

#[tokio::test]
async fn rows_of_shards_that_nobody_follows_do_not_hold_up_the_others() {
    let within = Duration::from_millis(200);
    let engine = made(Set::new().shards(2).level(Level::Within(within))).await;
    let all = open(&engine).await;
    let shard_of = async |name: &[u8]| all.insert(name, b"").await.expect("memory").positions().next().expect("one").0;
    let mut of_shards: [Vec<Vec<u8>>; 2] = Default::default();
    for number in 0..40u64 {
        let name = key(number).to_vec();
        of_shards[shard_of(&name).await.0 as usize].push(name);
    }
    all.remove_all(of_shards.iter().flatten()).await.expect("memory");
    all.close().await.expect("memory");
    let half = Opening::new().follow([Shard(1)]).open(Arc::new(engine.clone())).await.expect("a set");
    // More than are moved at once wait in front of a row of the shard that is followed.
    let (foreign, own) = (&of_shards[0][0], &of_shards[1][0]);
    (0..2_500).for_each(|_| engine.write_past(Shard(0), foreign, Some(b"v")));
    engine.write_past(Shard(1), own, Some(b"v"));
    eventually("the row was not moved", async || half.stats().copies[0].keys == 1).await;
    let absent: Vec<&Vec<u8>> = of_shards[1][1..].iter().collect();
    eventually("there is no lease", async || absent.iter().any(|name| !half.may_contain(&name[..]))).await;
    tokio::time::sleep(within * 3).await;
    assert!(absent.iter().any(|name| !half.may_contain(&name[..])), "it goes on");
    assert!(half.may_contain(&own[..]));
}

#[tokio::test]
async fn a_value_that_is_too_long_is_refused() {
    let engine = made(Set::new().level(Level::Within(LEASE))).await;
    let guard = open(&engine).await;
    let longest = engine.longest_value();
    let error = guard.insert(b"k", &vec![0; longest + 1]).await.expect_err("too long");
    assert!(matches!(error, Error::ValueTooLong { len, .. } if len == longest + 1), "{error}");
    assert!(!guard.may_contain(b"k"));
    guard.insert(b"k", &vec![1; longest]).await.expect("the longest one");
    assert!(guard.may_contain(b"k"));
}

#[tokio::test]
async fn who_has_waited_for_a_dead_member_strikes_it_out() {
    let engine = made(Set::new()).await;
    drop(open(&engine).await);
    // Programs that end before they would tidy up.
    let mut times = Vec::new();
    for number in 0..3 {
        let short = open(&engine).await;
        let begin = Instant::now();
        short.insert(&key(number), b"").await.expect("memory");
        times.push(begin.elapsed());
        short.close().await.expect("memory");
    }
    assert!(times[0] > LEASE / 2, "the lease of the dead member had not ended: {times:?}");
    assert!(times[1..].iter().all(|time| *time < LEASE / 2), "nobody waits for it again: {times:?}");
}

#[tokio::test]
async fn a_read_that_fails_was_never_carried_out() {
    let engine = made(Set::new()).await;
    let bad = engine.with_script(|name| if name == "get" { Fate::AnswerLost } else { Fate::Answered });
    let guard = open(&bad).await;
    guard.insert(&key(1), b"v").await.expect("memory");
    for error in [
        guard.get(&key(1)).await.map(drop).expect_err("its answer is lost"),
        guard.get_all([key(1)]).await.map(drop).expect_err("its answer is lost"),
    ] {
        assert_eq!(error.to_string(), "the answer was lost (nothing was changed)");
    }
}
