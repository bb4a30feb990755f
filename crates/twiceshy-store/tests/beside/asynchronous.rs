//! Look-ups in an asynchronous runtime wait for nothing but their loader.

use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Poll;
use std::time::Duration;
use twiceshy_store::hooked::{Call, Hook, Hooked};
use twiceshy_store::{Beside, Memory, MemoryStore, Options};

/// Every call of the store waits while it is stalled.
#[derive(Default)]
struct Stall {
    stalled: Mutex<bool>,
    bell: Condvar,
    waits: AtomicBool,
    /// `true` if single entries can be read all the same.
    gets: AtomicBool,
}

impl Stall {
    fn pass(&self) {
        let mut stalled = self.stalled.lock().expect("no panic");
        while *stalled {
            self.waits.store(true, Ordering::SeqCst);
            stalled = self.bell.wait(stalled).expect("no panic");
        }
    }

    /// Stalls until the returned value is dropped, also if a test fails: otherwise the guard could not be closed.
    fn stalled(&self) -> Stalled<'_> {
        self.stall(true);
        Stalled(self)
    }

    fn stall(&self, stalled: bool) {
        *self.stalled.lock().expect("no panic") = stalled;
        self.bell.notify_all();
    }
}

struct Stalled<'a>(&'a Stall);

impl Drop for Stalled<'_> {
    fn drop(&mut self) {
        self.0.stall(false);
    }
}

impl Hook for Stall {
    fn before(&self, call: Call<'_>) {
        if !matches!(call, Call::Get) || !self.gets.load(Ordering::SeqCst) {
            self.pass();
        }
    }
}

type Stalling = Hooked<MemoryStore, Stall>;

fn name(key: u64) -> [u8; 8] {
    key.to_be_bytes()
}

fn adopted(keys: u64) -> Beside<Stalling> {
    // Checks would be counted among the loads.
    let options = Options::new().false_positive_rate(0.02).spot_check(None);
    let guard = options.open_beside(Stalling::default()).expect("an empty store");
    guard.adopt(|| Ok::<_, Infallible>((0..keys).map(|key| Ok(name(key))))).expect("memory");
    guard
}

