//! Shared sets on a real PostgreSQL server.

use std::time::Duration;
use twiceshy_shared::servers::{self, PostgresServer};
use twiceshy_shared::{Level, PostgresEngine, Set, Shared, contract};

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
