//! What a filter has learned survives growth, another hash key, and the loss of the filter.

use twiceshy::filter::Progress;
use twiceshy::memory::{Limits, Memory};
use twiceshy::remote::{ByHash, Mirror, Remote};
use twiceshy::testing::Faulty;
use twiceshy::{AdaptiveFilter, Backed, Error, HashKey, Kind};

const KEYS: u64 = 4_000;

type Any<R> = AdaptiveFilter<dyn Backed, R>;

fn learners() -> impl Iterator<Item = Kind> {
    Kind::ALL.iter().copied().filter(|kind| kind.learns())
}

fn filled<R: Remote>(kind: Kind, remote: R) -> Any<R> {
    let mut filter = kind.build(KEYS, 1.0 / 128.0, HashKey::fixed(3), remote).expect("options");
    for key in 0..KEYS {
        filter.insert(&key).expect("there is room");
    }
    filter
}

/// Asks for ten absent keys for each stored one, four times each, and returns the fixed mistakes.
fn taught<R: Remote>(filter: &mut Any<R>) -> Vec<u64> {
    let mut wrong = Vec::new();
    for round in 0..4 {
        for query in KEYS..11 * KEYS {
            if filter.contains(&query) {
                filter.was_wrong(&query).expect("memory");
                if round == 0 {
                    wrong.push(query);
                }
            }
        }
    }
    wrong.retain(|query| !filter.contains(query));
    let kind = filter.filter().kind();
    assert!(wrong.len() > 150, "{kind}: {} mistakes say little", wrong.len());
    wrong
}

fn again<R: Remote>(filter: &Any<R>, fixed: &[u64]) -> usize {
    fixed.iter().filter(|query| filter.contains(*query)).count()
}

/// At most 1 % of what was fixed is wrong again.
fn holds<R: Remote>(filter: &Any<R>, fixed: &[u64], what: &str) {
    let (wrong, kind) = (again(filter, fixed), filter.filter().kind());
    assert!(wrong * 100 <= fixed.len(), "{kind}, {what}: {wrong} of {}", fixed.len());
    assert_eq!(filter.validate(), Ok(()), "{kind}, {what}");
    assert!((0..KEYS).all(|key| filter.contains(&key)), "{kind}, {what}");
}

#[test]
fn fixed_mistakes_stay_fixed_in_larger_tables_and_under_another_hash_key() {
    for kind in learners() {
        let mut filter = filled(kind, ByHash::new());
        let fixed = taught(&mut filter);
        assert!(filter.memory().len() as usize >= fixed.len(), "{kind}");
        for times in 1..=4 {
            filter.grow(filter.filter().cells() * 2).expect("memory");
            holds(&filter, &fixed, &format!("after growing {times} times"));
        }
        filter.rekey(HashKey::fixed(9)).expect("memory");
        holds(&filter, &fixed, "under another hash key");
    }
}

/// A test that cannot fail would show nothing: without a memory much is wrong again.
#[test]
fn without_a_memory_a_new_hash_key_brings_mistakes_back() {
    for kind in learners() {
        let mut filter = filled(kind, ByHash::new());
        filter.limit_memory(Limits::OFF);
        let fixed = taught(&mut filter);
        assert!(filter.memory().is_empty(), "{kind}");
        filter.grow(filter.filter().cells()).expect("memory");
        let rebuilt = again(&filter, &fixed);
        filter.rekey(HashKey::fixed(9)).expect("memory");
        assert!(rebuilt.max(again(&filter, &fixed)) > 0, "{kind}");
    }
}

#[test]
fn a_mirror_is_told_what_the_new_table_learns() {
    for kind in learners().filter(|kind| kind.has_cells()) {
        let mut filter = filled(kind, Mirror::new());
        let fixed = taught(&mut filter);
        filter.grow(filter.filter().cells() * 2).expect("memory");
        holds(&filter, &fixed, "after growing");
        filter.rekey(HashKey::fixed(9)).expect("memory");
        holds(&filter, &fixed, "under another hash key");
    }
}

#[test]
fn a_filter_that_was_lost_is_taught_from_the_saved_memory() {
    for kind in learners() {
        let mut filter = filled(kind, ByHash::new());
        let fixed = taught(&mut filter);
        let mut saved = Vec::new();
        filter.memory().save(&mut saved).expect("memory");
        let remote = filter.into_remote();
        let mut filter = kind.recover(KEYS, 1.0 / 128.0, HashKey::fixed(8), remote).expect("the keys");
        let memory = Memory::load(&mut &*saved, Limits::default(), KEYS).expect("what was saved");
        filter.set_memory(memory);
        filter.teach().expect("memory");
        holds(&filter, &fixed, "made anew");
    }
}

/// A stored key is never learned from, even if it is remembered as a query.
#[test]
fn a_mistake_that_is_inserted_stays_in_the_set_and_takes_over_the_memory() {
    for kind in learners() {
        let mut filter = filled(kind, ByHash::new());
        let fixed = taught(&mut filter);
        let inserted = &fixed[..20];
        for query in inserted {
            assert!(filter.insert(query).expect("there is room"), "{kind}");
            let queries = filter.memory().queries_of(&query.to_be_bytes()).count();
            assert!(queries >= 1, "{kind}: the key that it was mistaken for");
        }
        filter.grow(filter.filter().cells() * 2).expect("memory");
        filter.rekey(HashKey::fixed(9)).expect("memory");
        assert!(inserted.iter().all(|key| filter.contains(key)), "{kind}");
        holds(&filter, &fixed[20..], "beside keys that were mistakes");
    }
}

/// A lesson changes the filter, so it must wait until it is known whether a commit has happened: its plan would no longer apply.
#[test]
fn a_filter_in_doubt_is_not_taught_and_loses_no_key() {
    for kind in learners() {
        for happens in [true, false] {
            let mut filter = filled(kind, Faulty::new(ByHash::new()));
            let fixed = taught(&mut filter);
            let mut saved = Vec::new();
            filter.memory().save(&mut saved).expect("memory");
            let remote = filter.into_remote();
            let mut filter = kind.recover(KEYS + 100, 1.0 / 128.0, HashKey::fixed(8), remote).expect("the keys");
            filter.set_memory(Memory::load(&mut &*saved, Limits::default(), KEYS).expect("what was saved"));
            filter.remote_mut().lose_answer(happens);
            assert!(filter.insert("one more").is_err(), "{kind}");
            assert!(matches!(filter.teach(), Err(Error::InDoubt)), "{kind}");
            filter.resolve().expect("the remote answers again");
            filter.teach().expect("memory");
            assert!(!happens || filter.contains("one more"), "{kind}: a stored key");
            holds(&filter, &fixed, "after a doubt");
        }
    }
}

/// Wherever a lesson is cut off, it can be had again.
#[test]
fn a_lesson_over_a_remote_that_fails_changes_nothing_that_counts() {
    for kind in learners() {
        let mut filter = filled(kind, Faulty::new(ByHash::new()));
        let fixed = taught(&mut filter);
        let mut failed = 0;
        for calls in [0, 1, 2, 5, 20, 100] {
            let mut copy = filter.clone();
            copy.begin_rekey(HashKey::fixed(9)).expect("memory");
            copy.remote_mut().fail_after(calls);
            failed += u64::from(copy.teach().is_err());
            copy.remote_mut().heal();
            while copy.rebuild_step(500).expect("memory") == Progress::More {}
            assert!(!copy.is_rebuilding(), "{kind}, {calls} calls");
            copy.teach().expect("memory");
            holds(&copy, &fixed, "after a failure");
        }
        assert!(failed > 0, "{kind}: nothing failed");
    }
}
