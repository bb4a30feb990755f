//! Sets whose rows are elsewhere.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use twiceshy_shared::{Engine, Error, MemoryEngine, Resynced, Set, Shard, Shared};

const LEASE: Duration = Duration::from_millis(300);

async fn made() -> MemoryEngine {
    let engine = MemoryEngine::new();
    Set::new().beside().shards(2).lease(LEASE).expected_keys(500).create(&engine).await.expect("a new engine");
    // There is no row yet.
    let guard = open(&engine).await;
    guard.resync(|| async { Ok(Vec::new()) }).await.expect("memory");
    guard.close().await.expect("memory");
    engine
}

async fn open(engine: &MemoryEngine) -> Shared {
    Shared::open(engine.clone()).await.expect("a set")
}

/// The keys in the set.
async fn keys(guard: &Shared) -> u64 {
    // All members follow at once in memory, but not at the same moment.
    tokio::time::sleep(Duration::from_millis(30)).await;
    guard.stats().copies.iter().map(|copy| copy.keys).sum()
}

#[tokio::test]
async fn rows_elsewhere_come_and_go_by_tickets() {
    let engine = made().await;
    let (one, two) = (open(&engine).await, open(&engine).await);
    let ticket = one.announce([b"a", b"b"]).await.expect("memory");
    assert!(two.may_contain(b"a") && two.may_contain(b"b"), "before the rows are written");
    ticket.done().await.expect("open");
    one.announce([b"b", b"c"]).await.expect("memory").rolled_back().await.expect("open");
    assert_eq!(keys(&two).await, 2, "only what the ticket brought in has left");
    two.retire([b"a"]).await.expect("memory").done().await.expect("memory");
    assert_eq!(keys(&one).await, 1);
    let row = |key: &[u8]| std::future::ready(Ok::<_, Error>(key.eq(b"b").then(|| key.to_vec())));
    assert_eq!(two.get_or_load(b"b", row).await.expect("memory"), Some(b"b".to_vec()));
    assert_eq!(two.get_or_load(b"a", row).await.expect("memory"), None);
    assert!(matches!(one.insert(b"a", b"").await, Err(Error::Beside)));
    assert!(matches!(one.get(b"a").await, Err(Error::Beside)));
}

#[tokio::test]
async fn a_key_that_was_announced_meanwhile_does_not_leave() {
    let engine = made().await;
    let (one, two) = (open(&engine).await, open(&engine).await);
    one.announce([b"k"]).await.expect("memory").done().await.expect("open");
    // One deletes the row, the other writes it anew and is done before the first.
    let retirement = one.retire([b"k"]).await.expect("memory");
    two.announce([b"k"]).await.expect("memory").done().await.expect("open");
    retirement.done().await.expect("memory");
    assert_eq!(keys(&one).await, 1);
    // An announcement that was open when the retirement began.
    let ticket = two.announce([b"k"]).await.expect("memory");
    let retirement = one.retire([b"k"]).await.expect("memory");
    ticket.done().await.expect("open");
    retirement.done().await.expect("memory");
    assert_eq!(keys(&one).await, 1);
    // Two that bring in the same key: the first takes its own back.
    let first = one.announce([b"new"]).await.expect("memory");
    let second = two.announce([b"new"]).await.expect("memory");
    second.done().await.expect("open");
    first.rolled_back().await.expect("open");
    assert!(one.may_contain(b"new") && two.may_contain(b"new"));
    // In the same process too.
    let first = one.announce([b"own"]).await.expect("memory");
    one.announce([b"own"]).await.expect("memory").done().await.expect("open");
    first.rolled_back().await.expect("open");
    assert!(one.may_contain(b"own"));
}

#[tokio::test]
async fn a_resync_finds_what_was_written_past_the_guard_and_what_dead_processes_left() {
    let engine = made().await;
    let (alive, dead) = (open(&engine).await, open(&engine).await);
    alive.announce([b"kept", b"lost"]).await.expect("memory").done().await.expect("open");
    drop(dead.announce([b"half"]).await.expect("memory"));
    drop(dead);
    let open = alive.announce([b"open"]).await.expect("memory");
    let members = async || {
        engine.members(Shard(0)).await.expect("memory").len().max(engine.members(Shard(1)).await.expect("memory").len())
    };
    while members().await > 1 {
        tokio::time::sleep(LEASE / 10).await;
    }
    let rows = || async { Ok(vec![b"kept".to_vec(), b"past".to_vec()]) };
    let resynced = alive.resync(rows).await.expect("memory");
    let Resynced { keys: found, added, removed, closed, .. } = resynced;
    assert_eq!(
        (found, added, removed, closed),
        (2, 1, 2, 1),
        "`past` is new; `lost` and `half` are gone; `half` was open"
    );
    assert!([&b"kept"[..], b"past", b"open"].iter().all(|key| alive.may_contain(*key)));
    assert_eq!(keys(&alive).await, 3);
    open.done().await.expect("open");
    let again = alive
        .resync(|| async { Ok(vec![b"kept".to_vec(), b"past".to_vec(), b"open".to_vec()]) })
        .await
        .expect("memory");
    assert_eq!((again.added, again.removed, again.closed), (0, 0, 0));
}

#[tokio::test]
async fn a_row_that_a_resync_has_found_stays_when_an_older_ticket_is_rolled_back() {
    let engine = made().await;
    let (one, two) = (open(&engine).await, open(&engine).await);
    // It brings the key in, and somebody else has written the row past all guards.
    let ticket = one.announce([b"k"]).await.expect("memory");
    two.resync(|| async { Ok(vec![b"k".to_vec()]) }).await.expect("memory");
    ticket.rolled_back().await.expect("open");
    assert!(one.may_contain(b"k") && two.may_contain(b"k"));
    assert_eq!(keys(&two).await, 1);
}

/// Random numbers that are the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_denied_in_any_order_of_tickets() {
    let engine = made().await;
    let members = [open(&engine).await, open(&engine).await, open(&engine).await];
    let rows: Arc<Mutex<BTreeSet<u64>>> = Arc::default();
    let workers = (0..6u64).map(|own| {
        let (members, rows) = (members.clone(), Arc::clone(&rows));
        tokio::spawn(async move {
            let (guard, mut random) = (&members[own as usize % 3], Random(own));
            for _ in 0..150 {
                let row = random.below(4);
                let key = row.to_be_bytes();
                match random.below(3) {
                    0 => {
                        let ticket = guard.announce([key]).await.expect("memory");
                        if random.below(3) > 0 {
                            rows.lock().expect("no panic").insert(row);
                            tokio::task::yield_now().await;
                            ticket.done().await.expect("open");
                        } else {
                            ticket.rolled_back().await.expect("open");
                        }
                    }
                    1 => {
                        let retirement = guard.retire([key]).await.expect("memory");
                        rows.lock().expect("no panic").remove(&row);
                        tokio::task::yield_now().await;
                        retirement.done().await.expect("memory");
                    }
                    _ => {
                        // Held while the filters are asked, so that no row is deleted in between.
                        let rows = rows.lock().expect("no panic");
                        for (member, row) in members.iter().flat_map(|member| rows.iter().map(move |row| (member, row)))
                        {
                            assert!(member.may_contain(&row.to_be_bytes()), "row {row} is there");
                        }
                    }
                }
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.expect("no row is denied");
    }
}
