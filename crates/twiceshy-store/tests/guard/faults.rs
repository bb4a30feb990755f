//! A store that fails at each call of each operation, and one whose answer is lost: the error reaches the caller, nothing is
//! half done, and the next operation works.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use twiceshy::hash::HashKey;
use twiceshy_store::faulty::{Faulty, FaultyError};
use twiceshy_store::{Adapt, Checked, Error, Guard, Kind, MemoryError, MemoryStore, Options};

type Exact = BTreeMap<Vec<u8>, Vec<u8>>;
type Failure = Error<FaultyError<MemoryError>>;

fn key(number: u64) -> Vec<u8> {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec()
}

/// A guard over a hundred and fifty keys, and the store inside it to be told what to do.
fn guarded(kind: Kind) -> (Guard<Faulty<MemoryStore>>, Exact) {
    let options = Options::new()
        .filter(kind)
        .false_positive_rate(0.1)
        .adapt(Adapt::Always)
        .background(false)
        .hash_key(HashKey::fixed(1));
    let guard = options.open(Faulty::new(MemoryStore::new())).expect("an empty store");
    let exact: Exact = (0..150).map(|number| (key(number), b"first".to_vec())).collect();
    guard.insert_all(&exact).expect("nothing fails yet");
    (guard, exact)
}

/// What a user may do.
#[derive(Clone, Debug)]
enum Step {
    Insert(u64),
    Remove(u64),
    InsertAll(std::ops::Range<u64>),
    RemoveAll(std::ops::Range<u64>),
    Get(u64),
}

impl Step {
    fn perform(&self, guard: &Guard<Faulty<MemoryStore>>) -> Result<(), Failure> {
        match self {
            Step::Insert(number) => guard.insert(&key(*number), b"second").map(drop),
            Step::Remove(number) => guard.remove(&key(*number)).map(drop),
            Step::InsertAll(numbers) => guard.insert_all(numbers.clone().map(|n| (key(n), "third"))).map(drop),
            Step::RemoveAll(numbers) => guard.remove_all(numbers.clone().map(key)).map(drop),
            Step::Get(number) => guard.get(&key(*number)).map(drop),
        }
    }

    fn done_to(&self, exact: &Exact) -> Exact {
        let mut exact = exact.clone();
        match self {
            Step::Insert(number) => drop(exact.insert(key(*number), b"second".to_vec())),
            Step::Remove(number) => drop(exact.remove(&key(*number))),
            Step::InsertAll(numbers) => exact.extend(numbers.clone().map(|n| (key(n), b"third".to_vec()))),
            Step::RemoveAll(numbers) => numbers.clone().for_each(|number| drop(exact.remove(&key(number)))),
            Step::Get(_) => {}
        }
        exact
    }
}

fn steps() -> Vec<Step> {
    let mut deeds = vec![
        Step::Insert(3),
        Step::Insert(900),
        Step::Remove(5),
        Step::Remove(901),
        Step::InsertAll(140..190),
        Step::RemoveAll(100..200),
    ];
    // Some of these are false positives: the filter learns while the store fails.
    deeds.extend((1_000..1_040).map(Step::Get));
    deeds
}

fn agree(guard: &Guard<Faulty<MemoryStore>>, exact: &Exact, when: &str) {
    for number in (0..210).chain(895..905).chain(1_000..1_060) {
        let found = guard.get(&key(number)).expect("it is healed");
        assert_eq!(found, exact.get(&key(number)).cloned(), "{when}: key {number}");
    }
    assert_eq!(guard.len().expect("it is healed"), exact.len() as u64, "{when}");
    assert_eq!(guard.check().expect("it is healed"), Checked::Sound, "{when}");
}

