//! Changes that share a record.

use super::{Change, Request, What};
use crate::names::Shard;
use crate::{Level, MemoryEngine, Set, Shared};
use std::time::Duration;
use tokio::sync::oneshot;
use twiceshy::remote::Key;

/// Makes changes that wait for the desk at the same time, so that they share a record.
async fn together(guard: &Shared, changes: Vec<What>) {
    let inner = &guard.inner;
    let mut replies = Vec::new();
    {
        // The desk cannot go on while this is held.
        let _held = inner.copy(Shard(0)).write();
        inner.send(Shard(0), Request::Wake).expect("an open guard");
        std::thread::sleep(Duration::from_millis(50));
        for what in changes {
            let (reply, answer) = oneshot::channel();
            inner.send(Shard(0), Request::Change(Change { what, reply })).expect("an open guard");
            replies.push(answer);
        }
    }
    let mut positions = Vec::new();
    for reply in replies {
        positions.push(reply.await.expect("an answer").expect("memory").at.position);
    }
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
