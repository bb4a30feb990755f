//! A saved filter that was cut, changed or extended is refused with an error, and never brings the process down.

use twiceshy::Kind;
use twiceshy::cuckoo::CuckooFilter;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::persist::LoadError;
use twiceshy::remote::ByHash;
use twiceshy::testing::{Variant, saved};

/// A saved filter, and its kind; none for the partial-key filter, which has no remote.
struct Sample {
    name: String,
    kind: Option<Kind>,
    bytes: Vec<u8>,
}

impl Sample {
    /// A filter with 50 keys that has learned what it can.
    fn of(variant: Variant) -> Sample {
        let narrow = [Variant::TelescopingSide, Variant::ExtensionSide].contains(&variant);
        let bits = if narrow { 3 } else { 7 };
        let mut pair = variant.build(60, bits, HashKey::fixed(9), ByHash::new()).expect("options that can be");
        for number in 0..50u32 {
            let _ = pair.insert(&number);
        }
        for query in 1_000..3_000u32 {
            pair.was_wrong(&query).expect("a remote that does not fail");
        }
        Sample { name: format!("{variant:?}"), kind: Some(variant.kind()), bytes: saved(pair.filter()) }
    }

    fn load(&self, bytes: &[u8]) -> Result<u64, LoadError> {
        load(self.kind, bytes)
    }
}

/// Loads a file as a filter of this kind; how many keys it has.
fn load(kind: Option<Kind>, mut bytes: &[u8]) -> Result<u64, LoadError> {
    match kind {
        Some(kind) => kind.load(&mut bytes).map(|(filter, _)| filter.len()),
        None => CuckooFilter::load(&mut bytes).map(|filter| filter.len()),
    }
}

fn partial_key() -> Sample {
    let mut filter = CuckooFilter::with_cells(60, 7).build(HashKey::fixed(9)).expect("options that can be");
    (0..50u32).for_each(|number| filter.insert(&number.to_le_bytes()).expect("a load that fits"));
    let mut bytes = Vec::new();
    filter.save(&mut bytes).expect("a vector takes everything");
    Sample { name: "partial-key".into(), kind: None, bytes }
}

fn samples() -> Vec<Sample> {
    Variant::ALL.iter().copied().map(Sample::of).chain([partial_key()]).collect()
}

#[test]
fn a_whole_file_loads() {
    for sample in samples() {
        let keys = sample.load(&sample.bytes).expect("nothing is wrong with it");
        assert!((26..=50).contains(&keys), "{}: {keys}", sample.name);
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_as_truncated() {
    for Sample { name, kind, bytes } in samples() {
        for len in 0..bytes.len() {
            let refused = load(kind, &bytes[..len]);
            assert!(matches!(refused, Err(LoadError::Truncated)), "{name} cut to {len} bytes: {refused:?}");
        }
    }
}

#[test]
fn a_file_with_any_byte_changed_is_refused() {
    for Sample { name, kind, mut bytes } in samples() {
        for at in 0..bytes.len() {
            let right = bytes[at];
            let mut others =
                vec![right ^ 1, right ^ 0x80, right.wrapping_add(1), right.wrapping_sub(1), !right, 0, 255];
            others.retain(|other| *other != right);
            for wrong in others {
                bytes[at] = wrong;
                assert!(load(kind, &bytes).is_err(), "{name} with {wrong} instead of {right} at {at}");
            }
            bytes[at] = right;
        }
    }
}

#[test]
fn a_file_with_two_bytes_exchanged_is_refused() {
    for Sample { name, kind, mut bytes } in samples() {
        for at in 1..bytes.len() {
            if bytes[at - 1] != bytes[at] {
                bytes.swap(at - 1, at);
                assert!(load(kind, &bytes).is_err(), "{name} with bytes {} and {at} exchanged", at - 1);
                bytes.swap(at - 1, at);
            }
        }
    }
}

#[test]
fn a_file_that_goes_on_after_its_end_is_refused() {
    for Sample { name, kind, mut bytes } in samples() {
        bytes.push(0);
        assert!(matches!(load(kind, &bytes), Err(LoadError::TrailingBytes)), "{name}");
        let twice = [&bytes[..bytes.len() - 1], &bytes[..bytes.len() - 1]].concat();
        assert!(matches!(load(kind, &twice), Err(LoadError::TrailingBytes)), "{name} twice");
    }
}

#[test]
fn a_filter_is_loaded_as_its_own_kind_only() {
    let samples = samples();
    for file in &samples {
        for other in &samples {
            match other.load(&file.bytes) {
                Ok(_) => assert_eq!(file.kind, other.kind, "{} was loaded as {}", file.name, other.name),
                Err(LoadError::WrongKind { .. }) => assert_ne!(file.kind, other.kind, "{}", file.name),
                Err(error) => panic!("{} as {}: {error}", file.name, other.name),
            }
        }
    }
}
