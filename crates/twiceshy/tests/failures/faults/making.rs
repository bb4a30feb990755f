//! Failures and lost answers while a filter is built, or recovered from a set that the remote holds already.

use super::everywhere;
use super::scene::{BITS, CELLS, State, key, state};
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, Selectors, SwappingFilter};
use twiceshy::error::Error;
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    BroomFilter, BroomForm, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Mirror, Remote};
use twiceshy::testing::{Fault, Faulty, Variant, stored};

/// Builds a filter and inserts a key.
fn build<R: Remote>(variant: Variant, remote: &mut Faulty<R>) -> Result<bool, Error> {
    variant.build(CELLS, BITS, HashKey::fixed(7), remote)?.insert("owl")
}

fn building<R: Remote + Clone + Default>(variant: Variant) {
    let untouched: State = state(&R::default());
    for call in 0..4 {
        let mut remote = Faulty::new(R::default());
        remote.fail_after(call);
        let refused = build(variant, &mut remote);
        assert!(refused.is_err_and(|error| Fault::refused(&error)), "{variant:?}, call {call}");
        assert_eq!(state(remote.inner()), untouched, "{variant:?}, call {call}: the remote has changed");
        assert!(build(variant, &mut remote).expect("the next attempt works"));
    }
    let mut remote = Faulty::new(R::default());
    remote.fail_after(4);
    let built = variant.build(CELLS, BITS, HashKey::fixed(7), &mut remote);
    assert!(built.is_ok(), "{variant:?}: more than four calls to build");
    assert!(remote.heal());
}

#[test]
fn a_filter_that_fails_to_be_built_leaves_an_unused_remote() {
    everywhere!(building);
}

fn built_without_an_answer<R: Remote + Clone + Default>(variant: Variant) {
    for happens in [true, false] {
        let mut remote = Faulty::new(R::default());
        remote.lose_answer(happens);
        assert!(matches!(build(variant, &mut remote), Err(Error::Unknown(_))), "{variant:?}");
        match build(variant, &mut remote) {
            Ok(_) => assert!(!happens, "{variant:?}: built twice"),
            Err(error) => assert!(happens && matches!(error, Error::RemoteInUse), "{variant:?}: {error}"),
        }
    }
}

#[test]
fn a_filter_whose_building_was_not_answered_is_there_or_is_not() {
    everywhere!(built_without_an_answer);
}

/// A remote with a set, left behind by a filter that is lost.
fn left_behind<F: Backed, R: Remote>(built: Result<AdaptiveFilter<F, R>, Error>) -> R {
    let mut pair = built.expect("options that can be");
    for number in 0..40 {
        pair.insert(&key(number)).expect("a load that fits");
    }
    pair.into_remote()
}

/// Every key is found in a recovered filter.
fn holds_all<F: Backed, R: Remote>(pair: &AdaptiveFilter<F, &mut Faulty<R>>) {
    assert!((0..40).all(|number| pair.contains(&key(number))));
    assert_eq!((pair.len(), pair.validate_against(pair.remote().inner())), (40, Ok(())));
}

/// Lets a recovery fail at each of its calls in turn; how many there are.
fn recovering<R: Remote + Clone>(before: &R, recover: &dyn Fn(&mut Faulty<R>) -> Result<(), Error>) -> u64 {
    for call in 0.. {
        let mut remote = Faulty::new(before.clone());
        remote.fail_after(call);
        match recover(&mut remote) {
            Ok(()) => {
                assert!(remote.heal(), "call {call}: a failure was swallowed");
                return call;
            }
            Err(error) => assert!(Fault::refused(&error), "call {call}: {error}"),
        }
        assert_eq!(stored(remote.inner()), stored(before), "call {call}");
        recover(&mut remote).expect("the next attempt works");
    }
    unreachable!("some number of calls is enough")
}

