//! The engine on real Redis servers.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};
use twiceshy_shared::servers::{RedisCluster, RedisServer, skip};
use twiceshy_shared::{
    Append, Engine, EngineError, Error, Freshness, Level, MemberId, Opening, RedisEngine, Set, Shard, Shared, Survey,
    contract,
};

/// The stated time of the sets.
const WITHIN: Duration = Duration::from_millis(200);

/// The stated time, and some for a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// `true` if there is a server to test with.
fn is_installed() -> bool {
    if !RedisServer::is_installed() {
        skip("redis-server");
    }
    RedisServer::is_installed()
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

fn set(shards: u32) -> Set {
    Set::new().expected_keys(1_000).shards(shards).level(Level::Within(WITHIN))
}

/// Waits until something is so.
async fn eventually(what: &str, mut is: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is() {
        assert!(begin.elapsed() < SOON, "{what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
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

/// Inserts keys, as a program would that tries again.
async fn insert(member: &Shared, numbers: std::ops::Range<u64>) {
    let begin = Instant::now();
    while let Err(error) = member.insert_all(numbers.clone().map(|number| (key(number), b"v"))).await {
        assert!(begin.elapsed() < SOON, "{error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// No member denies any of these keys.
fn none_is_denied(when: &str, members: &[Shared], numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let denied = members.iter().position(|member| !member.may_contain(&key(number)));
        assert_eq!(denied, None, "key {number} is denied {when}");
    }
}

async fn three(open: impl Fn() -> RedisEngine) -> Vec<Shared> {
    let mut members = Vec::new();
    for _ in 0..3 {
        members.push(Shared::open(open()).await.expect("a set"));
    }
    members
}

#[tokio::test]
async fn a_server_keeps_the_contract() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("").expect("a server");
    let engine = RedisEngine::open(&server.address(), "a set").expect("a URL");
    assert_eq!(contract::check(&engine).await, Ok(()));
    let other = RedisEngine::open(&server.address(), "a set").expect("a URL");
    assert_eq!(contract::check_news(&engine, &other).await, Ok(()));
    // A set of another name is another set.
    let another = RedisEngine::open(&server.address(), "a set:0").expect("a URL");
    assert_eq!(contract::check(&another).await, Ok(()));
    assert!(contract::check(&other).await.is_err());
}

#[tokio::test]
async fn members_on_one_server_share_keys_mistakes_and_growth() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("").expect("a server");
    let open = || RedisEngine::open(&server.address(), "shared").expect("a URL");
    set(2).create(&open()).await.expect("a new server");
    let members = three(open).await;
    for number in 0..60 {
        let token = members[number as usize % 3].insert(&key(number), b"v").await.expect("a server");
        let seen = members[1].get_at(&key(number), &Freshness::AtLeast(token)).await.expect("a server");
        assert_eq!(seen, Some(b"v".to_vec()));
    }
    tokio::time::sleep(WITHIN).await;
    none_is_denied("after the stated time", &members, 0..60);
    for number in 0..30 {
        assert!(members[0].remove(&key(number)).await.expect("a server"));
        assert!(!members[0].remove(&key(number)).await.expect("a server"), "it was removed already");
    }
    insert(&members[0], 0..900).await;
    agree(&members).await;
    let mistakes: Vec<u64> = (10_000..30_000).filter(|number| members[0].may_contain(&key(*number))).collect();
    assert!(mistakes.len() > 20, "{}", mistakes.len());
    for number in &mistakes {
        assert_eq!(members[0].get(&key(*number)).await.expect("a server"), None);
    }
    eventually("not all is learned", || members[0].stats().learned as usize >= mistakes.len() * 9 / 10).await;
    agree(&members).await;
    let again = mistakes.iter().filter(|number| members[2].may_contain(&key(**number))).count();
    assert!(again <= mistakes.len() / 10, "{again} of {}", mistakes.len());
    for first in (900..6_000).step_by(300) {
        insert(&members[first as usize % 3], first..first + 300).await;
    }
    eventually("nobody grew", || members.iter().map(|member| member.stats().grown).sum::<u64>() >= 2).await;
    agree(&members).await;
    none_is_denied("after the set grew", &members, 0..6_000);
    let late = Shared::open(open()).await.expect("a set");
    agree(&[late, members[0].clone()]).await;
}

#[tokio::test]
async fn members_go_on_after_the_server_has_restarted() {
    if !is_installed() {
        return;
    }
    let mut server = RedisServer::start("appendonly yes").expect("a server");
    let url = server.address();
    let open = || RedisEngine::open(&url, "shared").expect("a URL");
    set(2).create(&open()).await.expect("a new server");
    let members = three(open).await;
    insert(&members[0], 0..500).await;
    agree(&members).await;
    server.kill();
    let error = members[1].insert(b"late", b"v");
    let refused = tokio::time::timeout(Duration::from_secs(2), error).await;
    // It is refused, or its answer is lost and it waits.
    assert!(!matches!(refused, Ok(Ok(_))), "an insertion without a server");
    server.restart().expect("a server");
    insert(&members[1], 500..600).await;
    tokio::time::sleep(WITHIN).await;
    none_is_denied("after the restart", &members, 0..600);
    agree(&members).await;
    assert_eq!(members[2].get(&key(3)).await.expect("a server"), Some(b"v".to_vec()));
    eventually("the copies are not fresh again", || {
        members.iter().all(|member| !member.may_contain(b"nobody has inserted this"))
    })
    .await;
}

#[tokio::test]
async fn members_notice_that_the_server_has_lost_records() {
    if !is_installed() {
        return;
    }
    let mut server = RedisServer::start("").expect("a server");
    let url = server.address();
    let open = || RedisEngine::open(&url, "shared").expect("a URL");
    set(1).create(&open()).await.expect("a new server");
    let members = three(open).await;
    insert(&members[0], 0..100).await;
    agree(&members).await;
    assert!(server.says("SAVE").expect("a server").contains("OK"));
    // These are lost.
    for number in 100..130 {
        members[1].insert(&key(number), b"v").await.expect("a server");
    }
    agree(&members).await;
    let before = members[0].stats().copies[0].at;
    server.kill();
    server.restart().expect("a server");
    let fresh = Shared::open(open()).await.expect("a set");
    insert(&fresh, 200..210).await;
    let engine = open();
    assert!(engine.head(Shard(0)).await.expect("a server").position < before.position, "nothing was lost");
    tokio::time::sleep(WITHIN).await;
    none_is_denied("after records were lost", &members, (0..100).chain(200..210));
    let all: Vec<Shared> = members.into_iter().chain([fresh]).collect();
    agree(&all).await;
    assert_eq!(all[0].get(&key(100)).await.expect("a server"), None);
}

/// A running process is told that its set was dropped and made anew, whether its shards have records or not. It denies no row of the new set in
/// silence, and changes nothing in it.
#[tokio::test]
async fn a_set_that_was_made_anew_must_be_opened_again() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("").expect("a server");
    let url = server.address();
    let open = || RedisEngine::open(&url, "shared").expect("a URL");
    set(4).create(&open()).await.expect("a new server");
    let before = Shared::open(open()).await.expect("a set");
    let follows_none = Opening::new().follow([]).open(Arc::new(open())).await.expect("a set");
    // Some shards have a record, others have none.
    let token = before.insert_all((0..2).map(|number| (key(number), b"old"))).await.expect("a server");
    assert!((1..4).contains(&token.positions().count()));
    assert!(server.says("FLUSHALL").expect("a server").contains("OK"));
    set(4).create(&open()).await.expect("the server is empty");
    // At once, before it may have noticed.
    for number in 0..40 {
        before.insert(&key(number), b"old").await.expect_err("it is another set");
    }
    let after = Shared::open(open()).await.expect("the new set");
    insert(&after, 0..200).await;
    tokio::time::sleep(WITHIN).await;
    let mut told = 0;
    for (guard, number) in (0..200).flat_map(|number| [(&before, number), (&follows_none, number)]) {
        assert!(guard.may_contain(&key(number)), "it does not know");
        match guard.get(&key(number)).await {
            Ok(value) => assert_eq!(value, Some(b"v".to_vec())),
            Err(error) => {
                assert_eq!(error.to_string(), "the set was made anew: open it again");
                told += 1;
            }
        }
    }
    assert!(told > 200, "{told}");
    for error in [
        before.insert(b"key", b"v").await.map(drop).expect_err("it has ended"),
        before.remove(b"key").await.map(drop).expect_err("it has ended"),
        before.get_all([b"key"]).await.map(drop).expect_err("it has ended"),
    ] {
        assert!(matches!(error, Error::MadeAnew), "{error}");
    }
    let rejoined = before.stats().rejoined;
    tokio::time::sleep(WITHIN * 2).await;
    assert_eq!(before.stats().rejoined, rejoined, "it does not try for ever");
    assert!(rejoined <= 4);
    let again = Shared::open(open()).await.expect("the new set");
    agree(&[after.clone(), again]).await;
    assert_eq!(after.stats().rejoined, 0);
    let checked = Survey::check(Arc::new(open())).await.expect("a server");
    assert_eq!((checked.problem(), checked.keys, checked.values), (None, 200, Some(200)));
    // A set that is gone is no empty set.
    assert!(server.says("FLUSHALL").expect("a server").contains("OK"));
    let begin = Instant::now();
    while !matches!(after.get(&key(0)).await, Err(Error::NoSet)) {
        assert!(begin.elapsed() < SOON, "it does not notice");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Both have no record yet, so their logs differ in nothing but the identity.
#[tokio::test]
async fn an_insertion_does_not_come_into_a_set_that_was_made_anew() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("").expect("a server");
    let open = || RedisEngine::open(&server.address(), "shared").expect("a URL");
    // So long that it does not notice before.
    let set = set(2).level(Level::Within(Duration::from_secs(20)));
    set.create(&open()).await.expect("a new server");
    let before = Shared::open(open()).await.expect("a set");
    server.says("FLUSHALL").expect("a server");
    set.create(&open()).await.expect("the server is empty");
    before.insert(&key(0), b"old").await.expect_err("it is another set");
    for shard in [0, 1] {
        assert_eq!(open().head(Shard(shard)).await.expect("a server").position, 0);
    }
    let begin = Instant::now();
    while !matches!(before.get(&key(0)).await, Err(Error::MadeAnew)) {
        assert!(begin.elapsed() < SOON, "it does not notice");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_cluster_keeps_the_contract_and_its_members_survive_a_failover() {
    if !is_installed() {
        return;
    }
    let mut cluster = RedisCluster::start().expect("a cluster");
    let urls = cluster.addresses();
    let open = |set: &str| {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        RedisEngine::open_cluster(&urls, set).expect("URLs")
    };
    assert_eq!(contract::check(&open("contract")).await, Ok(()));
    assert_eq!(contract::check_news(&open("contract"), &open("contract")).await, Ok(()));

    set(6).create(&open("shared")).await.expect("a new cluster");
    let members = three(|| open("shared")).await;
    insert(&members[0], 0..600).await;
    agree(&members).await;
    none_is_denied("before the failover", &members, 0..600);
    // What the replicas have is not lost.
    cluster.wait_until_whole().expect("a cluster");
    tokio::time::sleep(WITHIN).await;
    let primary = cluster.primary().expect("a cluster has primaries");
    cluster.servers()[primary].kill();
    // Some of these wait for the failover.
    for first in (600..900).step_by(50) {
        insert(&members[first as usize % 3], first..first + 50).await;
        none_is_denied("during the failover", &members, 0..600);
    }
    let reader = open("shared");
    tokio::time::sleep(WITHIN).await;
    none_is_denied("after the failover", &members, 0..900);
    agree(&members).await;
    let head = reader.head(Shard(0)).await.expect("a cluster");
    assert_eq!(head, members[0].stats().copies[0].at);
    for number in (0..900).step_by(50) {
        assert_eq!(members[2].get(&key(number)).await.expect("a cluster"), Some(b"v".to_vec()));
    }
    eventually("the copies are not fresh again", || {
        members.iter().all(|member| !member.may_contain(b"nobody has inserted this"))
    })
    .await;
    // The old primary comes back as a replica.
    cluster.servers()[primary].restart().expect("a server");
    cluster.wait_until_whole().expect("a cluster");
    insert(&members[1], 900..1_000).await;
    tokio::time::sleep(WITHIN).await;
    none_is_denied("after the old primary is back", &members, 0..1_000);
}

/// Keys that were in the set, by shard, and that all members deny.
async fn denied_keys(members: &[Shared], shards: u32) -> Vec<Vec<u64>> {
    let mut denied = vec![Vec::new(); shards as usize];
    for number in 0..30 * u64::from(shards) {
        let token = members[0].insert(&key(number), b"v").await.expect("a cluster");
        assert!(members[0].remove(&key(number)).await.expect("a cluster"));
        token.positions().for_each(|(shard, _)| denied[shard.0 as usize].push(number));
    }
    agree(members).await;
    for numbers in &mut denied {
        numbers.retain(|number| members.iter().all(|member| !member.may_contain(&key(*number))));
        assert!(!numbers.is_empty(), "a shard denies nothing");
    }
    denied
}

#[tokio::test]
async fn a_paused_primary_ends_the_leases_of_its_own_shards_only() {
    const SHARDS: u32 = 6;
    if !is_installed() {
        return;
    }
    let mut cluster = RedisCluster::start().expect("a cluster");
    for server in cluster.servers() {
        // Nobody takes over.
        server.says("CONFIG SET cluster-node-timeout 600000").expect("a server");
    }
    let urls = cluster.addresses();
    let open = || {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        RedisEngine::open_cluster(&urls, "shared").expect("URLs")
    };
    set(SHARDS).create(&open()).await.expect("a new cluster");
    let members = [Shared::open(open()).await.expect("a set"), Shared::open(open()).await.expect("a set")];
    let denied = denied_keys(&members, SHARDS).await;
    let primary = cluster.primary().expect("a cluster has primaries");
    let paused = &cluster.servers()[primary];
    let is_there = |shard: &u32| {
        paused.says(&format!("EXISTS twiceshy:{{shared:{shard}}}:head")).expect("a server").contains(":1\r\n")
    };
    let (its, others): (Vec<u32>, Vec<u32>) = (0..SHARDS).partition(is_there);
    assert!(!its.is_empty() && !others.is_empty(), "{its:?} {others:?}");
    paused.pause();
    tokio::time::sleep(WITHIN * 3).await;
    // Longer than any request waits for an answer.
    let (begin, mut asked, mut answered) = (Instant::now(), 0, 0);
    while begin.elapsed() < Duration::from_secs(8) {
        for member in &members {
            let denies = |number: &u64| !member.may_contain(&key(*number));
            assert!(!its.iter().any(|shard| denied[*shard as usize].iter().any(denies)), "a lease goes on");
            asked += others.len();
            answered += others.iter().filter(|shard| denied[**shard as usize].iter().all(denies)).count();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(answered * 10 > asked * 9, "the filter has answered {answered} of {asked} times");
    // Nobody was told that a membership has ended.
    assert!(members.iter().all(|member| member.stats().rejoined == 0));
    // News of the other shards come as before.
    let there = denied[others[0] as usize][0];
    let token = members[0].insert(&key(there), b"new").await.expect("its shard is there");
    assert_eq!(token.positions().map(|(shard, _)| shard.0).collect::<Vec<_>>(), [others[0]]);
    tokio::time::sleep(WITHIN).await;
    none_is_denied("while another shard's primary is paused", &members, [there].into_iter());
    assert_eq!(members[1].get(&key(there)).await.expect("its shard is there"), Some(b"new".to_vec()));
    paused.resume();
    eventually("the copies are not fresh again", || {
        members.iter().all(|member| its.iter().all(|shard| !member.may_contain(&key(denied[*shard as usize][0]))))
    })
    .await;
}

#[test]
fn a_connection_outlives_the_runtime_that_made_it() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("").expect("a server");
    let engine = RedisEngine::open(&server.address(), "shared").expect("a URL");
    for number in 0..3 {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(engine.join(Shard(0), MemberId(number), 1)).expect("a server");
    }
    let clients = server.says("INFO clients").expect("a server");
    // The engine's, and the one that asks.
    assert!(clients.contains("connected_clients:2\r\n"), "{clients}");
}

#[tokio::test]
async fn a_wrong_password_is_refused_and_not_shown() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("").expect("a server");
    let address = server.address();
    let password = address.split([':', '@']).nth(2).expect("a password").to_owned();
    let url = format!("redis://:a-wrong-word@127.0.0.1:{}", server.port());
    let engine = RedisEngine::open(&url, "shared").expect("a URL");
    let error = engine.create(b"", 1).await.expect_err("the password is wrong");
    assert!(matches!(error, EngineError::Failed(_)), "{error}");
    for text in [error.to_string(), format!("{error:?}"), format!("{engine:?}")] {
        assert!(!text.contains("wrong-word") && !text.contains(&password), "{text}");
    }
}

#[tokio::test]
async fn a_server_that_evicts_keys_is_refused() {
    if !is_installed() {
        return;
    }
    let server = RedisServer::start("maxmemory 100mb\nmaxmemory-policy allkeys-lru").expect("a server");
    let engine = RedisEngine::open(&server.address(), "shared").expect("a URL");
    let error = engine.create(b"", 1).await.expect_err("keys would be lost");
    assert!(error.to_string().contains("noeviction"), "{error}");
}

/// A server that answers until it is sent a script, and then ends the connection.
fn server_that_dies() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut bytes = [0; 1 << 16];
            while let Ok(len @ 1..) = stream.read(&mut bytes) {
                if bytes[..len].windows(7).any(|word| word == b"EVALSHA") {
                    break;
                }
                let commands = bytes[..len].iter().filter(|byte| **byte == b'*').count();
                let _ = stream.write_all(b"+OK\r\n".repeat(commands).as_slice());
            }
        }
    });
    port
}

#[tokio::test]
async fn a_change_whose_answer_is_lost_may_have_happened_and_one_that_was_not_sent_has_not() {
    let append = Append { tag: 5, ..Append::default() };
    let engine = RedisEngine::open(&format!("redis://127.0.0.1:{}", server_that_dies()), "shared").expect("a URL");
    let lost = engine.append(&append).await;
    assert!(matches!(lost, Err(EngineError::Unknown(_))), "{lost:?}");
    // What changes nothing is asked again, and fails in the end.
    let read = engine.walk(Shard(0), twiceshy::remote::Generation(0), None, 1).await;
    assert!(matches!(read, Err(EngineError::Failed(_))), "{read:?}");
    let nobody = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("it is bound").port();
    let engine = RedisEngine::open(&format!("redis://127.0.0.1:{nobody}"), "shared").expect("a URL");
    let unsent = engine.append(&append).await;
    assert!(matches!(unsent, Err(EngineError::Failed(_))), "{unsent:?}");
}
