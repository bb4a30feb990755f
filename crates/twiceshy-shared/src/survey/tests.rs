//! Surveys and checks of sets on the engine in memory, sound and damaged in each way.

use super::*;
use crate::engine::{Append, Entry};
use crate::guard::Shared;
use crate::memory::MemoryEngine;
use crate::names::{Announcement, SnapshotId, random};
use crate::record::{Record, What};
use crate::set::Set;
use twiceshy::HashKey;
use twiceshy::filter::Backed;
use twiceshy::remote::{Key, OrderWords};

const KEYS: u64 = 300;

fn set() -> Set {
    Set::new().expected_keys(2 * KEYS).shards(2).hash_key(HashKey::fixed(5))
}

fn key(number: u64) -> Key {
    Key::from(format!("key {number}").as_bytes())
}

/// A set with some keys, and nobody in it.
async fn made(set: Set) -> MemoryEngine {
    let engine = MemoryEngine::new();
    set.create(&engine).await.expect("a new engine");
    let guard = Shared::open(engine.clone()).await.expect("a set");
    guard.insert_all((0..KEYS).map(|number| (key(number).to_vec(), b"v"))).await.expect("memory");
    guard.close().await.expect("memory");
    engine
}

async fn checked(engine: &MemoryEngine) -> Checked {
    Survey::check(Arc::new(engine.clone())).await.expect("a set that nobody changes")
}

async fn description(engine: &MemoryEngine) -> Description {
    described(engine).await.expect("a set")
}

/// Appends a record that changes no filter, and more.
async fn append(engine: &MemoryEngine, shard: Shard, more: Append) {
    let record = if more.record.is_empty() { change(None) } else { more.record.clone() };
    let after = engine.head(shard).await.expect("memory");
    let append = Append { shard, after, tag: random(), record, ..more };
    assert!(matches!(engine.append(&append).await, Ok(crate::Appended::Done(_))));
}

fn change(digest: Option<u64>) -> Vec<u8> {
    Record { digest, ..Record::of(What::Change) }.to_bytes()
}

async fn filter(engine: &MemoryEngine) -> Box<dyn Backed> {
    description(engine).await.empty_filter().expect("usual options")
}

async fn entry(engine: &MemoryEngine, key: &Key) -> Entry {
    let (generation, words) = filter(engine).await.entries(key);
    Entry { generation, key: key.clone(), words }
}

async fn save(engine: &MemoryEngine, shard: Shard, bytes: &[u8], digest: u64) {
    let at = engine.head(shard).await.expect("memory");
    let snapshot = Snapshot { id: SnapshotId(random()), at, digest, bytes: bytes.len() as u64 };
    engine.save(shard, snapshot, bytes).await.expect("memory");
}

#[tokio::test]
async fn a_survey_tells_what_the_set_is_and_who_follows_it() {
    let engine = made(set().false_positive_rate(0.01).lease(Duration::from_secs(3))).await;
    let member = Shared::open(engine.clone()).await.expect("a set");
    let gone = Open { id: Announcement(7), member: MemberId(9), keys: vec![key(1), key(2)] };
    append(&engine, Shard(1), Append { open: vec![gone], ..Append::default() }).await;
    let survey = Survey::take(Arc::new(engine.clone())).await.expect("a set");
    assert_eq!((survey.kind, survey.rate, survey.level), (Kind::Telescoping, 0.01, Level::Exact));
    assert_eq!((survey.lease, survey.beside), (Duration::from_secs(3), false));
    assert_eq!((survey.keys(), survey.outbox), (KEYS, Waiting::default()));
    let digests = member.digests();
    for (shard, (at, digest)) in survey.shards.iter().zip(digests) {
        let filter = shard.filter.as_ref().expect("a filter");
        assert!(filter.cells > filter.keys && filter.local_bits > filter.keys && filter.log_bytes > filter.keys);
        assert_eq!(filter.log_records, shard.head.position, "no snapshot was saved");
        assert_eq!((shard.members.len(), shard.snapshot), (1, None));
        let of = shard.members[0];
        assert_eq!(of.lag, shard.head.position - of.acknowledged);
        if at == shard.head {
            assert_eq!(Some(filter.digest), digest);
        }
    }
    assert_eq!(survey.shards[0].announcements, Announced::default());
    assert_eq!(survey.shards[1].announcements, Announced { open: 1, keys: 2, abandoned: 1 });
    let copies = member.stats().copies;
    assert!(survey.shards.iter().zip(&copies).all(|(shard, copy)| shard.members[0].id == copy.member));
}

