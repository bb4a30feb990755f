//! Rows that are written past all guards of a set whose rows are elsewhere.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level as Told, Metadata, Subscriber};
use twiceshy_shared::servers::{self, PostgresServer, RedisServer};
use twiceshy_shared::{
    Engine, Error, Fate, Level, MemoryEngine, Opening, PostgresEngine, RedisEngine, Set, Shared, Survey,
};

const LEASE: Duration = Duration::from_millis(300);

/// The rows, wherever they are.
type Rows = Arc<Mutex<BTreeSet<Vec<u8>>>>;

fn name(row: u32) -> Vec<u8> {
    format!("row {row}").into_bytes()
}

fn rows(numbers: std::ops::Range<u32>) -> Rows {
    Arc::new(Mutex::new(numbers.map(name).collect()))
}

async fn created(set: Set) -> MemoryEngine {
    let engine = MemoryEngine::new();
    set.beside().shards(2).expected_keys(2_000).create(&engine).await.expect("a new engine");
    engine
}

async fn exact() -> MemoryEngine {
    created(Set::new().lease(LEASE)).await
}

async fn open(engine: &MemoryEngine) -> Shared {
    Shared::open(engine.clone()).await.expect("a set")
}

/// How often the guard has said that it drifted.
fn drifts(guard: &Shared) -> Arc<AtomicU64> {
    let drifts = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&drifts);
    guard.on_drift(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    drifts
}

async fn resync(guard: &Shared, rows: &Rows) -> u64 {
    let all = rows.lock().expect("no panic").iter().cloned().collect();
    guard.resync(|| async { Ok(all) }).await.expect("memory").added
}

async fn get(guard: &Shared, rows: &Rows, key: &[u8]) -> Option<Vec<u8>> {
    let found = guard.get_or_load(key, async |key| Ok::<_, Error>(rows.lock().expect("no panic").get(key).cloned()));
    found.await.expect("no error")
}

/// Waits until this is so: members follow each other soon.
async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..2_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it is not so after 20 seconds");
}

/// Each call is the engine of another process.
type Engines<'a> = &'a dyn Fn() -> Arc<dyn Engine>;

async fn join(engines: Engines<'_>) -> Shared {
    Opening::new().open(engines()).await.expect("a set")
}

async fn survey_says(engines: Engines<'_>) -> bool {
    Survey::take(engines()).await.expect("a server").complete
}

/// A set over a table with rows loads until the first resync has ended.
async fn over_a_table_with_rows(engines: Engines<'_>) {
    let rows = rows(0..100);
    let (one, two) = (join(engines).await, join(engines).await);
    assert!(!one.is_complete() && !two.is_complete() && !survey_says(engines).await);
    for row in 0..100 {
        assert_eq!(get(&one, &rows, &name(row)).await, Some(name(row)), "it is there");
    }
    let opened = two.announce([name(100)]).await.expect("a server");
    assert!(one.may_contain(&name(7_000)), "nobody knows yet");
    assert_eq!(resync(&one, &rows).await, 100);
    until(|| one.is_complete() && two.is_complete()).await;
    assert!((0..101).all(|row| two.may_contain(&name(row))));
    until(|| (7_000..7_100).any(|row| !two.may_contain(&name(row)))).await;
    assert!(survey_says(engines).await);
    // So it is for a process that comes later.
    let three = join(engines).await;
    assert!(three.is_complete());
    until(|| (7_000..7_100).any(|row| !three.may_contain(&name(row)))).await;
    opened.done().await.expect("open");
}

/// A row that nobody announced is found, and then all are, in all processes.
async fn written_past_the_guards(engines: Engines<'_>) {
    let rows = rows(0..100);
    let (one, two) = (join(engines).await, join(engines).await);
    let drifts = drifts(&one);
    resync(&one, &rows).await;
    until(|| one.is_complete() && two.is_complete()).await;
    let hidden = (100..200).map(name).find(|key| !one.may_contain(key)).expect("nearly all");
    for row in 1_000..1_020 {
        assert_eq!(get(&one, &rows, &name(row)).await, None);
    }
    let stats = one.stats();
    assert!(stats.spot_checks > 10 && stats.clean_checks == stats.spot_checks, "{stats:?}");
    assert_eq!(stats.wrong_share_at_most(), 3.0 / stats.spot_checks as f64);
    rows.lock().expect("no panic").extend((100..200).map(name));
    assert_eq!(get(&one, &rows, &hidden).await, Some(hidden.clone()), "it was checked");
    let passes = |guard: &Shared| (100..200).all(|row| guard.may_contain(&name(row)));
    // Each shard has a record of its own.
    until(|| passes(&one) && passes(&two)).await;
    until(|| drifts.load(Ordering::SeqCst) > 0).await;
    assert!(!one.is_complete() && !two.is_complete());
    let stats = one.stats();
    assert_eq!((stats.denied_rows, stats.clean_checks, drifts.load(Ordering::SeqCst)), (1, 0, 1));
    assert!(!survey_says(engines).await);
    one.close().await.expect("a server");
    drop(two);
    let one = join(engines).await;
    assert!(!one.is_complete() && one.may_contain(&hidden), "it is remembered");
    assert_eq!(resync(&one, &rows).await, 100);
    assert!(one.is_complete() && (0..200).all(|row| one.may_contain(&name(row))));
    until(|| (7_000..7_100).any(|row| !one.may_contain(&name(row)))).await;
}

