//! Changes that share a record.

use super::{Change, Changed, Request, What};
use crate::engine::Open;
use crate::error::Error;
use crate::member::change;
use crate::names::{Announcement, MemberId, Shard};
use crate::replica::Replica;
use crate::{Level, MemoryEngine, Set, Shared};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;
use twiceshy::remote::Key;

/// Makes changes that wait for the desk at the same time.
async fn at_once(guard: &Shared, changes: Vec<What>) -> Vec<Result<Changed, Error>> {
    let inner = &guard.inner;
    let mut replies = Vec::new();
    {
        // The desk cannot go on while this is held.
        let _held = inner.copies[0].write();
        inner.send(Shard(0), Request::Wake).expect("an open guard");
        std::thread::sleep(Duration::from_millis(50));
        for what in changes {
            let (reply, answer) = oneshot::channel();
            inner.send(Shard(0), Request::Change(Change { what, reply })).expect("an open guard");
            replies.push(answer);
        }
    }
    let mut answers = Vec::new();
    for reply in replies {
        answers.push(reply.await.expect("an answer"));
    }
    answers
}

/// Makes changes that share a record.
async fn together(guard: &Shared, changes: Vec<What>) {
    let answers = at_once(guard, changes).await;
    let mut positions: Vec<u64> = answers.into_iter().map(|answer| answer.expect("memory").at.position).collect();
    positions.dedup();
    assert_eq!(positions.len(), 1, "they share a record");
}

#[tokio::test]
async fn a_key_stays_if_a_record_writes_its_value_and_tells_of_the_end_of_an_older_row() {
    let engine = MemoryEngine::new();
    let set = Set::new().level(Level::Within(Duration::from_secs(5)));
    set.create(&engine).await.expect("a new engine");
    let guard = Shared::open(engine).await.expect("a set");
    let key = Key::from(&b"key"[..]);
    let put = || What::Put { values: vec![(key.clone(), b"value".to_vec())] };
    let gone = || What::Move { entries: Vec::new(), stored: Vec::new(), gone: vec![key.clone()] };
    together(&guard, vec![put(), gone()]).await;
    assert_eq!(guard.get(b"key").await.expect("memory"), Some(b"value".to_vec()));
    together(&guard, vec![What::Remove { keys: vec![key.clone()] }, put(), gone()]).await;
    assert!(guard.may_contain(b"key"));
    together(&guard, vec![put(), What::Remove { keys: vec![key.clone()] }, gone()]).await;
    assert_eq!(guard.get(b"key").await.expect("memory"), None);
    assert_eq!(guard.stats().copies[0].keys, 0);
}

#[tokio::test]
async fn an_announcement_that_somebody_else_has_closed_fails_alone() {
    let engine = MemoryEngine::new();
    Set::new().create(&engine).await.expect("a new engine");
    let guard = Shared::open(engine).await.expect("a set");
    let announce =
        |number: u64| What::Announce { id: Announcement(number), keys: vec![Key::from(&number.to_le_bytes()[..])] };
    let closed = Open { id: Announcement(99), member: MemberId(5), keys: vec![Key::from(&b"dead"[..])] };
    let close = What::Close { open: closed, stored: HashSet::new() };
    let answers = at_once(&guard, vec![announce(1), announce(2), close, announce(3)]).await;
    let is_done: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(is_done, [true, true, false, true], "{answers:?}");
    assert!(matches!(answers[2], Err(Error::Overtaken)));
    assert!((1..4u64).all(|number| guard.may_contain(&number.to_le_bytes())));
}

#[tokio::test]
async fn large_values_do_not_share_a_record() {
    let engine = MemoryEngine::new();
    let set = Set::new().level(Level::Within(Duration::from_secs(5)));
    set.create(&engine).await.expect("a new engine");
    let guard = Shared::open(engine).await.expect("a set");
    let put =
        |number: u64, bytes: usize| What::Put { values: vec![(Key::from(&number.to_le_bytes()[..]), vec![1; bytes])] };
    let sizes = [3 << 20, 3 << 20, 1_000, 8 << 20, 10, 10];
    let changes = (0..).zip(sizes).map(|(number, bytes)| put(number, bytes)).collect();
    let answers = at_once(&guard, changes).await;
    let positions: Vec<u64> = answers.into_iter().map(|answer| answer.expect("memory").at.position).collect();
    assert_eq!(positions, [1, 2, 2, 3, 4, 4], "at most 4 MB in one record, unless one value has more");
}

/// A set beside rows, of which there are none yet.
async fn complete() -> Shared {
    let engine = MemoryEngine::new();
    Set::new().beside().create(&engine).await.expect("a new engine");
    let guard = Shared::open(engine).await.expect("a set");
    resync(&guard).await;
    assert!(guard.is_complete());
    guard
}

async fn resync(guard: &Shared) {
    guard.resync(|| async { Ok(Vec::new()) }).await.expect("memory");
}

#[tokio::test]
async fn no_resync_counts_until_the_engine_knows_of_an_alarm_and_the_user_is_told() {
    let guard = complete().await;
    let drifts = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&drifts);
    guard.on_drift(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let copy = guard.inner.copy(Shard(0)).expect("a shard");
    assert!(copy.alarm() && !copy.alarm(), "it is told once");
    let at = copy.read().at();
    for resyncs in 1..3 {
        resync(&guard).await;
        assert_eq!(copy.read().at(), at, "no record says that it is complete");
        assert_eq!((guard.is_complete(), drifts.load(Ordering::SeqCst)), (false, resyncs));
    }
    // Another process says so.
    copy.note_complete(&mut copy.write(), true);
    assert!(!guard.is_complete());
    change(&guard.inner, Shard(0), What::Doubt).await.expect("memory");
    resync(&guard).await;
    assert_eq!((guard.is_complete(), drifts.load(Ordering::SeqCst)), (true, 2));
}

#[tokio::test]
async fn a_check_that_ends_while_the_copy_is_loaded_anew_raises_no_alarm() {
    let guard = complete().await;
    let since = guard.inner.spot.now();
    *guard.inner.copies[0].write() = Replica::default();
    guard.checked(b"row", since, true);
    let stats = guard.stats();
    assert_eq!((stats.denied_rows, stats.spot_raced), (0, 1));
}