#[tokio::test]
async fn a_survey_does_not_join_and_needs_a_set() {
    let engine = made(set()).await;
    drop(Survey::take(Arc::new(engine.clone())).await.expect("a set"));
    let _ = checked(&engine).await;
    for shard in 0..2 {
        assert!(engine.members(Shard(shard)).await.expect("memory").is_empty());
    }
    let empty = || Arc::new(MemoryEngine::new());
    assert!(matches!(Survey::take(empty()).await, Err(Error::NoSet)));
    assert!(matches!(Survey::check(empty()).await, Err(Error::NoSet)));
}

#[tokio::test]
async fn rows_that_wait_for_their_record_are_counted_up_to_a_thousand() {
    let engine = made(set()).await;
    let of = description(&engine).await;
    for number in 1_000..1_999 {
        engine.write_past(of.shard(&key(number)), &key(number), Some(b"v"));
    }
    let waiting = || async { Survey::take(Arc::new(engine.clone())).await.expect("a set").outbox };
    assert_eq!(waiting().await, Waiting { count: 999, or_more: false });
    // They are not in the index yet, and no member denies them.
    assert_eq!(checked(&engine).await.problem(), None);
    engine.write_past(Shard(0), &key(1), None);
    engine.write_past(Shard(0), &key(2), None);
    assert_eq!(waiting().await, Waiting { count: 1_000, or_more: true });
}

#[tokio::test]
async fn every_kind_of_set_is_sound() {
    for kind in [Kind::Telescoping, Kind::Cyclic, Kind::Swapping, Kind::Quotient] {
        for level in [Level::Exact, Level::Within(Duration::from_secs(1))] {
            let engine = made(set().expected_keys(5 * KEYS).filter(kind).level(level)).await;
            let guard = Shared::open(engine.clone()).await.expect("a set");
            // With mistakes to learn from.
            for begin in (KEYS..4 * KEYS).step_by(50) {
                let values = (begin..begin + 50).map(|number| (key(number).to_vec(), b"v"));
                guard.insert_all(values).await.expect("memory");
            }
            for number in 0..500u64 {
                guard.get(&number.to_le_bytes()).await.expect("memory");
            }
            guard.remove_all((0..KEYS).map(|number| key(number).to_vec())).await.expect("memory");
            guard.close().await.expect("memory");
            let found = checked(&engine).await;
            let expected = Checked { keys: 3 * KEYS, values: Some(3 * KEYS), ..Checked::default() };
            assert_eq!(found, expected, "{kind:?} {level:?}");
        }
    }
}

#[tokio::test]
async fn a_set_that_grows_while_keys_come_can_still_be_loaded() {
    for _ in 0..10 {
        let engine = made(set()).await;
        let guard = Shared::open(engine.clone()).await.expect("a set");
        for begin in (KEYS..4 * KEYS).step_by(50) {
            let values = (begin..begin + 50).map(|number| (key(number).to_vec(), b"v"));
            guard.insert_all(values).await.expect("memory");
        }
        guard.close().await.expect("memory");
        assert_eq!(checked(&engine).await.problem(), None);
    }
}

