//! Failures and lost answers while a filter is built, or recovered from a set that the remote holds already.

use super::everywhere;
use super::loses_later::LosesLater;
use super::scene::{BITS, CELLS, State, is_ordered, key, state};
use std::fmt::Debug;
use twiceshy::cuckoo::{
    CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Options, RuleSpec, Selectors, SwappingFilter,
};
use twiceshy::error::{BuildError, RebuildError, SeamError};
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    BroomFilter, BroomOptions, ExtensionFilter, Options as QuotientOptions, PlainTelescopingFilter, QuotientFilter,
    RankSelectFilter, RuleSpec as QuotientRuleSpec, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Mirror, Remote};
use twiceshy::testing::{Faulty, Injected, Subject, Variant, build};
use twiceshy::with_variant;

fn made<F: Subject, R: Remote>(variant: Variant, remote: &mut Faulty<R>) -> Result<F, BuildError<Injected<R::Error>>> {
    build(variant, CELLS, BITS.max(variant.narrowest()), HashKey::fixed(7), remote)
}

/// The seam's part of a failure to make a filter.
fn seam<E: Debug>(error: BuildError<E>) -> SeamError<E> {
    match error {
        BuildError::Seam(error) | BuildError::Rebuild(RebuildError::Seam(error)) => error,
        other => panic!("{other:?}"),
    }
}

fn building<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    let untouched: State = state(&R::default());
    for call in 0.. {
        let mut remote = Faulty::new(R::default());
        remote.fail_after(call);
        match made::<F, R>(variant, &mut remote) {
            Ok(_) => {
                assert!(remote.heal() && call == 3, "{variant:?}: {call} calls to build");
                break;
            }
            Err(error) => assert!(is_ordered(&seam(error)), "{variant:?}"),
        }
        assert_eq!(state(remote.inner()), untouched, "{variant:?}, call {call}: the remote has changed");
        let mut filter = made::<F, R>(variant, &mut remote).expect("the next attempt works");
        filter.insert(b"owl", &mut remote).expect("it is ready for use");
    }
}

#[test]
fn a_filter_that_fails_to_be_built_leaves_an_unused_remote() {
    everywhere!(building);
}

fn built_without_an_answer<F: Subject, R: Remote + Clone + Default>(variant: Variant) {
    for happens in [true, false] {
        let mut remote = Faulty::new(R::default());
        remote.lose_answer(happens);
        let lost = made::<F, R>(variant, &mut remote).err().map(seam);
        assert!(matches!(lost, Some(SeamError::Unknown(_))), "{variant:?}");
        let next = made::<F, R>(variant, &mut remote);
        match next {
            Ok(_) => assert!(!happens, "{variant:?}: built twice"),
            Err(error) => assert!(happens && matches!(error, BuildError::RemoteInUse), "{variant:?}: {error}"),
        }
    }
}

#[test]
fn a_filter_whose_building_was_not_answered_is_there_or_is_not() {
    everywhere!(built_without_an_answer);
}

/// Options by which a lost filter can be recovered.
trait Recovers {
    type Made: Backed;

    fn make<R: Remote>(&self, remote: &mut R) -> Result<Self::Made, BuildError<R::Error>>;

    fn recover_from<R: Remote>(&self, remote: &mut R) -> Result<Self::Made, BuildError<R::Error>>;
}

macro_rules! recovers {
    ($options:ident, $spec:ident, $made:ident) => {
        impl<S: $spec> Recovers for $options<S> {
            type Made = $made<S::Rule>;

            fn make<R: Remote>(&self, remote: &mut R) -> Result<Self::Made, BuildError<R::Error>> {
                self.build(HashKey::fixed(5), remote)
            }

            fn recover_from<R: Remote>(&self, remote: &mut R) -> Result<Self::Made, BuildError<R::Error>> {
                self.recover(remote)
            }
        }
    };
}

impl Recovers for BroomOptions {
    type Made = BroomFilter;

    fn make<R: Remote>(&self, remote: &mut R) -> Result<Self::Made, BuildError<R::Error>> {
        self.build(HashKey::fixed(5), remote)
    }

    fn recover_from<R: Remote>(&self, remote: &mut R) -> Result<Self::Made, BuildError<R::Error>> {
        self.recover(HashKey::fixed(6), remote)
    }
}

recovers!(Options, RuleSpec, FullKeyCuckoo);
recovers!(QuotientOptions, QuotientRuleSpec, RankSelectFilter);

/// A remote with a set, left behind by a filter that is lost.
fn left_behind<S: Recovers, R: Remote + Clone + Default>(options: &S) -> R {
    let mut remote = R::default();
    let mut filter = options.make(&mut remote).expect("options that can be");
    for number in 0..40 {
        filter.insert(&key(number), &mut remote).expect("a load that fits");
    }
    remote
}

