//! The lean remotes answer as the library's remotes do: a filter over one has the bits of a filter over the other.

use twiceshy::cuckoo::{CuckooingFilter, CyclicFilter, FullKeyFilter, SwappingFilter};
use twiceshy::filter::Backed;
use twiceshy::quotient::{BroomFilter, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter};
use twiceshy::remote::{ByHash, Commit, CommitError, Generation, Key, Keys, Mirror, Order, Position, Remote, Write};
use twiceshy::{AdaptiveFilter, HashKey};
use twiceshy_bench::remote::{CellMirror, FlatByHash};

/// Random keys of 8 bytes, never zero.
fn key(number: u64) -> [u8; 8] {
    (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn saved<F: Backed + ?Sized, R: Remote>(pair: &AdaptiveFilter<F, R>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pair.save(&mut bytes).expect("a vector takes all bytes");
    bytes
}

/// All keys of a remote in walking order.
fn walked(remote: &impl Remote, generation: Generation) -> Vec<Position> {
    let mut all: Vec<Position> = Vec::new();
    loop {
        let (before, after) = (all.len(), all.last().cloned());
        remote.walk(generation, after.as_ref(), 700, &mut |at| all.push(at)).expect("the generation exists");
        if all.len() == before {
            return all;
        }
    }
}

/// Fills both, lets both adapt to the same mistakes, removes and inserts, and compares answers and bits.
fn agree<F: Backed, A: Remote, B: Remote>(mut lean: AdaptiveFilter<F, A>, mut known: AdaptiveFilter<F, B>) {
    let kind = lean.filter().kind();
    let mut stored = 0;
    for round in 0..4u64 {
        for number in stored..stored + 450 {
            let inserted = lean.insert(&key(number)).expect("a load that fits");
            assert_eq!(inserted, known.insert(&key(number)).expect("a load that fits"));
        }
        stored += 450;
        assert!(!lean.insert(&key(stored - 1)).expect("a stored key"), "{kind}: stored already");
        assert!(!known.insert(&key(stored - 1)).expect("a stored key"));
        for query in (0..4_000).map(|query| key(1 << 40 | round << 20 | query)) {
            assert_eq!(lean.contains(&query), known.contains(&query), "{kind}");
            if lean.contains(&query) {
                let adapted = lean.was_wrong(&query).expect("the sets agree");
                assert_eq!(adapted, known.was_wrong(&query).expect("the sets agree"), "{kind}");
            }
        }
        // Some stored keys, and some that never were.
        for number in (stored - 450..stored).step_by(9).chain([1 << 41, 1 << 42]) {
            let gone = lean.take(&key(number)).expect("the sets agree");
            assert_eq!(gone, known.take(&key(number)).expect("the sets agree"), "{kind}");
        }
        assert_eq!(saved(&lean), saved(&known), "{kind}: other bits in round {round}");
        lean.validate().unwrap_or_else(|why| panic!("{kind}: {why}"));
    }
    let (generation, _) = lean.filter().layout();
    assert_eq!(walked(lean.remote(), generation), walked(known.remote(), generation), "{kind}");
    assert_eq!(lean.remote().sequence().ok(), known.remote().sequence().ok());
    assert_eq!(lean.remote().identity().ok(), known.remote().identity().ok());
    assert_eq!(lean.remote().in_use().ok(), known.remote().in_use().ok());
    assert_eq!(lean.remote().phase().ok(), known.remote().phase().ok());
}

macro_rules! agree {
    ($options:expr, $lean:ty, $known:ty) => {
        for hash in [HashKey::fixed(7), HashKey::fixed(8).for_trusted_keys()] {
            let (lean, known) = ($options.build(hash, <$lean>::new()), $options.build(hash, <$known>::new()));
            agree(lean.expect("an empty remote"), known.expect("an empty remote"));
        }
    };
}

#[test]
fn a_cuckoo_filter_cannot_tell_the_array_of_cells_from_a_mirror() {
    agree!(FullKeyFilter::with_cells(1_800, 5), CellMirror, Mirror);
    agree!(CyclicFilter::with_cells(1_800, 6), CellMirror, Mirror);
    agree!(SwappingFilter::with_cells(1_800, 6), CellMirror, Mirror);
    agree!(CuckooingFilter::with_cells(1_800, 5), CellMirror, Mirror);
}

#[test]
fn a_quotient_filter_cannot_tell_the_flat_tables_from_a_remote_by_hash() {
    agree!(QuotientFilter::with_slots(1_800, 4), FlatByHash, ByHash);
    agree!(TelescopingFilter::with_slots(1_800, 4), FlatByHash, ByHash);
    agree!(PlainTelescopingFilter::with_slots(1_800, 4), FlatByHash, ByHash);
    agree!(ExtensionFilter::with_slots(1_800, 4), FlatByHash, ByHash);
}

#[test]
fn a_broom_filter_cannot_tell_the_flat_tables_from_a_remote_by_hash() {
    agree!(BroomFilter::with_slots(1_800, 4), FlatByHash, ByHash);
    agree!(BroomFilter::with_slots(1_800, 8), FlatByHash, ByHash);
}

#[test]
fn every_interval_of_words_has_the_candidates_of_a_remote_by_hash() {
    let build = |seed| HashKey::fixed(seed).for_trusted_keys();
    let mut lean = FullKeyFilter::with_cells(900, 8).build(build(3), FlatByHash::new()).expect("an empty remote");
    let mut known = FullKeyFilter::with_cells(900, 8).build(build(3), ByHash::new()).expect("an empty remote");
    for number in 0..800 {
        lean.insert(&key(number)).expect("a load that fits");
        known.insert(&key(number)).expect("a load that fits");
    }
    for number in 0..2_000u64 {
        for order in 0..4 {
            let ends = [key(number), key(number + 77)].map(u64::from_be_bytes);
            let words = ends[0].min(ends[1])..=ends[0].max(ends[1]);
            let mut place = lean.filter().lookup(&key(0))[0].clone();
            (place.order, place.words) = (Order(order), words);
            let mut found = [Vec::new(), Vec::new()];
            lean.remote().candidates(&place, &mut |key| found[0].push(key.to_vec())).expect("the order exists");
            known.remote().candidates(&place, &mut |key| found[1].push(key.to_vec())).expect("the order exists");
            assert_eq!(found[0], found[1]);
        }
    }
}

/// A commit with one write after the remote's last one.
fn next(remote: &impl Remote, write: Write) -> Commit {
    let sequence = remote.sequence().expect("a number") + 1;
    Commit { sequence, writes: vec![write], ..Commit::default() }
}

#[test]
fn a_commit_that_a_lean_remote_cannot_keep_changes_nothing() {
    let mut pair =
        FullKeyFilter::with_cells(64, 8).build(HashKey::fixed(1), CellMirror::new()).expect("an empty remote");
    pair.insert(&key(1)).expect("room");
    let refused = |result: Result<(), CommitError>| assert!(matches!(result, Err(CommitError::Failed(_))));
    let (generation, words) = pair.filter().entries(&key(2));
    let taken = pair.filter().lookup(&key(1))[0].cell;
    let add = |key: &[u8], cell| Write::Add { generation, key: Key::from(key), words, cell };
    let before = walked(pair.remote(), generation);
    let mirror = pair.remote_mut();
    for write in [add(&key(2), Some(taken)), add(&key(2), None), add(&[0; 8], None), add(b"short", None)] {
        refused(mirror.commit(&next(mirror, write)));
    }
    assert_eq!(walked(mirror, generation), before);

    let mut pair =
        QuotientFilter::with_slots(64, 8).build(HashKey::fixed(1), FlatByHash::new()).expect("an empty remote");
    pair.insert(&key(1)).expect("room");
    let flat = pair.remote_mut();
    let before = walked(flat, generation);
    let other = Write::Add { generation: Generation(5), key: Key::from(&key(2)[..]), words, cell: None };
    for write in [add(&[0; 8], None), add(b"a long key", None), other, Write::Switch { generation: Generation(5) }] {
        refused(flat.commit(&next(flat, write)));
    }
    assert_eq!(walked(flat, generation), before);
}