#[tokio::test]
async fn a_value_whose_key_is_not_in_the_index_is_the_worst_problem_and_named() {
    let engine = made(set()).await;
    let stranger = Key::from(&b"str\nanger"[..]);
    let shard = description(&engine).await.shard(&stranger);
    let values = vec![(stranger, Some(b"v".to_vec()))];
    append(&engine, shard, Append { values, ..Append::default() }).await;
    // Another problem, which is not as bad.
    let lost = key(0);
    let (shard, entry) = (description(&engine).await.shard(&lost), entry(&engine, &lost).await);
    let values = vec![(lost, None)];
    append(&engine, shard, Append { remove: vec![entry], values, ..Append::default() }).await;
    let found = checked(&engine).await;
    let wrong = found.problem().expect("a problem");
    assert!(wrong.starts_with(r"the key str\nanger has a value and is not in the index"), "{wrong}");
    assert!(matches!(found.problems[..], [Problem::Denied(_), Problem::Disagree(..)]), "{found:?}");
}

#[tokio::test]
async fn an_index_that_has_lost_a_key_is_found_out() {
    let engine = made(set()).await;
    let (lost, of) = (key(3), description(&engine).await);
    let entry = entry(&engine, &lost).await;
    append(&engine, of.shard(&lost), Append { remove: vec![entry], ..Append::default() }).await;
    let found = checked(&engine).await;
    assert_eq!((found.keys, found.values), (KEYS - 1, Some(KEYS)));
    assert!(matches!(&found.problems[..], [Problem::Denied(names), Problem::Disagree(..)] if names.first == ["key 3"]));
}

#[tokio::test]
async fn a_key_without_a_value_is_left_behind_unless_it_is_announced() {
    let engine = made(set()).await;
    let of = description(&engine).await;
    for number in 0..3 {
        let values = vec![(key(number), None)];
        append(&engine, of.shard(&key(number)), Append { values, ..Append::default() }).await;
    }
    let open = Open { id: Announcement(5), member: MemberId(8), keys: vec![key(0)] };
    append(&engine, of.shard(&key(0)), Append { open: vec![open], ..Append::default() }).await;
    let found = checked(&engine).await;
    assert_eq!((found.left_behind, found.problem()), (2, None));
}

#[tokio::test]
async fn a_key_in_the_wrong_shard_is_found_out() {
    let engine = made(set()).await;
    let (lost, of) = (key(3), description(&engine).await);
    let (right, entry) = (of.shard(&lost), entry(&engine, &lost).await);
    append(&engine, right, Append { remove: vec![entry.clone()], ..Append::default() }).await;
    append(&engine, Shard(1 - right.0), Append { add: vec![entry], ..Append::default() }).await;
    let found = checked(&engine).await;
    let is = |kind: fn(&Problem) -> bool| found.problems.iter().any(kind);
    assert!(is(|problem| matches!(problem, Problem::Misplaced(_, names) if names.first == ["key 3"])), "{found:?}");
    assert!(is(|problem| matches!(problem, Problem::Denied(names) if names.first == ["key 3"])), "{found:?}");
}

#[tokio::test]
async fn entries_with_wrong_words_are_found_out_in_every_order() {
    for (kind, order) in [(Kind::Telescoping, 0), (Kind::Cyclic, 0), (Kind::Cyclic, 3)] {
        let engine = made(set().filter(kind)).await;
        let (moved, of) = (key(3), description(&engine).await);
        let right = entry(&engine, &moved).await;
        let mut words = right.words.as_slice().to_vec();
        words[order] ^= 1 << 40;
        let wrong = Entry { words: OrderWords::new(&words), ..right.clone() };
        append(&engine, of.shard(&moved), Append { remove: vec![right], add: vec![wrong], ..Append::default() }).await;
        let found = checked(&engine).await;
        let is = |kind: fn(&Problem) -> bool| found.problems.iter().any(kind);
        assert!(is(|problem| matches!(problem, Problem::WrongEntries(_, names) if names.first == ["key 3"])));
        assert_eq!(is(|problem| matches!(problem, Problem::Stray(_, 1))), order > 0, "{found:?}");
    }
}