#[tokio::test]
async fn no_row_is_denied_in_silence_in_memory() {
    let engine = exact().await;
    over_a_table_with_rows(&|| Arc::new(engine.clone())).await;
    let engine = exact().await;
    written_past_the_guards(&|| Arc::new(engine.clone())).await;
    // A set whose values are in the engine has them all.
    let engine = MemoryEngine::new();
    Set::new().create(&engine).await.expect("a new engine");
    assert!(open(&engine).await.is_complete() && survey_says(&|| Arc::new(engine.clone())).await);
}

#[tokio::test]
async fn no_row_is_denied_in_silence_beside_postgres() {
    if !PostgresServer::is_installed() {
        return servers::skip("postgres");
    }
    let server = PostgresServer::start().expect("a server");
    let engine = |set: &str| PostgresEngine::new(&server.address(), set).expect("an address");
    for set in ["table", "past"] {
        Set::new().beside().shards(2).create(&engine(set)).await.expect("a new set");
    }
    over_a_table_with_rows(&|| Arc::new(engine("table"))).await;
    written_past_the_guards(&|| Arc::new(engine("past"))).await;
}

#[tokio::test]
async fn no_row_is_denied_in_silence_beside_redis() {
    if !RedisServer::is_installed() {
        return servers::skip("redis-server");
    }
    let server = RedisServer::start("").expect("a server");
    let engine = |set: &str| RedisEngine::open(&server.address(), set).expect("an address");
    for name in ["table", "past"] {
        let set = Set::new().beside().shards(2).level(Level::Within(LEASE));
        set.create(&engine(name)).await.expect("a new set");
    }
    over_a_table_with_rows(&|| Arc::new(engine("table"))).await;
    written_past_the_guards(&|| Arc::new(engine("past"))).await;
}

#[tokio::test]
async fn a_row_whose_key_is_on_its_way_raises_no_alarm() {
    for level in [Level::Exact, Level::Within(LEASE)] {
        let engine = created(Set::new().lease(LEASE).level(level)).await;
        let (one, two) = (open(&engine).await, open(&engine).await);
        resync(&one, &Rows::default()).await;
        until(|| one.is_complete()).await;
        for goes in [false, true] {
            let key = (0..).map(name).find(|key| !one.may_contain(key)).expect("nearly all");
            let before = one.stats().spot_raced;
            let found = one.get_or_load(&key, async |key| {
                // Another process writes it meanwhile, and may delete it again.
                two.announce([key]).await?.done().await?;
                if goes {
                    two.retire([key]).await?.done().await?;
                }
                Ok::<_, Error>(Some(key.to_vec()))
            });
            assert_eq!(found.await.expect("memory"), Some(key.clone()));
            until(|| one.stats().spot_raced > before).await;
        }
        assert_eq!((one.stats().denied_rows, one.is_complete()), (0, true), "{level:?}");
        // A row that was read before it was deleted, and is shown after.
        two.announce([b"seen"]).await.expect("memory").done().await.expect("open");
        two.retire([b"seen"]).await.expect("memory").done().await.expect("memory");
        until(|| !one.may_contain(b"seen")).await;
        assert!(one.seen(b"seen") && one.is_complete());
        // The loader reads a snapshot from before.
        let before = one.stats().spot_raced;
        let found = one.get_or_load(b"seen", async |key| Ok::<_, Error>(Some(key.to_vec()))).await;
        assert_eq!(found.expect("no error"), Some(b"seen".to_vec()));
        until(|| one.stats().spot_raced > before).await;
        assert_eq!((one.stats().denied_rows, one.is_complete()), (0, true), "{level:?}");
    }
}

