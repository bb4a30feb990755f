//! Shared sets on a real PostgreSQL server.

use std::sync::Arc;
use std::time::Duration;
use twiceshy_shared::servers::{self, PostgresServer};
use twiceshy_shared::{Engine, EngineError, Level, MemberId, PostgresEngine, Set, Shard, Shared, Survey, contract};

fn server() -> Option<PostgresServer> {
    if !PostgresServer::is_installed() {
        servers::skip("postgres");
        return None;
    }
    Some(PostgresServer::start().expect("a server"))
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[tokio::test]
async fn the_engine_keeps_its_contract() {
    let Some(server) = server() else { return };
    let engine = |set: &str| PostgresEngine::new(&server.address(), set).expect("an address");
    contract::check(&engine("checked")).await.expect("the contract");
    contract::check_news(&engine("checked"), &engine("checked")).await.expect("the contract");
}

#[tokio::test]
async fn members_agree_on_a_real_server_that_is_restarted() {
    let Some(mut server) = server() else { return };
    let address = server.address();
    let engine = || PostgresEngine::new(&address, "users").expect("an address");
    Set::new().expected_keys(500).shards(2).create(&engine()).await.expect("a new set");
    let members = [Shared::open(engine()).await.expect("a set"), Shared::open(engine()).await.expect("a set")];
    for number in 0..100 {
        members[number as usize % 2].insert(&key(number), b"v").await.expect("a server");
        assert!(members.iter().all(|member| member.may_contain(&key(number))));
    }
    members[0].insert_all((100..5_000).map(|number| (key(number), b"v"))).await.expect("a server");
    assert!(members.iter().all(|member| (0..5_000).all(|number| member.may_contain(&key(number)))));
    for number in 0..50 {
        assert!(members[0].remove(&key(number)).await.expect("a server"));
        assert_eq!(members[1].get(&key(number)).await.expect("a server"), None);
    }
    server.restart(true).expect("a server");
    // The first requests over broken connections may fail.
    let mut again = Err(None);
    for _ in 0..100 {
        again = members[0].insert(b"after", b"v").await.map_err(Some);
        if again.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    again.expect("the server is back");
    assert!(members.iter().all(|member| member.may_contain(b"after")));
    let stats = members.each_ref().map(Shared::stats);
    assert!(stats.iter().all(|stats| stats.diverged == 0), "{stats:?}");
    assert_eq!(stats[0].copies.iter().map(|copy| copy.keys).sum::<u64>(), 4_951);
}

#[tokio::test]
async fn rows_written_with_plain_sql_are_seen_within_the_time() {
    let Some(server) = server() else { return };
    let engine = PostgresEngine::new(&server.address(), "plain").expect("an address");
    let within = Duration::from_millis(400);
    Set::new().level(Level::Within(within)).create(&engine).await.expect("a new set");
    let guard = Shared::open(engine).await.expect("a set");
    assert!(!guard.may_contain(b"k"));
    server.run_sql("INSERT INTO plain.value VALUES ('k', 'v'), ('l', 'v')").expect("a server");
    tokio::time::sleep(within + within / 4).await;
    assert!(guard.may_contain(b"k") && guard.may_contain(b"l"));
    assert_eq!(guard.get(b"k").await.expect("a server"), Some(b"v".to_vec()));
    server
        .run_sql("UPDATE plain.value SET key = 'm' WHERE key = 'k'; DELETE FROM plain.value WHERE key = 'l'")
        .expect("a server");
    tokio::time::sleep(within + within / 4).await;
    assert!(guard.may_contain(b"m"));
    let keys: u64 = guard.stats().copies.iter().map(|copy| copy.keys).sum();
    assert_eq!(keys, 1, "only `m` is left");
    assert!(server.run_sql("TRUNCATE plain.value").is_err(), "its keys would stay in the set");
}

#[tokio::test]
async fn rows_are_announced_however_they_were_written() {
    let Some(server) = server() else { return };
    let engine = PostgresEngine::new(&server.address(), "plain").expect("an address");
    let within = Duration::from_millis(400);
    Set::new().level(Level::Within(within)).create(&engine).await.expect("a new set");
    let guard = Shared::open(engine).await.expect("a set");
    let as_replica = |statement: &str| {
        server.run_sql(&format!("SET session_replication_role = replica; {statement}")).expect("a server");
    };
    as_replica("INSERT INTO plain.value VALUES ('loaded', 'v'), ('renamed', 'v')");
    as_replica("UPDATE plain.value SET key = 'named' WHERE key = 'renamed'");
    // Triggers that change the key, under statements that do not name it; and one that writes a row when the guard writes one.
    let function = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN";
    server
        .run_sql(&format!(
            "INSERT INTO plain.value VALUES ('mixed', 'v');
             CREATE FUNCTION lower() {function} NEW.key := 'lower'; RETURN NEW; END $$;
             CREATE TRIGGER lower BEFORE UPDATE ON plain.value FOR EACH ROW WHEN (OLD.key = 'mixed') EXECUTE FUNCTION lower();
             UPDATE plain.value SET value = 'w' WHERE key = 'mixed';
             CREATE FUNCTION copy() {function} INSERT INTO plain.value VALUES ('copy', 'v'); RETURN NULL; END $$;
             CREATE TRIGGER copy AFTER INSERT ON plain.value FOR EACH ROW WHEN (NEW.key = 'own') EXECUTE FUNCTION copy();
             CREATE FUNCTION other() {function} NEW.key := 'other'; RETURN NEW; END $$;
             CREATE TRIGGER other BEFORE UPDATE ON plain.value FOR EACH ROW WHEN (OLD.key = 'put') EXECUTE FUNCTION other();"
        ))
        .expect("a server");
    guard.insert(b"own", b"v").await.expect("a server");
    // The second one is an update of the guard's own.
    for value in [b"v", b"w"] {
        guard.insert(b"put", value).await.expect("a server");
    }
    tokio::time::sleep(within + within / 4).await;
    for key in ["loaded", "named", "lower", "own", "copy", "other"] {
        assert!(guard.get(key).await.expect("a server").is_some(), "the row of {key} is there");
    }
    let engine = PostgresEngine::new(&server.address(), "plain").expect("an address");
    while !engine.outbox(0, 10).await.expect("a server").is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let keys: u64 = guard.stats().copies.iter().map(|copy| copy.keys).sum();
    assert_eq!(keys, 6);
    drop(guard);
    // Values alone are not noted.
    server.run_sql("UPDATE plain.value SET value = 'x'").expect("a server");
    assert_eq!(engine.outbox(0, 10).await.expect("a server"), []);
}

/// The trigger that sets had first.
const OLD_TRIGGER: &str = "DROP TRIGGER note_row ON old.value; DROP TRIGGER note_key ON old.value;
    CREATE TRIGGER note_row AFTER INSERT OR UPDATE OF key OR DELETE ON old.value
        FOR EACH ROW WHEN (current_setting('twiceshy.own', true) IS DISTINCT FROM 'old') EXECUTE FUNCTION old.note_row();";

#[tokio::test]
async fn the_triggers_of_an_older_version_are_replaced_by_who_may_and_refused_by_others() {
    let Some(server) = server() else { return };
    let engine = || PostgresEngine::new(&server.address(), "old").expect("an address");
    let within = Duration::from_millis(400);
    Set::new().level(Level::Within(within)).create(&engine()).await.expect("a new set");
    let grants = "CREATE USER another PASSWORD 'p'; GRANT USAGE ON SCHEMA old TO another;
        GRANT ALL ON ALL TABLES IN SCHEMA old TO another;";
    server.run_sql(&format!("{OLD_TRIGGER} {grants}")).expect("a server");
    let (_, place) =
        server.address().split_once('@').map(|(user, place)| (user.to_owned(), place.to_owned())).expect("a user");
    let another = || PostgresEngine::new(&format!("postgres://another:p@{place}"), "old").expect("an address");
    let error = another().join(Shard(0), MemberId(1), 1).await.expect_err("it is not the owner").to_string();
    assert!(error.contains("let the owner of the table open the set once"), "{error}");
    let guard = Shared::open(engine()).await.expect("a set");
    another().join(Shard(0), MemberId(1), 1).await.expect("the triggers are those of this version");
    server
        .run_sql("SET session_replication_role = replica; INSERT INTO old.value VALUES ('k', 'v')")
        .expect("a server");
    tokio::time::sleep(within + within / 4).await;
    assert!(guard.may_contain(b"k"));
    // Somebody has disabled one, and forgotten it.
    server.run_sql("ALTER TABLE old.value DISABLE TRIGGER note_row").expect("a server");
    let guard = Shared::open(engine()).await.expect("a set");
    server.run_sql("INSERT INTO old.value VALUES ('l', 'v')").expect("a server");
    tokio::time::sleep(within + within / 4).await;
    assert!(guard.may_contain(b"l"));
}

#[tokio::test]
async fn a_set_that_was_made_anew_must_be_opened_again() {
    let Some(server) = server() else { return };
    let engine = || PostgresEngine::new(&server.address(), "anew").expect("an address");
    let set = Set::new().shards(4).lease(Duration::from_millis(400));
    set.create(&engine()).await.expect("a new set");
    let before = Shared::open(engine()).await.expect("a set");
    before.insert(b"old", b"v").await.expect("a server");
    server.run_sql("DROP SCHEMA anew CASCADE").expect("a server");
    set.create(&engine()).await.expect("a new set");
    for number in 0..20 {
        before.insert(&key(number), b"old").await.expect_err("it is another set");
    }
    let after = Shared::open(engine()).await.expect("the new set");
    after.insert_all((0..50).map(|number| (key(number), b"v"))).await.expect("a server");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert!((0..50).all(|number| before.may_contain(&key(number))));
    let error = before.get(&key(1)).await.expect_err("it has ended");
    assert_eq!(error.to_string(), "the set was made anew: open it again");
    assert!(before.stats().rejoined <= 4);
    let checked = Survey::check(Arc::new(engine())).await.expect("a server");
    assert_eq!((checked.problem(), checked.keys, checked.values), (None, 50, Some(50)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_the_server_gives_up_is_made_again() {
    let Some(server) = server() else { return };
    let engine = PostgresEngine::new(&server.address(), "locked").expect("an address");
    Set::new().create(&engine).await.expect("a new set");
    let guard = Shared::open(engine).await.expect("a set");
    guard.insert_all([(b"a", b"v"), (b"b", b"v")]).await.expect("a server");
    // The removal locks `a` and waits for `b`; then this waits for `a`, and the server gives one of them up.
    let foreign = tokio::task::spawn_blocking(move || {
        let lock = |key| format!("UPDATE locked.value SET value = 'x' WHERE key = '{key}';");
        let done = server.run_sql(&format!("BEGIN; {} SELECT pg_sleep(0.5); {} COMMIT", lock('b'), lock('a')));
        (server, done)
    });
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(guard.remove_all([b"a", b"b"]).await.expect("it is made again"), 2);
    let (_server, done) = foreign.await.expect("no panic");
    done.expect("it waited for a shorter time, so the removal was given up");
    assert_eq!(guard.get(b"a").await.expect("a server"), None);
}

/// Its connections are cut in the middle of requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_outlives_a_broken_connection_and_never_may_have_been_carried_out() {
    let Some(server) = server() else { return };
    let engine = PostgresEngine::new(&server.address(), "cut").expect("an address");
    Set::new().create(&engine).await.expect("a new set");
    let cutting = tokio::task::spawn_blocking(move || {
        for _ in 0..25 {
            let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'twiceshy'";
            server.run_sql(cut).expect("a server");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    });
    let keys = [(Shard(0), (&b"key"[..]).into())];
    while !cutting.is_finished() {
        engine.head(Shard(0)).await.expect("it is asked again");
        assert_eq!(engine.get(&keys).await.expect("it is asked again"), [None]);
    }
    drop(cutting.await.expect("no panic"));
    let error = engine.head(Shard(0)).await.expect_err("there is no server");
    assert!(matches!(error, EngineError::Failed(_)), "{error}");
    let change = engine.leave(Shard(0), MemberId(1)).await.expect_err("there is no server");
    assert!(matches!(change, EngineError::Failed(_)), "it was not sent: {change}");
}

#[tokio::test]
async fn keys_that_the_index_cannot_hold_are_refused_by_the_table_too() {
    let Some(server) = server() else { return };
    let engine = PostgresEngine::new(&server.address(), "long").expect("an address");
    Set::new().create(&engine).await.expect("a new set");
    assert!(server.run_sql("INSERT INTO long.value VALUES (repeat('k', 2001)::bytea, 'v')").is_err());
    server.run_sql("INSERT INTO long.value VALUES (repeat('k', 2000)::bytea, 'v')").expect("the longest one");
}

#[tokio::test]
async fn no_error_shows_the_password() {
    let Some(server) = server() else { return };
    let wrong = server.address().replace("postgres://postgres:", "postgres://postgres:secret");
    let engine = PostgresEngine::new(&wrong, "users").expect("an address");
    let error = Shared::open(engine).await.expect_err("a wrong password");
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("secret") && shown.contains("password authentication failed"), "{shown}");
    let engine = PostgresEngine::new("postgres://me:secret@127.0.0.1:1/x", "users").expect("an address");
    assert!(!format!("{engine:?}").contains("secret"));
    let error = Shared::open(engine).await.expect_err("nobody is there");
    assert!(!format!("{error} {error:?}").contains("secret"));
}