/// Every key is found in a recovered filter.
fn holds_all<F: Backed, R: Remote>(filter: &F, remote: &R) {
    assert!((0..40).all(|number| filter.contains(&key(number))));
    assert_eq!((filter.len(), filter.validate(remote)), (40, Ok(())));
}

fn recovering<S: Recovers, R: Remote + Clone + Default>(options: &S) {
    let before: R = left_behind(options);
    for call in 0.. {
        let mut remote = Faulty::new(before.clone());
        remote.fail_after(call);
        match options.recover_from(&mut remote) {
            Ok(filter) => {
                assert!(remote.heal(), "call {call}: a failure was swallowed");
                assert!(call >= 4, "a recovery of {call} calls");
                holds_all(&filter, remote.inner());
                break;
            }
            Err(error) => assert!(is_ordered(&seam(error)), "call {call}"),
        }
        assert_eq!(state(remote.inner()).keys, state(&before).keys, "call {call}");
        let filter = options.recover_from(&mut remote).expect("the next attempt works");
        holds_all(&filter, remote.inner());
    }
}

/// Loses the answer to each commit of a recovery in turn; how many there are.
fn recovering_without_an_answer<S: Recovers, R: Remote + Clone + Default>(options: &S) -> u64 {
    let before: R = left_behind(options);
    for commit in 0.. {
        for happens in [true, false] {
            let mut remote = LosesLater { inner: Faulty::new(before.clone()), commits_left: commit, happens };
            match options.recover_from(&mut remote) {
                Ok(filter) => {
                    holds_all(&filter, remote.inner.inner());
                    return commit;
                }
                Err(error) => assert!(matches!(seam(error), SeamError::Unknown(_)), "commit {commit}"),
            }
            remote.inner.heal();
            assert_eq!(state(remote.inner.inner()).keys, state(&before).keys, "commit {commit}");
            let filter = options.recover_from(&mut remote.inner).expect("the next attempt works");
            holds_all(&filter, remote.inner.inner());
        }
    }
    unreachable!("some number of commits is enough")
}

macro_rules! every_kind {
    ($check:ident, $remote:ident) => {{
        [
            $check::<_, $remote>(&FullKeyFilter::with_cells(CELLS, BITS)),
            $check::<_, $remote>(&CyclicFilter::with_cells(CELLS, BITS).selectors(Selectors::Equal { bits: 2 })),
            $check::<_, $remote>(&SwappingFilter::with_cells(CELLS, BITS)),
            $check::<_, $remote>(&CuckooingFilter::with_cells(CELLS, BITS)),
        ]
    }};
}

/// The same over the quotient family, which has no mirror.
macro_rules! every_quotient_kind {
    ($check:ident) => {{
        [
            $check::<_, ByHash>(&QuotientFilter::with_slots(CELLS, BITS)),
            $check::<_, ByHash>(&TelescopingFilter::with_slots(CELLS, BITS).side_table(1)),
            $check::<_, ByHash>(&PlainTelescopingFilter::with_slots(CELLS, BITS)),
            $check::<_, ByHash>(&ExtensionFilter::with_slots(CELLS, BITS)),
        ]
    }};
}

#[test]
fn a_recovery_that_fails_at_any_call_leaves_the_set_and_the_next_one_works() {
    every_kind!(recovering, ByHash);
    every_kind!(recovering, Mirror);
    every_quotient_kind!(recovering);
    recovering::<_, ByHash>(&BroomFilter::with_slots(CELLS, BITS));
}

#[test]
fn a_recovery_by_hash_commits_nothing_and_one_into_a_mirror_survives_any_lost_answer() {
    assert_eq!(every_kind!(recovering_without_an_answer, ByHash), [0; 4]);
    assert_eq!(every_quotient_kind!(recovering_without_an_answer), [0; 4]);
    // The new mirror begins, takes 40 keys, and is switched to.
    assert_eq!(every_kind!(recovering_without_an_answer, Mirror), [42; 4]);
    // New functions begin, take all keys at once, and are switched to.
    assert_eq!(recovering_without_an_answer::<_, ByHash>(&BroomFilter::with_slots(CELLS, BITS)), 3);
}

#[test]
fn a_quotient_filter_refuses_a_mirror_before_it_touches_it() {
    let untouched: State = state(&Mirror::default());
    for variant in Variant::ALL.into_iter().filter(|variant| !variant.has_cells()) {
        with_variant!(variant, |Kind| {
            let mut remote = Faulty::new(Mirror::default());
            let made = made::<Kind, Mirror>(variant, &mut remote);
            let refused = matches!(made, Err(BuildError::NeedsRemoteByHash));
            assert!(refused, "{variant:?}");
            assert_eq!(state(remote.inner()), untouched, "{variant:?}");
        });
    }
}