#[test]
fn whatever_call_fails_nothing_is_half_done_and_the_next_operation_works() {
    for kind in Kind::ALL {
        for step in steps() {
            for calls in 0.. {
                let when = format!("{kind}, {step:?}, failing after {calls} calls");
                let (guard, exact) = guarded(*kind);
                guard.store().fail_after(calls);
                let outcome = step.perform(&guard);
                let untouched = guard.store().heal();
                match (&outcome, untouched) {
                    // An adaptation that failed is forgotten: the look-up was answered.
                    (Ok(()), _) => agree(&guard, &step.done_to(&exact), &when),
                    (Err(Error::Store(FaultyError::Told)), false) => agree(&guard, &exact, &when),
                    (Err(other), _) => panic!("{when}: {other}"),
                }
                step.perform(&guard).expect("it is healed");
                agree(&guard, &step.done_to(&exact), &when);
                if untouched {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_lost_answer_reaches_the_caller_and_is_found_out_by_the_next_operation() {
    for kind in Kind::ALL {
        for step in steps().into_iter().filter(|step| !matches!(step, Step::Get(_) | Step::Remove(901))) {
            for happens in [true, false] {
                let when = format!("{kind}, {step:?}, happens {happens}");
                let (guard, exact) = guarded(*kind);
                guard.store().lose_answer(happens);
                assert!(matches!(step.perform(&guard), Err(Error::Unknown(_))), "{when}");
                let now = if happens { step.done_to(&exact) } else { exact.clone() };
                // Look-ups are right before anybody has asked what became of it.
                for (key, value) in &now {
                    assert_eq!(guard.get(key).expect("it answers"), Some(value.clone()), "{when}");
                }
                agree(&guard, &now, &when);
                step.perform(&guard).expect("it answers again");
                agree(&guard, &step.done_to(&exact), &when);
            }
        }
    }
}

#[test]
fn a_store_that_fails_while_the_filter_grows_loses_nothing() {
    for kind in [Kind::Telescoping, Kind::Cyclic, Kind::Broom] {
        for step in [Step::Insert(5_000), Step::InsertAll(5_000..5_200)] {
            let mut calls = 0;
            loop {
                let when = format!("{kind}, {step:?}, failing after {calls} calls");
                let (guard, mut exact) = guarded(kind);
                let more: Exact = (2_000..2_760).map(|number| (key(number), b"more".to_vec())).collect();
                guard.insert_all(&more).expect("nothing fails yet");
                exact.extend(more);
                let before = guard.stats().cells;
                guard.store().fail_after(calls);
                let outcome = step.perform(&guard);
                let untouched = guard.store().heal();
                let now = if outcome.is_ok() { step.done_to(&exact) } else { exact.clone() };
                agree(&guard, &now, &when);
                step.perform(&guard).expect("it is healed");
                // What has begun ends with the insertions that follow.
                guard.insert_all((6_000..6_100).map(|number| (key(number), "last"))).expect("it is healed");
                assert!(guard.stats().cells > before, "{when}: it has not grown");
                assert_eq!(guard.check().expect("it is healed"), Checked::Sound, "{when}");
                if untouched {
                    break;
                }
                // Every call at first, then some of the many that bring keys along.
                calls += 1 + calls / 8;
            }
        }
    }
}

#[test]
fn a_store_that_panics_costs_its_caller_the_operation_and_nobody_a_key() {
    let guard = Options::new().open(Faulty::new(MemoryStore::new())).expect("an empty store");
    guard.insert_all((0..500).map(|number| (key(number), "value"))).expect("memory");
    guard.store().panic_at_commit();
    let panicked = catch_unwind(AssertUnwindSafe(|| guard.insert(&key(900), b"value")));
    assert!(panicked.is_err());
    assert!((0..500).all(|number| guard.contains(&key(number)).expect("memory")));
    assert!(guard.insert(&key(900), b"value").expect("memory"));
    assert!((0..500).all(|number| guard.contains(&key(number)).expect("memory")));
    let before = guard.stats().unfiltered;
    assert!(guard.contains(&key(900)).expect("memory"));
    assert_eq!(guard.stats().unfiltered, before, "its key is not pending for ever");
    assert_eq!(guard.check().expect("memory"), Checked::Sound);
}

#[test]
fn a_batch_that_fails_costs_neither_a_rebuild_nor_what_was_learned() {
    for kind in Kind::ALL.iter().filter(|kind| !kind.learning_writes()) {
        let ((guard, exact), (twin, _)) = (guarded(*kind), guarded(*kind));
        let absent = || (5_000..9_000).map(key);
        let wrong = |guard: &Guard<Faulty<MemoryStore>>| {
            let before = guard.stats().false_positives;
            absent().for_each(|key| assert_eq!(guard.get(&key).expect("it answers"), None));
            guard.stats().false_positives - before
        };
        assert_eq!(wrong(&guard), wrong(&twin), "{kind}");
        for lost in [false, true] {
            // Insertions and removals, enough that growth would begin.
            let batch = (0..400).map(|number| (key(2_000 + number), b"new"));
            match lost {
                true => guard.store().lose_answer(false),
                false => guard.store().fail_commit(),
            }
            assert!(guard.insert_all(batch).is_err(), "{kind}");
            guard.store().heal();
            agree(&guard, &exact, &format!("{kind}, lost {lost}"));
            agree(&twin, &exact, "the same questions");
        }
        let stats = guard.stats();
        assert_eq!((stats.rebuilt, stats.grown), (0, 0), "{kind}");
        assert_eq!(wrong(&guard), wrong(&twin), "{kind}: as if there had been no batch");
    }
}
