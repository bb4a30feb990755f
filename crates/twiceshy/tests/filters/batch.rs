//! Batches give the answers of single look-ups, and insert as single insertions do.

use twiceshy::cuckoo::{CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyFilter, RememberingFilter, SwappingFilter};
use twiceshy::filter::{Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{BroomFilter, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter};
use twiceshy::remote::{ByHash, Remote};
use twiceshy::{AdaptiveFilter, Kind};

/// Keys of many lengths.
fn key(number: u64) -> Vec<u8> {
    let word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes();
    word.iter().copied().cycle().take(1 + (number % 23) as usize).chain(number.to_be_bytes()).collect()
}

/// Compares batches of awkward lengths with single look-ups.
fn same_answers(filter: &(impl Filter + ?Sized), what: &str) {
    let queries: Vec<Vec<u8>> = (0..3_000).map(|number| key(number * 7 % 4_001)).collect();
    for len in [0, 1, 31, 32, 33, 64, 3_000] {
        let bytes: Vec<&[u8]> = queries[..len].iter().map(Vec::as_slice).collect();
        let mut found = vec![true; len];
        filter.contains_batch(&bytes, &mut found);
        let single: Vec<bool> = bytes.iter().map(|key| filter.contains(key)).collect();
        assert_eq!(found, single, "{what}, {len} keys");
    }
    // Where one slice is longer, its end is left alone.
    let bytes: Vec<&[u8]> = queries[..40].iter().map(Vec::as_slice).collect();
    let mut more = [true; 50];
    filter.contains_batch(&bytes[..3], &mut more);
    assert!(more[3..].iter().all(|found| *found), "{what}");
    filter.contains_batch(&bytes, &mut more[..3]);
}

fn check<F: Backed, R: Remote>(mut filter: AdaptiveFilter<F, R>, what: &str) {
    let keys: Vec<Vec<u8>> = (0..1_500).map(key).collect();
    assert_eq!(filter.insert_batch(&keys).expect("room"), 1_500, "{what}");
    assert_eq!(filter.insert_batch(&keys[..100]).expect("room"), 0, "{what}");
    assert!(filter.contains_batch(&keys).iter().all(|found| *found), "{what}");
    same_answers(filter.filter(), what);
    // Taught blocks and moved keys, too.
    for query in (2_000..9_000).map(key) {
        if filter.contains(&query) {
            filter.was_wrong(&query).expect("the sets agree");
        }
    }
    assert!(filter.contains_batch(&keys).iter().all(|found| *found), "{what}");
    same_answers(filter.filter(), what);
    let bytes: Vec<&[u8]> = keys[..50].iter().map(Vec::as_slice).collect();
    let places: Vec<_> = bytes.iter().map(|key| filter.filter().lookup(key)).collect();
    assert_eq!(filter.filter().lookup_batch(&bytes), places, "{what}");
}

#[test]
fn batches_answer_as_single_look_ups_do_in_every_filter() {
    for hash in [HashKey::fixed(5), HashKey::fixed(5).for_trusted_keys()] {
        for bits in [4, 5, 7, 8, 9, 11, 12, 13, 16, 24] {
            let what = |name: &str| format!("{name}, {bits} bits, {:?}", hash.kind());
            macro_rules! check {
                ($($filter:ty, $new:ident, $name:literal;)*) => {
                    $(check(<$filter>::$new(1_700, bits).build(hash, ByHash::new()).expect("options"), &what($name));)*
                };
            }
            check! {
                FullKeyFilter, with_cells, "cuckoo";
                CyclicFilter, with_cells, "cyclic";
                SwappingFilter, with_cells, "swapping";
                CuckooingFilter, with_cells, "cuckooing";
                RememberingFilter, with_cells, "remembering";
                QuotientFilter, with_slots, "quotient";
                TelescopingFilter, with_slots, "telescoping";
                PlainTelescopingFilter, with_slots, "telescoping-plain";
                ExtensionFilter, with_slots, "extension";
            }
            if bits <= 16 {
                check(
                    BroomFilter::with_slots(1_700, bits).build(hash, ByHash::new()).expect("options"),
                    &what("broom"),
                );
            }
        }
    }
}

#[test]
fn filters_without_keys_have_batches_of_their_own() {
    for (tables, cells, bits) in
        [(2, 4, 12), (2, 4, 8), (2, 4, 15), (2, 4, 16), (2, 4, 13), (2, 4, 20), (3, 2, 9), (4, 1, 11)]
    {
        let options = CuckooFilter::with_cells(1_700, bits).tables(tables).cells_per_bucket(cells);
        let mut filter = options.build(HashKey::fixed(6)).expect("options");
        let keys: Vec<Vec<u8>> = (0..1_400).map(key).collect();
        filter.insert_batch(&keys).expect("room");
        assert!(filter.contains_batch(&keys).iter().all(|found| *found));
        same_answers(&filter, &format!("{tables}×{cells}, {bits} bits"));
    }
    let mut filter = QuotientFilter::keyless(1_500, 0.01, HashKey::fixed(7)).expect("options");
    let keys: Vec<Vec<u8>> = (0..1_500).map(key).collect();
    filter.insert_batch(&keys).expect("room");
    assert!(filter.contains_batch(&keys).iter().all(|found| *found));
    same_answers(&filter, "quotient without keys");
}

#[test]
fn a_batch_that_does_not_fit_keeps_its_first_keys() {
    let keys: Vec<Vec<u8>> = (0..200).map(key).collect();
    for kind in Kind::ALL {
        let filter = kind.build(40, 0.01, HashKey::fixed(8), ByHash::new()).expect("options");
        let mut filter = filter;
        if filter.insert_batch(&keys).is_err() {
            let stored = filter.len() as usize;
            assert!(stored >= 30 && filter.contains_batch(&keys[..stored]).iter().all(|found| *found), "{kind}");
        }
    }
}