#[tokio::test]
async fn a_filter_that_turns_keys_away_is_found_out() {
    let engine = made(set()).await;
    let (bytes, digest) = record::save(&*filter(&engine).await);
    save(&engine, Shard(1), &bytes, digest).await;
    let found = checked(&engine).await;
    assert!(matches!(found.problems[..], [Problem::TurnedAway(Shard(1), _)]), "{found:?}");
}

#[tokio::test]
async fn a_filter_with_a_key_too_many_is_found_out() {
    let engine = made(set()).await;
    let of = description(&engine).await;
    let source = Source { engine: &engine, described: &of, shard: Shard(0) };
    let Ok(mut loaded) = load(&source).await else { panic!("a filter") };
    let known = twiceshy::remote::ByHash::new();
    let more = (0..).map(|number: u64| number.to_le_bytes()).find(|key| !loaded.filter.contains(key));
    let operation = twiceshy::filter::Operation::Insert(more.as_ref().expect("an absent key"));
    let plan = loaded.filter.plan(operation, &known).expect("room");
    loaded.filter.apply(plan).expect("its own plan");
    let (bytes, digest) = record::save(&*loaded.filter);
    save(&engine, Shard(0), &bytes, digest).await;
    let found = checked(&engine).await;
    assert!(matches!(found.problems[..], [Problem::Disagree(Shard(0), _)]), "{found:?}");
}

#[tokio::test]
async fn a_filter_that_cannot_be_loaded_is_found_out_and_surveyed() {
    let snapshot = Snapshot { id: SnapshotId(1), at: Head::default(), digest: 2, bytes: 3 };
    let switch = Record::of(What::Switch { to: snapshot }).to_bytes();
    for (record, why) in [
        (b"garbage".to_vec(), "checksum"),
        (change(Some(1)), "digest"),
        (switch, "a saved filter is gone"),
        (Vec::new(), "a saved filter does not match its digest"),
    ] {
        let engine = made(set()).await;
        if record.is_empty() {
            let (mut bytes, digest) = record::save(&*filter(&engine).await);
            bytes[50] ^= 4;
            save(&engine, Shard(0), &bytes, digest).await;
        } else {
            append(&engine, Shard(0), Append { record, ..Append::default() }).await;
        }
        let found = checked(&engine).await;
        assert!(
            matches!(&found.problems[..], [Problem::Unloadable(Shard(0), what)] if what.contains(why)),
            "{found:?}"
        );
        let survey = Survey::take(Arc::new(engine)).await.expect("a set");
        assert!(survey.shards[0].filter.as_ref().is_err_and(|what| what.contains(why)));
        assert!(survey.shards[1].filter.is_ok());
    }
}

#[tokio::test]
async fn a_check_while_others_work_finds_nothing_wrong() {
    let engine = made(set()).await;
    let guard = Shared::open(engine.clone()).await.expect("a set");
    let writer = tokio::spawn(async move {
        for round in 0..40u64 {
            let keys: Vec<u64> = (round * 10..round * 10 + 10).collect();
            guard.insert_all(keys.iter().map(|number| (key(1_000 + number).to_vec(), b"v"))).await.expect("memory");
            guard.remove_all(keys.iter().map(|number| key(*number).to_vec())).await.expect("memory");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        guard.close().await.expect("memory");
    });
    let mut checks = 0;
    while !writer.is_finished() {
        match Survey::check(Arc::new(engine.clone())).await {
            Ok(found) => assert_eq!(found.problem(), None),
            Err(Error::Moving(_)) => {}
            Err(error) => panic!("{error}"),
        }
        checks += 1;
    }
    writer.await.expect("no panic");
    assert!(checks > 2, "{checks}");
    assert_eq!(checked(&engine).await.problem(), None);
}