#[tokio::test]
async fn an_alarm_outlives_a_rejoin_until_the_engine_knows_of_it() {
    let engine = exact().await;
    let is_lost = Arc::new(AtomicBool::new(false));
    let loses = Arc::clone(&is_lost);
    let line = engine.with_script(move |name| match name {
        "append" if loses.load(Ordering::SeqCst) => Fate::Lost,
        _ => Fate::Answered,
    });
    let (one, two) = (open(&line).await, open(&engine).await);
    resync(&one, &Rows::default()).await;
    until(|| one.is_complete() && two.is_complete()).await;
    let hidden = name(0);
    is_lost.store(true, Ordering::SeqCst);
    assert!(!one.seen(&hidden));
    // Nobody can say whether the alarm is in the log, so both shards are joined anew. The engine says that the set is complete.
    let has_joined = |guard: &Shared| guard.stats().copies.iter().all(|copy| copy.age.is_some());
    until(|| one.stats().rejoined >= 2 && has_joined(&one)).await;
    assert!(one.may_contain(&hidden) && !one.is_complete() && two.is_complete());
    is_lost.store(false, Ordering::SeqCst);
    until(|| two.may_contain(&hidden) && !two.is_complete()).await;
    // Each shard has an alarm of its own.
    for _ in 0..100 {
        resync(&one, &rows(0..1)).await;
        if one.is_complete() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    until(|| one.is_complete() && two.is_complete()).await;
    assert!(one.may_contain(&hidden) && two.may_contain(&hidden));
}

#[tokio::test]
async fn a_row_that_is_seen_without_the_guard_raises_the_same_alarm() {
    for level in [Level::Exact, Level::Within(LEASE)] {
        let (engine, rows) = (created(Set::new().lease(LEASE).level(level)).await, rows(0..100));
        let guard = open(&engine).await;
        resync(&guard, &rows).await;
        until(|| guard.is_complete()).await;
        assert!((0..100).all(|row| guard.seen(&name(row))));
        let (drifts, hidden) = (drifts(&guard), (100..).map(name).find(|key| !guard.may_contain(key)).expect("some"));
        assert_eq!(guard.seen(&hidden), level != Level::Exact);
        until(|| drifts.load(Ordering::SeqCst) > 0).await;
        assert!(!guard.is_complete() && guard.seen(&hidden));
        assert_eq!((guard.stats().seen, drifts.load(Ordering::SeqCst)), (102, 1));
        // Of what came after the rows were read, a resync knows nothing.
        resync(&guard, &rows).await;
        assert!(guard.is_complete());
        let done = guard.resync(|| async {
            guard.seen(&hidden);
            until(|| drifts.load(Ordering::SeqCst) > 1).await;
            Ok(Vec::new())
        });
        done.await.expect("memory");
        assert!(!guard.is_complete());
    }
}

#[tokio::test]
async fn a_loader_may_borrow_its_key_in_a_task_of_its_own_and_nothing_is_checked_if_that_is_off() {
    let (engine, rows) = (exact().await, rows(0..1));
    let guard = Opening::new().spot_check(None).open(Arc::new(engine) as Arc<dyn Engine>).await.expect("a set");
    resync(&guard, &Rows::default()).await;
    let task = tokio::spawn({
        let (guard, rows) = (guard.clone(), Arc::clone(&rows));
        async move {
            let id = 0u32.to_be_bytes();
            guard
                .get_or_load(&id, async |key| {
                    tokio::task::yield_now().await;
                    Ok::<_, Error>(rows.lock().expect("no panic").get(key).cloned())
                })
                .await
        }
    });
    assert_eq!(task.await.expect("no panic").expect("memory"), None);
    let hidden = (100..).map(name).find(|key| !guard.may_contain(key)).expect("nearly all");
    rows.lock().expect("no panic").insert(hidden.clone());
    for _ in 0..300 {
        assert_eq!(get(&guard, &rows, &hidden).await, None);
    }
    assert_eq!(guard.stats().spot_checks, 0);
}

/// Counts errors.
struct Errors(Arc<Mutex<Vec<String>>>);

impl Subscriber for Errors {
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "twiceshy_shared" && *about.level() == Told::ERROR
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = String::new();
        event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
            text += &format!("{}={value:?} ", field.name());
        });
        self.0.lock().expect("no panic").push(text);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn alarms_are_told_once_a_minute_without_the_key_and_figures_are_published() {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};
    let told = Arc::default();
    let recorder = DebuggingRecorder::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let guard = tracing::subscriber::with_default(Errors(Arc::clone(&told)), || {
        runtime.block_on(async {
            let engine = Arc::new(exact().await);
            let guard = Opening::new().name("users").open(engine).await.expect("a set");
            for _ in 0..3 {
                resync(&guard, &Rows::default()).await;
                assert!(guard.is_complete());
                metrics::with_local_recorder(&recorder, || guard.publish());
                let hidden = name(0);
                assert!(!guard.seen(&hidden) && !guard.is_complete());
            }
            guard
        })
    });
    let told = told.lock().expect("no panic");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("guard=\"users\"") && told[0].contains("resync") && !told[0].contains("row 0"),
        "{told:?}"
    );
    metrics::with_local_recorder(&recorder, || guard.publish());
    let found: std::collections::BTreeMap<String, f64> = recorder
        .snapshotter()
        .snapshot()
        .into_vec()
        .into_iter()
        .map(|(key, _, _, value)| {
            assert_eq!(key.key().labels().next().map(|label| label.value()), Some("users"));
            let value = match value {
                DebugValue::Counter(count) => count as f64,
                DebugValue::Gauge(value) => value.into_inner(),
                DebugValue::Histogram(_) => 0.0,
            };
            (key.key().name().to_owned(), value)
        })
        .collect();
    let of = |name: &str| found[&format!("twiceshy_{name}")];
    assert_eq!(
        (of("denied_rows_total"), of("seen_total"), of("complete"), of("wrong_share_at_most")),
        (3.0, 3.0, 0.0, 1.0)
    );
    assert!(of("lease_age_seconds") < 1.0 && of("spot_checks_total") == 0.0, "{found:?}");
}
