//! A remote that is ahead, another's, or too generous must not cost a stored key.

use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::CyclicFilter;
use twiceshy::error::{Error, PlanError};
use twiceshy::filter::{Adapted, Backed, Filter, Operation};
use twiceshy::hash::HashKey;
use twiceshy::plan::Outcome;
use twiceshy::remote::{ByHash, Generation, Keys, Place, Position, RemoteError};
use twiceshy::testing::Variant;

fn key(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn filled(numbers: std::ops::Range<u32>) -> AdaptiveFilter<CyclicFilter> {
    let mut pair = CyclicFilter::with_cells(400, 6).build(HashKey::fixed(1), ByHash::new()).expect("possible options");
    for number in numbers {
        pair.insert(&key(number)).expect("there is room");
    }
    pair
}

fn mistakes(filter: &impl Filter) -> Vec<[u8; 4]> {
    (1_000..4_000).map(key).filter(|query| filter.contains(query)).collect()
}

/// The filter as it was, with the remote as it has become.
fn behind<F: Backed + ?Sized>(old: &AdaptiveFilter<F>, new: &AdaptiveFilter<F>) -> AdaptiveFilter<F>
where
    Box<F>: Clone,
{
    let mut pair = old.clone();
    *pair.remote_mut() = new.remote().clone();
    pair
}

#[test]
fn a_filter_behind_its_remote_adapts_and_grows_only_after_a_rebuild() {
    let old = filled(0..300);
    let mut pair = old.clone();
    pair.insert("later").expect("there is room");
    let mut behind = behind(&old, &pair);
    let mistake = mistakes(behind.filter())[0];
    assert!(matches!(behind.was_wrong(&mistake), Err(Error::OutOfStep { .. })));
    assert!(matches!(behind.begin_grow(800), Err(Error::OutOfStep { .. })));
    assert!(matches!(behind.resolve(), Err(Error::OutOfStep { .. })));
    assert!(behind.contains(&mistake), "nothing changed");
    let loaded = AdaptiveFilter::from_parts(Box::new(old.filter().clone()), old.sequence(), pair.into_remote());
    assert!(matches!(loaded, Err(Error::OutOfStep { .. })));
}

#[test]
fn a_cell_that_nobody_owns_is_a_disagreement_where_no_orphan_was_left() {
    // Another set under the same hash key and at the same commit.
    let (pair, other) = (filled(0..300), filled(5_000..5_300));
    let disagrees = |query: &&[u8; 4]| {
        let plan = pair.filter().plan(Operation::Adapt(&query[..]), other.remote());
        matches!(plan, Err(PlanError::Disagree))
    };
    assert!(mistakes(pair.filter()).iter().filter(disagrees).count() > 0);
}

/// A remote by hash that reads more than it was asked for, as a store that reads blocks may.
struct Generous<'a>(&'a ByHash);

impl Keys for Generous<'_> {
    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), RemoteError> {
        let wide = place.words.start().saturating_sub(1 << 58)..=place.words.end().saturating_add(1 << 58);
        self.0.candidates(&Place { words: wide, ..place.clone() }, found)
    }

    fn walk(
        &self,
        generation: Generation,
        after: Option<&Position>,
        limit: usize,
        found: &mut dyn FnMut(Position),
    ) -> Result<(), RemoteError> {
        self.0.walk(generation, after, limit, found)
    }
}

#[test]
fn candidates_from_other_buckets_are_passed_over() {
    let pair = filled(0..300);
    let mut filter = pair.filter().clone();
    for mistake in mistakes(pair.filter()) {
        let query = Operation::Adapt(&mistake);
        let plan = filter.plan(query, &Generous(pair.remote())).expect("the sets agree");
        let exact = filter.plan(query, pair.remote()).expect("the sets agree");
        assert_eq!(plan.to_bytes(), exact.to_bytes());
        assert_ne!(plan.outcome(), Outcome::Adapted(Adapted::Stored));
        filter.apply(plan).expect("nothing has changed since");
    }
}

/// A filter that was loaded from an old file: its remote has gone on.
#[test]
fn a_filter_behind_its_remote_does_not_say_that_a_key_is_not_stored() {
    for variant in Variant::ALL {
        let old = variant.build(400, 9, HashKey::fixed(5), ByHash::new()).expect("an empty remote");
        let mut pair = old.clone();
        for number in 1_000..1_020u64 {
            pair.insert(&number).expect("room for some more");
        }
        let mut behind = behind(&old, &pair);
        for number in 1_000..1_020u64 {
            let removed = behind.remove(&number);
            assert!(matches!(removed, Err(Error::OutOfStep { .. } | Error::Disagree)), "{variant:?}: {removed:?}");
        }
    }
}
