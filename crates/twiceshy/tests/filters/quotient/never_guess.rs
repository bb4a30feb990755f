//! A remote that is ahead, another's, lacks a key or is too generous must not cost a stored key.

use super::{Pair, filled, key, quotient};
use std::collections::BTreeSet;
use twiceshy::error::{Error, PlanError};
use twiceshy::filter::{Adapted, Backed, Filter, Operation, Removed};
use twiceshy::hash::HashKey;
use twiceshy::plan::{Outcome, Plan};
use twiceshy::quotient::{
    ExtensionFilter, Options, PlainTelescopingFilter, RankSelectFilter, Rule, RuleSpec, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Generation, Keys, Place, Position, Remote, RemoteError};
use twiceshy::testing::saved;

/// Calls a check with options of every kind that learns.
macro_rules! every_learner {
    ($check:ident) => {{
        $check(&TelescopingFilter::with_slots(400, 5));
        $check(&TelescopingFilter::with_slots(400, 5).side_table(2));
        $check(&PlainTelescopingFilter::with_slots(400, 5));
        $check(&ExtensionFilter::with_slots(400, 5));
    }};
}

fn hash() -> HashKey {
    HashKey::fixed(61)
}

fn mistakes<F: Filter>(filter: &F) -> Vec<[u8; 8]> {
    (1 << 40..(1 << 40) + 6_000).map(key).filter(|key| filter.contains(key)).collect()
}

/// A filter that has learned something.
fn taught<S: RuleSpec>(options: &Options<S>) -> Pair<S::Rule> {
    let mut pair = filled(options, 0.9, hash(), ByHash::new());
    for query in (1 << 41..(1 << 41) + 6_000).map(key) {
        pair.was_wrong(&query).expect("the sets agree");
    }
    pair
}

fn refuses_a_remote_ahead<S: RuleSpec>(options: &Options<S>) {
    let mut pair = taught(options);
    let mut behind = pair.clone();
    pair.insert(b"later").expect("there is room");
    *behind.remote_mut() = pair.remote().clone();
    let before = saved(behind.filter());
    for mistake in mistakes(behind.filter()).into_iter().take(20) {
        assert!(matches!(behind.was_wrong(&mistake), Err(Error::OutOfStep { .. })));
    }
    let absent = (1 << 42..).map(key).find(|key| !behind.contains(key)).expect("some key that is absent");
    let inserted = behind.insert(&absent);
    assert!(matches!(inserted, Err(Error::OutOfStep { .. })), "{inserted:?}");
    // A key whose run has a stranger is a disagreement before it is out of step.
    for number in 0..40 {
        let removed = behind.remove(&key(number));
        assert!(matches!(removed, Err(Error::OutOfStep { .. } | Error::Disagree)), "{removed:?}");
    }
    assert!(matches!(behind.begin_grow(800), Err(Error::OutOfStep { .. })));
    assert!(saved(behind.filter()) == before, "the filter has changed");
    assert_eq!(behind.remote().sequence().expect("no failure"), pair.sequence());
    assert_eq!(pair.validate_against(behind.remote()), Ok(()), "the remote has changed");
}

#[test]
fn a_filter_behind_its_remote_changes_nothing_and_says_that_it_is_out_of_step() {
    every_learner!(refuses_a_remote_ahead);
}

/// A remote by hash whose answers are bent on the way.
#[derive(Clone)]
struct Bent<'a> {
    inner: &'a ByHash,
    /// How far beyond the words asked for it reads.
    wider: u64,
    /// A key that it has forgotten.
    lacks: Option<[u8; 8]>,
    /// A key that it gives with every answer.
    adds: Option<[u8; 8]>,
}

impl Bent<'_> {
    fn straight(inner: &ByHash) -> Bent<'_> {
        Bent { inner, wider: 0, lacks: None, adds: None }
    }
}

impl Keys for Bent<'_> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let wide = place.words.start().saturating_sub(self.wider)..=place.words.end().saturating_add(self.wider);
        if let Some(more) = &self.adds {
            found(more);
        }
        self.inner.candidates(&Place { words: wide, ..place.clone() }, &mut |key| {
            if self.lacks.is_none_or(|lacking| key != lacking) {
                found(key);
            }
        })
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.inner.walk(generation, after, limit, found)
    }
}

fn adapt<R: Rule>(filter: &RankSelectFilter<R>, query: &[u8], keys: &dyn Keys) -> Result<Plan, PlanError> {
    filter.plan(Operation::Adapt(query), keys)
}

fn passes_over_other_quotients<S: RuleSpec>(options: &Options<S>) {
    let mut pair = taught(options);
    let changes = (0..100).map(|number| (number, false)).chain((1_000..1_090).map(|number| (number, true)));
    for (number, inserts) in changes {
        let key = key(number);
        let operation = if inserts { Operation::Insert(&key) } else { Operation::Remove(&key) };
        let generous = Bent { wider: 1 << 58, ..Bent::straight(pair.remote()) };
        let [exact, wide] = [pair.remote() as &dyn Keys, &generous].map(|keys| pair.filter().plan(operation, keys));
        let [exact, wide] = [exact, wide].map(|plan| plan.expect("the sets agree").to_bytes());
        assert!(exact == wide, "keys of other quotients made a difference");
        if inserts { pair.insert(&key) } else { pair.remove(&key) }.expect("the sets agree");
    }
}