/// Loses the answer to each commit of a recovery in turn; how many there are.
fn without_an_answer<R: Remote + Clone>(before: &R, recover: &dyn Fn(&mut Faulty<R>) -> Result<(), Error>) -> u64 {
    for commit in 0.. {
        for happens in [true, false] {
            let mut remote = Faulty::new(before.clone());
            remote.lose_answer_after(commit, happens);
            match recover(&mut remote) {
                Ok(()) => return commit,
                Err(error) => assert!(matches!(error, Error::Unknown(_)), "commit {commit}: {error}"),
            }
            assert_eq!(stored(remote.inner()), stored(before), "commit {commit}");
            recover(&mut remote).expect("the next attempt works");
        }
    }
    unreachable!("some number of commits is enough")
}

/// Calls a check with a set that was left behind, and the way to recover a filter for it.
macro_rules! with_options {
    ($check:ident, $remote:ident, $($options:expr),* $(,)?) => {
        [$({
            let options = $options;
            let before = left_behind(options.build(HashKey::fixed(5), $remote::new()));
            $check(&before, &|remote| {
                holds_all(&options.recover(remote)?);
                Ok(())
            })
        }),*]
    };
}

macro_rules! every_cuckoo_kind {
    ($check:ident, $remote:ident) => {
        with_options!(
            $check,
            $remote,
            FullKeyFilter::with_cells(CELLS, BITS),
            CyclicFilter::with_cells(CELLS, BITS).selectors(Selectors::Equal { bits: 2 }),
            SwappingFilter::with_cells(CELLS, BITS),
            CuckooingFilter::with_cells(CELLS, BITS),
        )
    };
}

macro_rules! every_quotient_kind {
    ($check:ident) => {
        with_options!(
            $check,
            ByHash,
            QuotientFilter::with_slots(CELLS, BITS),
            TelescopingFilter::with_slots(CELLS, BITS).side_table(1),
            PlainTelescopingFilter::with_slots(CELLS, BITS),
            ExtensionFilter::with_slots(CELLS, BITS),
        )
    };
}

type Recover<'r> = &'r dyn Fn(&mut Faulty<ByHash>) -> Result<(), Error>;

/// The same for the forms of the broom filter, which recovers under another hash key.
fn every_broom_form(check: fn(&ByHash, Recover<'_>) -> u64) -> [u64; 2] {
    [BroomForm::TwoLevels, BroomForm::BackYard].map(|form| {
        let options = BroomFilter::with_slots(CELLS, BITS).form(form);
        let before = left_behind(options.build(HashKey::fixed(5), ByHash::new()));
        check(&before, &|remote| {
            holds_all(&options.recover(HashKey::fixed(6), remote)?);
            Ok(())
        })
    })
}

#[test]
fn a_recovery_that_fails_at_any_call_leaves_the_set_and_the_next_one_works() {
    let by_hash = [every_cuckoo_kind!(recovering, ByHash), every_quotient_kind!(recovering)];
    assert!(by_hash.as_flattened().iter().all(|calls| *calls >= 4), "{by_hash:?}");
    every_cuckoo_kind!(recovering, Mirror);
    every_broom_form(recovering);
}

#[test]
fn a_recovery_by_hash_commits_nothing_and_all_others_survive_any_lost_answer() {
    assert_eq!(every_cuckoo_kind!(without_an_answer, ByHash), [0; 4]);
    assert_eq!(every_quotient_kind!(without_an_answer), [0; 4]);
    // The new mirror begins, takes 40 keys, and is switched to.
    assert_eq!(every_cuckoo_kind!(without_an_answer, Mirror), [42; 4]);
    // New functions begin, take all keys at once, and are switched to.
    assert_eq!(every_broom_form(without_an_answer), [3; 2]);
}

#[test]
fn a_quotient_filter_refuses_a_mirror_before_it_touches_it() {
    for variant in Variant::ALL.iter().filter(|variant| !variant.kind().has_cells()) {
        let mut remote = Faulty::new(Mirror::new());
        assert!(matches!(build(*variant, &mut remote), Err(Error::NeedsRemoteByHash)), "{variant:?}");
        assert_eq!(state(remote.inner()), state(&Mirror::new()), "{variant:?}");
    }
}
