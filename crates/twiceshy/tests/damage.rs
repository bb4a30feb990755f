//! A saved filter that was cut, changed or extended is refused with an error, and never brings the process down.

use twiceshy::cuckoo::{CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyFilter, Selectors, SwappingFilter};
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::persist::LoadError;
use twiceshy::quotient::{
    BroomFilter, BroomForm, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Remote};
use twiceshy::testing::Subject;

/// A saved filter and the way to load it.
struct Sample {
    name: &'static str,
    bytes: Vec<u8>,
    load: fn(&[u8]) -> Result<u64, LoadError>,
}

/// A filter with 50 keys that has learned what it can.
fn sample<F: Subject>(name: &'static str, mut filter: F, mut remote: impl Remote) -> Sample {
    for number in 0..50u32 {
        filter.insert(&number.to_le_bytes(), &mut remote).expect("a load that fits");
    }
    for query in (1_000..3_000u32).map(u32::to_le_bytes) {
        let _ = filter.try_adapt(&query, &mut remote);
    }
    Sample { name, bytes: filter.to_bytes(), load: |bytes| F::from_bytes(bytes).map(|filter| filter.len()) }
}

macro_rules! sample {
    ($name:literal, $options:expr) => {
        sample!($name, $options, ByHash::new())
    };
    ($name:literal, $options:expr, $remote:expr) => {{
        let mut remote = $remote;
        let filter = $options.build(HashKey::fixed(9), &mut remote).expect("options that can be");
        sample($name, filter, remote)
    }};
}

fn partial_key() -> Sample {
    let mut filter = CuckooFilter::with_cells(60, 7).build(HashKey::fixed(9)).expect("options that can be");
    (0..50u32).for_each(|number| filter.insert(&number.to_le_bytes()).expect("a load that fits"));
    let mut bytes = Vec::new();
    filter.save(&mut bytes).expect("a vector takes everything");
    Sample { name: "partial-key", bytes, load: |mut bytes| CuckooFilter::load(&mut bytes).map(|filter| filter.len()) }
}

fn samples() -> [Sample; 12] {
    let unequal = Selectors::Unequal { split: 2, bits: 3 };
    let broom = BroomFilter::with_slots(60, 6);
    [
        partial_key(),
        sample!("full-key", FullKeyFilter::with_cells(60, 7)),
        sample!("cyclic", CyclicFilter::with_cells(60, 7)),
        sample!("cyclic with unequal ranges", CyclicFilter::with_cells(60, 7).selectors(unequal)),
        sample!("swapping", SwappingFilter::with_cells(60, 7)),
        sample!("cuckooing", CuckooingFilter::with_cells(60, 7)),
        sample!("quotient", QuotientFilter::with_slots(60, 7)),
        sample!("telescoping", TelescopingFilter::with_slots(60, 3).side_table(1)),
        sample!("plain telescoping", PlainTelescopingFilter::with_slots(60, 7)),
        sample!("extension", ExtensionFilter::with_slots(60, 3).side_table(1)),
        sample!("broom", broom.form(BroomForm::TwoLevels).reclaim_by_rebuild(), ByHash::new()),
        sample!("broom with a back yard", broom.form(BroomForm::BackYard), ByHash::new()),
    ]
}

#[test]
fn a_whole_file_loads() {
    for Sample { name, bytes, load } in samples() {
        assert_eq!(load(&bytes).expect("nothing is wrong with it"), 50, "{name}");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_as_truncated() {
    for Sample { name, bytes, load } in samples() {
        for len in 0..bytes.len() {
            let refused = load(&bytes[..len]);
            assert!(matches!(refused, Err(LoadError::Truncated)), "{name} cut to {len} bytes: {refused:?}");
        }
    }
}

#[test]
fn a_file_with_any_byte_changed_is_refused() {
    for Sample { name, mut bytes, load } in samples() {
        for at in 0..bytes.len() {
            let right = bytes[at];
            let mut others =
                vec![right ^ 1, right ^ 0x80, right.wrapping_add(1), right.wrapping_sub(1), !right, 0, 255];
            others.retain(|other| *other != right);
            for wrong in others {
                bytes[at] = wrong;
                assert!(load(&bytes).is_err(), "{name} with {wrong} instead of {right} at {at}");
            }
            bytes[at] = right;
        }
    }
}

#[test]
fn a_file_with_two_bytes_exchanged_is_refused() {
    for Sample { name, mut bytes, load } in samples() {
        for at in 1..bytes.len() {
            if bytes[at - 1] != bytes[at] {
                bytes.swap(at - 1, at);
                assert!(load(&bytes).is_err(), "{name} with bytes {} and {at} exchanged", at - 1);
                bytes.swap(at - 1, at);
            }
        }
    }
}

#[test]
fn a_file_that_goes_on_after_its_end_is_refused() {
    for Sample { name, mut bytes, load } in samples() {
        bytes.push(0);
        assert!(matches!(load(&bytes), Err(LoadError::TrailingBytes)), "{name}");
        let twice = [&bytes[..bytes.len() - 1], &bytes[..bytes.len() - 1]].concat();
        assert!(matches!(load(&twice), Err(LoadError::TrailingBytes)), "{name} twice");
    }
}

#[test]
fn a_filter_is_loaded_as_its_own_kind_only() {
    let samples = samples();
    for (i, file) in samples.iter().enumerate() {
        for (j, other) in samples.iter().enumerate() {
            // Both cyclic samples are of one kind, and so are the forms of the broom filter.
            let same = i == j || [(2, 3), (10, 11)].contains(&(i.min(j), i.max(j)));
            let loaded = (other.load)(&file.bytes);
            match loaded {
                Ok(_) => assert!(same, "{} was loaded as {}", file.name, other.name),
                Err(error) => assert!(!same && matches!(error, LoadError::WrongKind { .. }), "{error}"),
            }
        }
    }
}
