//! A remote that is ahead, another's, lacks a key or is too generous must not cost a stored key.

use super::{filled, key, quotient, saved};
use std::collections::BTreeSet;
use twiceshy::error::{InsertError, RebuildError, SeamError};
use twiceshy::filter::{Adapted, Adaptive, Backed, Filter, Removed};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    ExtensionFilter, Options, PlainTelescopingFilter, RankSelectFilter, RuleSpec, Saved, TelescopingFilter,
};
use twiceshy::remote::{ByHash, MemoryError, Place, Remote};
use twiceshy::through;

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
fn taught<S: RuleSpec, R: Remote>(options: &Options<S>, remote: &mut R) -> RankSelectFilter<S::Rule>
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut filter = filled(options, 0.9, hash(), remote);
    for query in (1 << 41..(1 << 41) + 6_000).map(key).collect::<Vec<_>>() {
        if filter.contains(&query) {
            filter.adapt(&query, remote).expect("the sets agree");
        }
    }
    filter
}

fn refuses_a_remote_ahead<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut remote = ByHash::new();
    let mut filter = taught(options, &mut remote);
    let mut behind = filter.clone();
    filter.insert(b"later", &mut remote).expect("there is room");
    let before = (saved(&behind), remote.clone());
    for mistake in mistakes(&behind).into_iter().take(20) {
        assert!(matches!(behind.adapt(&mistake, &mut remote), Err(SeamError::OutOfStep { .. })));
    }
    let absent = (1 << 42..).map(key).find(|key| !behind.contains(key)).expect("some key that is absent");
    let inserted = behind.insert(&absent, &mut remote);
    assert!(matches!(inserted, Err(InsertError::Seam(SeamError::OutOfStep { .. }))), "{inserted:?}");
    // A key whose run has a stranger is a disagreement before it is out of step.
    for number in 0..40 {
        let removed = behind.remove(&key(number), &mut remote);
        assert!(matches!(removed, Err(SeamError::OutOfStep { .. } | SeamError::Disagree)), "{removed:?}");
    }
    let grown = behind.begin_grow(800, &mut remote);
    assert!(matches!(grown, Err(RebuildError::Seam(SeamError::OutOfStep { .. }))));
    assert!(saved(&behind) == before.0, "the filter has changed");
    assert_eq!(remote.sequence(), before.1.sequence());
    assert_eq!(filter.validate(&remote), Ok(()), "the remote has changed");
}

#[test]
fn a_filter_behind_its_remote_changes_nothing_and_says_that_it_is_out_of_step() {
    every_learner!(refuses_a_remote_ahead);
}

/// A remote by hash whose answers are bent on the way.
#[derive(Clone)]
struct Bent {
    inner: ByHash,
    /// How far beyond the words asked for it reads.
    wider: u64,
    /// A key that it has forgotten.
    lacks: Option<[u8; 8]>,
    /// A key that it gives with every answer.
    adds: Option<[u8; 8]>,
}

impl Bent {
    fn straight() -> Bent {
        Bent { inner: ByHash::new(), wider: 0, lacks: None, adds: None }
    }
}

impl Remote for Bent {
    type Error = MemoryError;
    through!(inner: walk, commit, sequence, in_use);

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), MemoryError> {
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
}

fn passes_over_other_quotients<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let (mut exact, mut generous) = (Bent::straight(), Bent { wider: 1 << 58, ..Bent::straight() });
    let (mut filter, mut other) = (taught(options, &mut exact), taught(options, &mut generous));
    for number in 0..100 {
        filter.remove(&key(number), &mut exact).expect("the sets agree");
        other.remove(&key(number), &mut generous).expect("the sets agree");
    }
    for number in 1_000..1_090 {
        filter.insert(&key(number), &mut exact).expect("there is room");
        other.insert(&key(number), &mut generous).expect("there is room");
    }
    assert!(saved(&filter) == saved(&other), "keys of other quotients made a difference");
    assert_eq!(other.validate(&generous), Ok(()));
}

#[test]
fn candidates_from_outside_the_interval_make_no_difference() {
    every_learner!(passes_over_other_quotients);
}

fn refuses_a_remote_that_lacks_a_key<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut remote = Bent::straight();
    let mut filter = taught(options, &mut remote);
    let before = saved(&filter);
    let mut refused = 0;
    for mistake in mistakes(&filter) {
        let own = quotient(&filter, &mistake);
        let lacking = (0..filter.len()).map(key).find(|key| quotient(&filter, key) == own);
        let mut lacking = Bent { lacks: lacking, ..remote.clone() };
        assert!(matches!(filter.adapt(&mistake, &mut lacking), Err(SeamError::Disagree)));
        assert!(saved(&filter) == before, "the filter has changed");
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
    // A removal beside the key that is lacking, and one of that key itself, which is then not stored.
    for number in 0..50 {
        let (gone, stays) = (key(number), quotient(&filter, &key(number)));
        let beside = (0..filter.len()).map(key).find(|key| *key != gone && quotient(&filter, key) == stays);
        if let Some(beside) = beside {
            let removed = filter.remove(&beside, &mut Bent { lacks: Some(gone), ..remote.clone() });
            assert!(matches!(removed, Err(SeamError::Disagree)), "{removed:?}");
        }
    }
    assert!(saved(&filter) == before, "the filter has changed");
}

