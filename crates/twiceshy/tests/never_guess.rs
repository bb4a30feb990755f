//! A remote that is ahead, another's, or too generous must not cost a stored key.

use twiceshy::cuckoo::CyclicFilter;
use twiceshy::error::{RebuildError, SeamError};
use twiceshy::filter::{Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{BroomFilter, BroomForm, TelescopingFilter};
use twiceshy::remote::{ByHash, MemoryError, Place, Remote};
use twiceshy::through;

fn key(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn filled<R: Remote>(remote: &mut R) -> CyclicFilter {
    let mut filter = CyclicFilter::with_cells(400, 6).build(HashKey::fixed(1), remote).expect("possible options");
    for number in 0..300 {
        filter.insert(&key(number), remote).expect("there is room");
    }
    filter
}

fn mistakes(filter: &CyclicFilter) -> Vec<[u8; 4]> {
    (1_000..4_000).map(key).filter(|key| filter.contains(key)).collect()
}

#[test]
fn a_filter_behind_its_remote_adapts_and_grows_only_after_a_rebuild() {
    let mut remote = ByHash::new();
    let mut filter = filled(&mut remote);
    let mut behind = filter.clone();
    filter.insert(b"later", &mut remote).expect("there is room");
    let mistake = mistakes(&behind)[0];
    assert!(matches!(behind.adapt(&mistake, &mut remote), Err(SeamError::OutOfStep { .. })));
    let grown = behind.begin_grow(800, &mut remote);
    assert!(matches!(grown, Err(RebuildError::Seam(SeamError::OutOfStep { .. }))));
    assert!(behind.contains(&mistake), "nothing changed");
}

#[test]
fn a_cell_that_nobody_owns_is_a_disagreement_where_no_orphan_was_left() {
    let mut remote = ByHash::new();
    let mut filter = filled(&mut remote);
    // Another set under the same hash key and at the same commit.
    let mut other = ByHash::new();
    let mut stranger = CyclicFilter::with_cells(400, 6).build(HashKey::fixed(1), &mut other).expect("possible options");
    for number in 5_000..5_300 {
        stranger.insert(&key(number), &mut other).expect("there is room");
    }
    let refused = mistakes(&filter)
        .iter()
        .filter(|key| matches!(filter.adapt(&key[..], &mut other), Err(SeamError::Disagree)))
        .count();
    assert!(refused > 0);
}

/// A remote by hash that reads more than it was asked for, as a store that reads blocks may.
struct Generous(ByHash);

impl Remote for Generous {
    type Error = MemoryError;
    through!(0: walk, commit, sequence, in_use);

    fn candidates(&self, place: &Place, found: &mut dyn FnMut(&[u8])) -> Result<(), MemoryError> {
        let wide = place.words.start().saturating_sub(1 << 58)..=place.words.end().saturating_add(1 << 58);
        self.0.candidates(&Place { words: wide, ..place.clone() }, found)
    }
}

#[test]
fn candidates_from_other_buckets_are_passed_over() {
    let mut remote = Generous(ByHash::new());
    let mut filter = filled(&mut remote);
    for mistake in mistakes(&filter) {
        filter.adapt(&mistake, &mut remote).expect("the sets agree");
    }
    filter.validate(&remote).expect("every key has its cell");
}

/// A filter that was loaded from an old file: its remote has gone on.
fn a_key_that_came_later_is_not_called_absent<F: Backed + Clone>(mut filter: F, mut remote: impl Remote) {
    let mut old = filter.clone();
    for number in 1_000..1_020u64 {
        filter.insert(&number.to_le_bytes(), &mut remote).expect("room for some more");
    }
    for number in 1_000..1_020u64 {
        let removed = old.remove(&number.to_le_bytes(), &mut remote);
        assert!(matches!(removed, Err(SeamError::OutOfStep { .. } | SeamError::Disagree)), "{removed:?}");
    }
}

#[test]
fn a_filter_behind_its_remote_does_not_say_that_a_key_is_not_stored() {
    let (mut remote, hash) = (ByHash::new(), HashKey::fixed(5));
    let filter = TelescopingFilter::with_slots(400, 9).build(hash, &mut remote).expect("an empty remote");
    a_key_that_came_later_is_not_called_absent(filter, remote);
    let mut remote = ByHash::new();
    let filter = CyclicFilter::with_cells(400, 9).build(hash, &mut remote).expect("an empty remote");
    a_key_that_came_later_is_not_called_absent(filter, remote);
    for form in [BroomForm::TwoLevels, BroomForm::BackYard] {
        let mut remote = ByHash::new();
        let filter = BroomFilter::with_slots(400, 9).form(form).build(hash, &mut remote).expect("an empty remote");
        a_key_that_came_later_is_not_called_absent(filter, remote);
    }
}
