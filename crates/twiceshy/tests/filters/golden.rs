//! The same seed gives the same bytes on every platform and in every release: one small saved filter of each kind.
//!
//! A change of format or of any choice that enters the bits shows here. Where it is meant, raise the version in the
//! header, keep the old files loading, and write new ones with
//! `TWICESHY_WRITE_GOLDEN=1 cargo test -p twiceshy --test filters golden::`.
//!
//! The files in `version_1` were written before headers had a stamp. Their fields are the same. Those in `apart`, and the ones of the
//! quotient family in `version_1`, are of the kinds whose strings begin with hash word 1. They are read and written as they are.

use std::path::PathBuf;
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{
    CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyFilter, RememberingFilter, Selectors, SwappingFilter,
};
use twiceshy::error::Error;
use twiceshy::filter::{Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::persist::LoadError;
use twiceshy::quotient::{
    BroomFilter, BroomForm, BroomOptions, ExtensionFilter, PlainTelescopingFilter, QuotientFilter, SelectorCode,
    TelescopingFilter,
};
use twiceshy::remote::ByHash;

const INSERTED: std::ops::Range<u32> = 0..110;
const REMOVED: std::ops::Range<u32> = 0..10;
const ASKED: std::ops::Range<u32> = 1000..3000;
/// The length of a header.
const HEADER: usize = 64;

fn key(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn stored() -> impl Iterator<Item = [u8; 4]> {
    (REMOVED.end..INSERTED.end).map(key)
}

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

/// The golden file, and the one of version 1; the first is written where that is asked for.
fn golden(name: &str, written_now: &[u8]) -> [Vec<u8>; 2] {
    [golden_now(name, written_now), read(path("version_1").join(name))]
}

/// The golden file alone.
fn golden_now(name: &str, written_now: &[u8]) -> Vec<u8> {
    if std::env::var_os("TWICESHY_WRITE_GOLDEN").is_some() {
        std::fs::write(path(name), written_now).expect("a folder that can be written to");
    }
    read(path(name))
}

fn read(path: PathBuf) -> Vec<u8> {
    let file = std::fs::read(&path).expect("a golden file in the repository");
    assert!(file.len() < 2048, "{} has {} bytes", path.display(), file.len());
    file
}

/// A filter after the fixed history, without its adaptations.
fn lived<F: Backed>(built: Result<AdaptiveFilter<F>, Error>) -> AdaptiveFilter<F> {
    let mut pair = built.expect("options that can be");
    for number in INSERTED {
        pair.insert(&key(number)).expect("a load that fits");
    }
    for number in REMOVED {
        pair.remove(&key(number)).expect("a remote that does not fail");
    }
    pair
}

/// The same, told of every mistake that it makes about the queries, once.
fn taught<F: Backed>(built: Result<AdaptiveFilter<F>, Error>) -> AdaptiveFilter<F> {
    let mut pair = lived(built);
    let mut mistakes = 0;
    for query in ASKED.map(key) {
        if pair.contains(&query) {
            pair.was_wrong(&query).expect("a remote that does not fail");
            mistakes += 1;
        }
    }
    assert!(mistakes >= 10, "{mistakes} mistakes teach too little");
    pair
}

/// What is written today is the golden file, and the golden file is the filter. So is the one of version 1.
fn is_golden<F: Backed>(name: &str, pair: &AdaptiveFilter<F>) {
    let mut today = Vec::new();
    pair.save(&mut today).expect("a vector takes everything");
    let [file, version_1] = golden(name, &today);
    assert_eq!(today, file, "what is written today is not {name}");
    assert_eq!(version_1[HEADER..], file[HEADER..], "the fields of {name} have changed");
    is_read_as_ever(name, pair, [(file, 2), (version_1, 1)]);
}

/// The same for a kind that had other strings when there was version 1. Those files must still be filters of the same set.
fn is_golden_since_shared_heads<F: Backed>(name: &str, pair: &AdaptiveFilter<F>) {
    let mut today = Vec::new();
    pair.save(&mut today).expect("a vector takes everything");
    let [file, version_1] = golden(name, &today);
    assert_eq!(today, file, "what is written today is not {name}");
    is_read_as_ever(name, pair, [(file, 2)]);
    let apart = std::fs::read(path("apart").join(name)).expect("a golden file in the repository");
    assert_eq!(version_1[HEADER..], apart[HEADER..], "{name}");
    for file in [&apart, &version_1] {
        assert_ne!(file[10..12], today[10..12], "the kind of {name}");
        let (loaded, sequence) = pair.filter().kind().load(&mut file.as_slice()).expect("a golden file loads");
        let mut written = Vec::new();
        loaded.save(sequence, &mut written).expect("a vector takes everything");
        assert_eq!((&written[10..12], &written[HEADER..]), (&file[10..12], &file[HEADER..]), "{name}");
    }
    // The other file has the identity of a remote that no longer exists.
    let (loaded, sequence) = pair.filter().kind().load(&mut version_1.as_slice()).expect("a golden file loads");
    let loaded = AdaptiveFilter::from_parts(loaded, sequence, pair.remote().clone());
    let mut loaded = loaded.expect("it belongs to the remote of the same history");
    assert!(stored().all(|key| loaded.contains(&key)), "a stored key is absent from {name}");
    loaded.validate().expect("every key has a slot of its own");
    // It goes on with its own strings, and a larger table has the new ones.
    for key in stored().take(9) {
        loaded.remove(&key).expect("a remote that does not fail");
        loaded.insert(&key).expect("a load that fits");
    }
    loaded.validate().expect("every key has a slot of its own");
    loaded.grow(200).expect("there is room");
    loaded.validate().expect("every key has a slot of its own");
    let mut grown = Vec::new();
    loaded.save(&mut grown).expect("a vector takes everything");
    assert_eq!(grown[10..12], today[10..12], "the kind of {name} after growing");
}

fn is_read_as_ever<F: Backed>(name: &str, pair: &AdaptiveFilter<F>, files: impl IntoIterator<Item = (Vec<u8>, u8)>) {
    for (file, version) in files {
        assert_eq!(file[8], version, "{name}");
        let (loaded, sequence) = pair.filter().kind().load(&mut file.as_slice()).expect("a golden file loads");
        let (again, _) = pair.filter().kind().load(&mut file.as_slice()).expect("a golden file loads");
        assert_eq!(loaded.stamp() == pair.filter().stamp(), version == 2, "{name}");
        assert_eq!(loaded.stamp(), again.stamp(), "{name}");
        let loaded = AdaptiveFilter::from_parts(loaded, sequence, pair.remote().clone());
        let loaded = loaded.expect("it belongs to the remote of the same history");
        assert!(stored().all(|key| loaded.contains(&key)), "a stored key is absent from {name}");
        assert!(
            ASKED.map(key).all(|query| loaded.contains(&query) == pair.contains(&query)),
            "{name} has not learned what the filter had"
        );
        loaded.validate().expect("every key has a cell of its own");
        let mut written = Vec::new();
        loaded.save(&mut written).expect("a vector takes everything");
        assert_eq!(written[HEADER..], file[HEADER..], "{name} is not written as it was read");
        assert!(version == 1 || written == file, "{name} is not written as it was read");
    }
}

#[test]
fn a_partial_key_filter_is_written_as_ever() {
    let mut filter = CuckooFilter::with_cells(128, 9).build(HashKey::fixed(50)).expect("options that can be");
    INSERTED.map(key).for_each(|key| filter.insert(&key).expect("a load that fits"));
    REMOVED.map(key).for_each(|key| assert!(filter.remove(&key)));
    let mut today = Vec::new();
    filter.save(&mut today).expect("a vector takes everything");
    let [file, version_1] = golden("partial_key.bin", &today);
    assert_eq!(today, file);
    for file in [file, version_1] {
        let loaded = CuckooFilter::load(&mut file.as_slice()).expect("a golden file loads");
        assert!(stored().all(|key| loaded.contains(&key)));
        assert!(ASKED.map(key).all(|query| loaded.contains(&query) == filter.contains(&query)));
        loaded.validate().expect("every cell is counted");
    }
}

#[test]
fn a_full_key_filter_is_written_as_ever() {
    is_golden("full_key.bin", &lived(FullKeyFilter::with_cells(128, 9).build(HashKey::fixed(51), ByHash::new())));
}

#[test]
fn a_cyclic_filter_is_written_as_ever() {
    let options = CyclicFilter::with_cells(128, 9).selectors(Selectors::Equal { bits: 2 });
    is_golden("cyclic_equal.bin", &taught(options.build(HashKey::fixed(52), ByHash::new())));
}

#[test]
fn a_cyclic_filter_with_unequal_ranges_is_written_as_ever() {
    let options = CyclicFilter::with_cells(128, 10).selectors(Selectors::Unequal { split: 2, bits: 3 }).refine(true);
    is_golden("cyclic_unequal.bin", &taught(options.build(HashKey::fixed(53), ByHash::new())));
}

#[test]
fn a_swapping_filter_is_written_as_ever() {
    is_golden("swapping.bin", &taught(SwappingFilter::with_cells(128, 9).build(HashKey::fixed(54), ByHash::new())));
}

#[test]
fn a_cuckooing_filter_is_written_as_ever() {
    is_golden("cuckooing.bin", &taught(CuckooingFilter::with_cells(128, 9).build(HashKey::fixed(55), ByHash::new())));
}

/// There was no such filter in version 1.
#[test]
fn a_remembering_filter_is_written_as_ever() {
    let pair = taught(RememberingFilter::with_cells(118, 8).build(HashKey::fixed(57), ByHash::new()));
    assert!(pair.filter().stats().exceptions > 3, "{:?}", pair.filter().stats());
    let mut today = Vec::new();
    pair.save(&mut today).expect("a vector takes everything");
    let file = golden_now("remembering.bin", &today);
    assert_eq!(today, file, "what is written today is not remembering.bin");
    is_read_as_ever("remembering.bin", &pair, [(file, 2)]);
}

#[test]
fn a_quotient_filter_is_written_as_ever() {
    is_golden_since_shared_heads(
        "quotient.bin",
        &lived(QuotientFilter::with_slots(123, 7).build(HashKey::fixed(56), ByHash::new())),
    );
}

#[test]
fn a_telescoping_filter_with_the_code_for_8_bits_is_written_as_ever() {
    // With shorter remainders, so that there are mistakes.
    let options = TelescopingFilter::with_slots(123, 6).code(SelectorCode::Tuned);
    is_golden_since_shared_heads("telescoping_tuned.bin", &taught(options.build(HashKey::fixed(57), ByHash::new())));
}

#[test]
fn a_telescoping_filter_with_a_general_code_and_a_side_table_is_written_as_ever() {
    let options = TelescopingFilter::with_slots(123, 5).side_table(1);
    let pair = taught(options.build(HashKey::fixed(58), ByHash::new()));
    let stats = pair.filter().stats();
    assert_eq!((stats.side_blocks, stats.resets_by_adapts > 0), (1, true));
    is_golden_since_shared_heads("telescoping_general.bin", &pair);
}

#[test]
fn a_plain_telescoping_filter_is_written_as_ever() {
    let options = PlainTelescopingFilter::with_slots(123, 6);
    is_golden_since_shared_heads("telescoping_plain.bin", &taught(options.build(HashKey::fixed(59), ByHash::new())));
}

#[test]
fn an_extension_filter_with_a_side_table_is_written_as_ever() {
    let options = ExtensionFilter::with_slots(123, 5).side_table(1);
    let pair = taught(options.build(HashKey::fixed(60), ByHash::new()));
    let stats = pair.filter().stats();
    assert_eq!((stats.side_blocks, stats.resets_by_adapts > 0), (1, true));
    is_golden_since_shared_heads("extension.bin", &pair);
}

/// A broom filter with all keys, and none removed yet.
fn broom(options: BroomOptions, seed: u64) -> AdaptiveFilter<BroomFilter> {
    let mut pair = options.build(HashKey::fixed(seed), ByHash::new()).expect("options that can be");
    for number in INSERTED {
        pair.insert(&key(number)).expect("a load that fits");
    }
    pair
}

/// Tells the filter of mistakes until it has come to this.
fn teach_until(enough: impl Fn(&BroomFilter) -> bool, pair: &mut AdaptiveFilter<BroomFilter>) {
    let mut queries = (ASKED.start..).map(key);
    while !enough(pair.filter()) {
        let query = queries.next().expect("no end");
        if pair.contains(&query) {
            pair.was_wrong(&query).expect("the sets agree");
        }
    }
}

/// Takes keys out that may have learned.
fn remove_some(pair: &mut AdaptiveFilter<BroomFilter>) {
    for number in REMOVED {
        pair.remove(&key(number)).expect("the sets agree");
    }
}

#[test]
fn a_broom_filter_with_two_levels_and_a_spilled_block_is_written_as_ever() {
    // Bits pile up while nothing is reclaimed; half of another hash key makes two functions.
    let options = BroomFilter::with_slots(123, 5).form(BroomForm::TwoLevels).reclaim_by_rebuild();
    let mut pair = broom(options, 61);
    teach_until(|filter| filter.stats().adapts == 50, &mut pair);
    remove_some(&mut pair);
    pair.begin_rekey(HashKey::fixed(62)).expect("the sets agree");
    pair.rebuild_step(60).expect("there is room");
    teach_until(|filter| filter.stats().spilled_groups == 1, &mut pair);
    let stats = pair.filter().stats();
    assert!(stats.ghosts > 0 && stats.debt > 0 && pair.wants_rebuild(), "{stats:?}");
    assert!((0.4..0.7).contains(&pair.filter().frontier().share()));
    is_golden("broom_two_levels.bin", &pair);
}

#[test]
fn a_broom_filter_with_a_back_yard_is_written_as_ever() {
    let mut pair = broom(BroomFilter::with_slots(123, 8).form(BroomForm::BackYard), 64);
    // To the end of the first phase, and on past half of the second.
    teach_until(|filter| filter.frontier().share() > 0.9, &mut pair);
    remove_some(&mut pair);
    teach_until(|filter| filter.phases() == 1 && filter.frontier().share() > 0.5, &mut pair);
    let stats = pair.filter().stats();
    assert!(stats.second_level > 0 && stats.ghosts > 0 && stats.adaptivity_bits > 10, "{stats:?}");
    let mut today = Vec::new();
    pair.save(&mut today).expect("a vector takes everything");
    let name = "broom_back_yard.bin";
    let file = golden_now(name, &today);
    assert_eq!(today, file, "what is written today is not {name}");
    is_read_as_ever(name, &pair, [(file, 2)]);
    // Files of filters that kept colliding keys in the yard.
    for earlier in ["apart", "version_1"] {
        let file = read(path(earlier).join(name));
        let (loaded, sequence) = pair.filter().kind().load(&mut file.as_slice()).expect("a golden file loads");
        assert!(stored().all(|key| loaded.contains(&key)), "a stored key is absent from {earlier}");
        let mut written = Vec::new();
        loaded.save(sequence, &mut written).expect("a vector takes everything");
        assert_eq!(written[HEADER..], file[HEADER..], "{earlier} is not written as it was read");
    }
}

#[test]
fn a_broom_filter_on_its_way_to_a_larger_table_is_written_as_ever() {
    let mut pair = broom(BroomFilter::with_slots(123, 6).form(BroomForm::TwoLevels), 64);
    pair.begin_grow(200).expect("the sets agree");
    teach_until(|filter| filter.frontier().share() > 0.4, &mut pair);
    remove_some(&mut pair);
    assert!(pair.is_rebuilding() && pair.filter().cells() == 123);
    is_golden("broom_growing.bin", &pair);
}

#[test]
fn a_broom_filter_of_the_earlier_kind_is_refused_with_what_to_do() {
    let file = std::fs::read(path("version_1/broom_in_byte_order.bin")).expect("a file of the repository");
    let refused = BroomFilter::load(&mut file.as_slice()).expect_err("its promise did not hold");
    assert!(matches!(refused, LoadError::Outdated));
    assert!(refused.to_string().contains("BroomOptions::recover"), "{refused}");
}