#[test]
fn a_remote_that_lacks_a_key_of_the_run_is_a_disagreement_and_nothing_changes() {
    every_learner!(refuses_a_remote_that_lacks_a_key);
}

fn refuses_a_remote_that_adds_a_key<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut remote = Bent::straight();
    let mut filter = taught(options, &mut remote);
    let before = saved(&filter);
    for mistake in mistakes(&filter) {
        let own = quotient(&filter, &mistake);
        let more = (1 << 43..).map(key).find(|key| quotient(&filter, key) == own);
        let mut generous = Bent { adds: more, ..remote.clone() };
        assert!(matches!(filter.adapt(&mistake, &mut generous), Err(SeamError::Disagree)));
        // The same number of keys, and one of them is a stranger: no matching, or one that the stranger fits into.
        let lacks = (0..filter.len()).map(key).find(|key| quotient(&filter, key) == own);
        let mut swapped = Bent { adds: more, lacks, ..remote.clone() };
        let mut copy = filter.clone();
        match copy.adapt(&mistake, &mut swapped) {
            Err(SeamError::Disagree) => assert!(saved(&copy) == before),
            other => assert!(other.is_ok(), "{other:?}"),
        }
    }
    assert!(saved(&filter) == before, "the filter has changed");
}

#[test]
fn a_remote_that_adds_a_key_to_a_run_is_a_disagreement_and_nothing_changes() {
    every_learner!(refuses_a_remote_that_adds_a_key);
}

/// A reset reads the keys of a whole block; one of them whose quotient has no run is not the filter's.
fn refuses_a_stranger_in_a_reset<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut remote = Bent::straight();
    let filter = taught(options, &mut remote);
    let before = saved(&filter);
    let occupied: BTreeSet<u64> = (0..filter.len()).map(|number| quotient(&filter, &key(number))).collect();
    let mut refused = 0;
    for mistake in mistakes(&filter) {
        let mut honest = filter.clone();
        honest.adapt(&mistake, &mut remote.clone()).expect("the sets agree");
        if honest.stats().resets_by_adapts == filter.stats().resets_by_adapts {
            continue;
        }
        let own = quotient(&filter, &mistake);
        let nearby = |key: &[u8; 8]| {
            let stranger = quotient(&filter, key);
            stranger.abs_diff(own) < 8 && !occupied.contains(&stranger)
        };
        let stranger = (1 << 43..(1 << 43) + 3_000).map(key).find(nearby);
        let mut generous = Bent { adds: stranger, ..remote.clone() };
        let mut deceived = filter.clone();
        match deceived.adapt(&mistake, &mut generous) {
            Err(SeamError::Disagree) => {
                assert!(saved(&deceived) == before, "the filter has changed");
                refused += 1;
            }
            // Its quotient is none of the block's after all.
            other => assert_eq!(other.expect("the sets agree"), Adapted::Fixed),
        }
    }
    assert!(refused > 5, "{refused} strangers were refused");
}

#[test]
fn a_key_without_a_run_among_those_of_a_block_that_is_reset_is_a_disagreement() {
    refuses_a_stranger_in_a_reset(&TelescopingFilter::with_slots(400, 5));
}

fn refuses_anothers_remote<S: RuleSpec<Rule: Saved>>(options: &Options<S>)
where
    RankSelectFilter<S::Rule>: Adaptive,
{
    let mut remote = ByHash::new();
    let mut filter = taught(options, &mut remote);
    // Another set under the same hash key and at the same commit.
    let mut other = ByHash::new();
    let mut stranger = options.build(hash(), &mut other).expect("options that can be");
    for number in 5_000..5_000 + filter.len() {
        stranger.insert(&key(number), &mut other).expect("there is room");
    }
    assert_eq!(filter.sequence(), stranger.sequence());
    let (mut refused, mut taken) = (0, 0);
    for mistake in mistakes(&filter) {
        let before = saved(&filter);
        match filter.clone().adapt(&mistake, &mut other) {
            Err(SeamError::Disagree) => refused += 1,
            // One stranger in the place of one key, with its remainder.
            Ok(_) => taken += 1,
            Err(other) => panic!("{other}"),
        }
        let removed = filter.remove(&mistake, &mut other).expect("nobody has this key");
        assert_eq!(removed, Removed::NotStored);
        assert!(saved(&filter) == before);
    }
    assert!(refused > 20 * taken, "{refused} refused, {taken} taken for its own");
}

#[test]
fn the_remote_of_another_set_is_a_disagreement() {
    every_learner!(refuses_anothers_remote);
}
