//! Several members of one set on a real PostgreSQL server.

use std::time::{Duration, Instant};
use twiceshy_shared::servers::{self, PostgresServer};
use twiceshy_shared::{Level, PostgresEngine, Set, Shared};

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
async fn members_agree_on_a_real_server() {
    let Some(server) = server() else { return };
    let engine = || PostgresEngine::new(&server.address(), "users").expect("an address");
    Set::new().expected_keys(500).shards(2).create(&engine()).await.expect("a new set");
    let members = [Shared::open(engine()).await.expect("a set"), Shared::open(engine()).await.expect("a set")];
    let begin = Instant::now();
    for number in 0..100 {
        members[number as usize % 2].insert(&key(number), b"v").await.expect("a server");
        assert!(members.iter().all(|member| member.may_contain(&key(number))));
    }
    println!("100 insertions: {:?}", begin.elapsed());
    let begin = Instant::now();
    members[0].insert_all((100..5_000).map(|number| (key(number), b"v"))).await.expect("a server");
    println!("4,900 insertions: {:?}", begin.elapsed());
    assert!(members.iter().all(|member| (0..5_000).all(|number| member.may_contain(&key(number)))));
    for number in 0..50 {
        assert!(members[0].remove(&key(number)).await.expect("a server"));
        assert_eq!(members[1].get(&key(number)).await.expect("a server"), None);
    }
    println!("{:#?}", members[0].stats());
    println!("{:#?}", members[1].stats());
    let _ = (Level::Exact, Duration::ZERO);
}