#[test]
fn candidates_from_outside_the_interval_make_no_difference() {
    every_learner!(passes_over_other_quotients);
}

fn refuses_a_remote_that_lacks_a_key<S: RuleSpec>(options: &Options<S>) {
    let pair = taught(options);
    let (filter, remote) = (pair.filter(), Bent::straight(pair.remote()));
    let mut refused = 0;
    for mistake in mistakes(filter) {
        let own = quotient(filter, &mistake);
        let lacks = (0..filter.len()).map(key).find(|key| quotient(filter, key) == own);
        let planned = adapt(filter, &mistake, &Bent { lacks, ..remote.clone() });
        assert!(matches!(planned, Err(PlanError::Disagree)));
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
    // A removal beside the key that is lacking.
    for gone in (0..50).map(key) {
        let stays = quotient(filter, &gone);
        let beside = (0..filter.len()).map(key).find(|key| *key != gone && quotient(filter, key) == stays);
        if let Some(beside) = beside {
            let keys = Bent { lacks: Some(gone), ..remote.clone() };
            let removed = filter.plan(Operation::Remove(&beside), &keys);
            assert!(matches!(removed, Err(PlanError::Disagree)), "{removed:?}");
        }
    }
}

#[test]
fn a_remote_that_lacks_a_key_of_the_run_is_a_disagreement() {
    every_learner!(refuses_a_remote_that_lacks_a_key);
}

fn refuses_a_remote_that_adds_a_key<S: RuleSpec>(options: &Options<S>) {
    let pair = taught(options);
    let (filter, remote) = (pair.filter(), Bent::straight(pair.remote()));
    for mistake in mistakes(filter) {
        let own = quotient(filter, &mistake);
        let adds = (1 << 43..).map(key).find(|key| quotient(filter, key) == own);
        let planned = adapt(filter, &mistake, &Bent { adds, ..remote.clone() });
        assert!(matches!(planned, Err(PlanError::Disagree)));
        // The same number of keys, and one of them is a stranger: no matching, or one that the stranger fits into.
        let lacks = (0..filter.len()).map(key).find(|key| quotient(filter, key) == own);
        let planned = adapt(filter, &mistake, &Bent { adds, lacks, ..remote.clone() });
        assert!(matches!(planned, Ok(_) | Err(PlanError::Disagree)), "{planned:?}");
    }
}

#[test]
fn a_remote_that_adds_a_key_to_a_run_is_a_disagreement() {
    every_learner!(refuses_a_remote_that_adds_a_key);
}

/// A reset reads the keys of a whole block; one of them whose quotient has no run is not the filter's.
#[test]
fn a_key_without_a_run_among_those_of_a_block_that_is_reset_is_a_disagreement() {
    let refused: u32 = [400, 500, 600, 700, 800].into_iter().map(strangers_refused).sum();
    assert!(refused > 5, "{refused} strangers were refused");
}

fn strangers_refused(slots: u64) -> u32 {
    let pair = taught(&TelescopingFilter::with_slots(slots, 5));
    let (filter, remote) = (pair.filter(), Bent::straight(pair.remote()));
    let occupied: BTreeSet<u64> = (0..filter.len()).map(|number| quotient(filter, &key(number))).collect();
    let mut refused = 0;
    for mistake in mistakes(filter) {
        let mut honest = filter.clone();
        honest.apply(adapt(filter, &mistake, &remote).expect("the sets agree")).expect("nothing has changed since");
        if honest.stats().resets_by_adapts == filter.stats().resets_by_adapts {
            continue;
        }
        let own = quotient(filter, &mistake);
        let nearby = |key: &[u8; 8]| {
            let stranger = quotient(filter, key);
            stranger.abs_diff(own) < 8 && !occupied.contains(&stranger)
        };
        let adds = (1 << 43..(1 << 43) + 3_000).map(key).find(nearby);
        match adapt(filter, &mistake, &Bent { adds, ..remote.clone() }) {
            Err(PlanError::Disagree) => refused += 1,
            // Its quotient is none of the block's after all.
            other => assert_eq!(other.expect("the sets agree").outcome(), Outcome::Adapted(Adapted::Fixed)),
        }
    }
    refused
}

fn refuses_anothers_remote<S: RuleSpec>(options: &Options<S>) {
    let pair = taught(options);
    // Another set under the same hash key and at the same commit.
    let mut stranger = options.build(hash(), ByHash::new()).expect("options that can be");
    for number in 5_000..5_000 + pair.len() {
        stranger.insert(&key(number)).expect("there is room");
    }
    let (mut refused, mut taken) = (0, 0);
    for mistake in mistakes(pair.filter()) {
        match adapt(pair.filter(), &mistake, stranger.remote()) {
            Err(PlanError::Disagree) => refused += 1,
            // One stranger in the place of one key, with its remainder.
            Ok(_) => taken += 1,
            Err(other) => panic!("{other}"),
        }
        let removed = pair.filter().plan(Operation::Remove(&mistake), stranger.remote());
        assert_eq!(removed.expect("nobody has this key").outcome(), Outcome::Removed(Removed::NotStored));
    }
    assert!(refused > 20 * taken, "{refused} refused, {taken} taken for its own");
}

#[test]
fn the_remote_of_another_set_is_a_disagreement() {
    every_learner!(refuses_anothers_remote);
}