/// Lets other tasks run once.
async fn let_others_run() {
    let mut first = true;
    poll_fn(|context| {
        if std::mem::take(&mut first) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
}

#[test]
fn look_ups_and_mistakes_do_not_wait_for_the_guards_own_file() {
    let guard = adopted(5_000);
    let stalled = guard.store().hook.stalled();
    runtime().block_on(async {
        let limit = Duration::from_secs(60);
        let asked = async {
            let mut loads = 0;
            for key in 0..15_000u64 {
                let key = name(key);
                let row = guard.get_or_load_async(&key, |key| {
                    loads += 1;
                    let there = u64::from_be_bytes(*key) < 5_000;
                    async move { Ok::<_, Infallible>(there.then_some(1)) }
                });
                let Ok(row) = row.await;
                assert_eq!(row.is_some(), u64::from_be_bytes(key) < 5_000);
                guard.was_absent(name(u64::MAX));
            }
            loads
        };
        let loads = tokio::time::timeout(limit, asked).await.expect("nothing waits for the file");
        assert!((5_050..5_600).contains(&loads), "the rows, and about 2 % of the others: {loads}");
        while !guard.store().hook.waits.load(Ordering::SeqCst) {
            // A thread of the guard waits, sooner or later.
            let_others_run().await;
        }
        // A ticket waits, but not the runtime.
        let ticket = guard.announce_async([name(9_000)]);
        let ticket = tokio::time::timeout(Duration::from_millis(50), ticket).await;
        assert!(ticket.is_err(), "it cannot be synced");
    });
    drop(stalled);
    guard.wait().expect("memory");
    assert!(guard.stats().adapted > 10, "what was handed over is learned from");
    assert_eq!(guard.tickets().dropped, 1, "the one that nobody waited for");
    assert!(guard.may_contain(name(9_000)));
}

#[test]
fn tasks_that_ask_for_one_key_share_one_load_and_one_that_is_cancelled_leaves_it_to_the_others() {
    let guard = Arc::new(adopted(10));
    let loads = Arc::new(AtomicU64::new(0));
    let go = Arc::new(AtomicBool::new(false));
    let ask = |guard: Arc<Beside<Stalling>>| {
        let (loads, go) = (Arc::clone(&loads), Arc::clone(&go));
        async move {
            let key = name(3);
            let row = guard.get_or_load_async(&key, |_| async {
                loads.fetch_add(1, Ordering::SeqCst);
                while !go.load(Ordering::SeqCst) {
                    let_others_run().await;
                }
                Ok::<_, Infallible>(Some(7u64))
            });
            row.await
        }
    };
    runtime().block_on(async {
        let tasks: Vec<_> = (0..20).map(|_| tokio::spawn(ask(Arc::clone(&guard)))).collect();
        for _ in 0..10 {
            let_others_run().await;
        }
        assert_eq!(loads.load(Ordering::SeqCst), 1);
        go.store(true, Ordering::SeqCst);
        for task in tasks {
            assert_eq!(task.await.expect("no panic"), Ok(Some(7)));
        }
        assert_eq!((loads.swap(0, Ordering::SeqCst), guard.tickets().shared), (1, 19));

        go.store(false, Ordering::SeqCst);
        let leader = tokio::spawn(ask(Arc::clone(&guard)));
        while loads.load(Ordering::SeqCst) == 0 {
            let_others_run().await;
        }
        let others: Vec<_> = (0..3).map(|_| tokio::spawn(ask(Arc::clone(&guard)))).collect();
        let_others_run().await;
        leader.abort();
        assert!(leader.await.is_err());
        go.store(true, Ordering::SeqCst);
        for task in others {
            assert_eq!(task.await.expect("no panic"), Ok(Some(7)));
        }
        assert_eq!(loads.load(Ordering::SeqCst), 4, "the one that was cancelled, and three for themselves");
    });
}

#[test]
fn tickets_are_taken_and_closed_in_a_runtime() {
    let guard = adopted(100);
    runtime().block_on(async {
        let ticket = guard.announce_async([name(500), name(501)]).await.expect("memory");
        assert!(guard.may_contain(name(500)));
        ticket.done_async().await.expect("memory");
        let ticket = guard.announce_async([name(600)]).await.expect("memory");
        ticket.rolled_back_async().await.expect("memory");
        let ticket = guard.retire([name(0)]).expect("memory");
        ticket.done_async().await.expect("memory");
        guard.retire([name(1)]).expect("memory").rolled_back_async().await.expect("memory");
    });
    assert_eq!((guard.stats().keys, guard.tickets().open), (101, 0));
}

/// A process dies while its transaction is on the way. The next one finds no row at first, and the filter is not to believe it.
#[test]
fn a_row_that_the_server_commits_after_its_client_has_died_is_found() {
    let memory = Memory::new();
    {
        let guard = Options::new()
            .open_beside(Stalling { inner: memory.open().expect("nobody has it open"), hook: Stall::default() })
            .expect("memory");
        guard.adopt(|| Ok::<_, Infallible>((0..50).map(|key| Ok(name(key))))).expect("memory");
        std::mem::forget(guard.announce([name(99)]).expect("memory"));
    }
    let guard = Options::new()
        .open_beside(Stalling { inner: memory.open().expect("nobody has it open"), hook: Stall::default() })
        .expect("memory");
    guard.wait().expect("memory");
    // Nobody can look at the keys behind a fingerprint, so what waits to be learned from goes on waiting.
    guard.store().hook.gets.store(true, Ordering::SeqCst);
    let _stalled = guard.store().hook.stalled();
    let before = guard.tickets().drifted;
    guard.was_absent(name(99));
    while guard.tickets().drifted == before && guard.may_contain(name(99)) {
        std::thread::yield_now();
    }
    assert!(guard.may_contain(name(99)), "its row may be there by now");
}
