//! The same seed gives the same bytes on every platform and in every release: one small saved filter of each kind.
//!
//! A change of format or of any choice that enters the bits shows here. Where it is meant, raise the version in the
//! header, keep the old files loading, and write new ones with `TWICESHY_WRITE_GOLDEN=1 cargo test --test golden`.

use std::path::PathBuf;
use twiceshy::cuckoo::{
    CuckooFilter, CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Options, RuleSpec, Selectors,
    SwappingFilter,
};
use twiceshy::filter::{Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    BroomFilter, BroomForm, BroomOptions, ExtensionFilter, Options as QuotientOptions, PlainTelescopingFilter,
    QuotientFilter, RankSelectFilter, RuleSpec as QuotientRuleSpec, SelectorCode, TelescopingFilter,
};
use twiceshy::remote::{ByHash, Remote};
use twiceshy::testing::Subject;

const INSERTED: std::ops::Range<u32> = 0..110;
const REMOVED: std::ops::Range<u32> = 0..10;
const ASKED: std::ops::Range<u32> = 1000..3000;

fn key(number: u32) -> [u8; 4] {
    number.to_le_bytes()
}

fn stored() -> impl Iterator<Item = [u8; 4]> {
    (REMOVED.end..INSERTED.end).map(key)
}

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

/// The golden file; written first where that is asked for.
fn golden(name: &str, written_now: &[u8]) -> Vec<u8> {
    if std::env::var_os("TWICESHY_WRITE_GOLDEN").is_some() {
        std::fs::write(path(name), written_now).expect("a folder that can be written to");
    }
    let file = std::fs::read(path(name)).expect("a golden file in the repository");
    assert!(file.len() < 2048, "{name} has {} bytes", file.len());
    file
}

/// A filter after the fixed history, without its adaptations.
fn lived<F: Backed>(mut filter: F, remote: &mut ByHash) -> F {
    for number in INSERTED {
        filter.insert(&key(number), remote).expect("a load that fits");
    }
    for number in REMOVED {
        filter.remove(&key(number), remote).expect("a remote that does not fail");
    }
    filter
}

fn grown_up<S: RuleSpec>(options: &Options<S>, seed: u64) -> (FullKeyCuckoo<S::Rule>, ByHash) {
    let mut remote = ByHash::new();
    let filter = options.build(HashKey::fixed(seed), &mut remote).expect("options that can be");
    (lived(filter, &mut remote), remote)
}

fn grown_up_quotient<S: QuotientRuleSpec>(
    options: &QuotientOptions<S>,
    seed: u64,
) -> (RankSelectFilter<S::Rule>, ByHash) {
    let mut remote = ByHash::new();
    let filter = options.build(HashKey::fixed(seed), &mut remote).expect("options that can be");
    (lived(filter, &mut remote), remote)
}

/// Tells the filter of every mistake that it makes about the queries, once.
fn taught<F: Adaptive>(mut filter: F, remote: &mut ByHash) -> F {
    let mut mistakes = 0;
    for query in ASKED.map(key) {
        if filter.contains(&query) {
            filter.adapt(&query, remote).expect("a remote that does not fail");
            mistakes += 1;
        }
    }
    assert!(mistakes >= 10, "{mistakes} mistakes teach too little");
    filter
}

/// What is written today is the golden file, and the golden file is the filter.
fn is_golden<F: Subject>(name: &str, filter: &F, remote: &impl Remote) {
    let today = filter.to_bytes();
    let file = golden(name, &today);
    assert_eq!(today, file, "what is written today is not {name}");
    let loaded = F::from_bytes(&file).expect("a golden file loads");
    assert!(stored().all(|key| loaded.contains(&key)), "a stored key is absent from {name}");
    assert!(
        ASKED.map(key).all(|query| loaded.contains(&query) == filter.contains(&query)),
        "{name} has not learned what the filter had"
    );
    loaded.validate(remote).expect("it belongs to the remote of the same history");
    assert_eq!(loaded.to_bytes(), file, "{name} is not written as it was read");
}

#[test]
fn a_partial_key_filter_is_written_as_ever() {
    let mut filter = CuckooFilter::with_cells(128, 9).build(HashKey::fixed(50)).expect("options that can be");
    INSERTED.map(key).for_each(|key| filter.insert(&key).expect("a load that fits"));
    REMOVED.map(key).for_each(|key| assert!(filter.remove(&key)));
    let mut today = Vec::new();
    filter.save(&mut today).expect("a vector takes everything");
    let file = golden("partial_key.bin", &today);
    assert_eq!(today, file);
    let loaded = CuckooFilter::load(&mut file.as_slice()).expect("a golden file loads");
    assert!(stored().all(|key| loaded.contains(&key)));
    assert!(ASKED.map(key).all(|query| loaded.contains(&query) == filter.contains(&query)));
    loaded.validate().expect("every cell is counted");
}

#[test]
fn a_full_key_filter_is_written_as_ever() {
    let (filter, remote) = grown_up(&FullKeyFilter::with_cells(128, 9), 51);
    is_golden("full_key.bin", &filter, &remote);
}

#[test]
fn a_cyclic_filter_is_written_as_ever() {
    let options = CyclicFilter::with_cells(128, 9).selectors(Selectors::Equal { bits: 2 });
    let (filter, mut remote) = grown_up(&options, 52);
    is_golden("cyclic_equal.bin", &taught(filter, &mut remote), &remote);
}

#[test]
fn a_cyclic_filter_with_unequal_ranges_is_written_as_ever() {
    let options = CyclicFilter::with_cells(128, 10).selectors(Selectors::Unequal { split: 2, bits: 3 }).refine(true);
    let (filter, mut remote) = grown_up(&options, 53);
    is_golden("cyclic_unequal.bin", &taught(filter, &mut remote), &remote);
}

#[test]
fn a_swapping_filter_is_written_as_ever() {
    let (filter, mut remote) = grown_up(&SwappingFilter::with_cells(128, 9), 54);
    is_golden("swapping.bin", &taught(filter, &mut remote), &remote);
}

#[test]
fn a_cuckooing_filter_is_written_as_ever() {
    let (filter, mut remote) = grown_up(&CuckooingFilter::with_cells(128, 9), 55);
    is_golden("cuckooing.bin", &taught(filter, &mut remote), &remote);
}

#[test]
fn a_quotient_filter_is_written_as_ever() {
    let (filter, remote) = grown_up_quotient(&QuotientFilter::with_slots(123, 7), 56);
    is_golden("quotient.bin", &filter, &remote);
}

#[test]
fn a_telescoping_filter_with_the_code_for_8_bits_is_written_as_ever() {
    // With shorter remainders, so that there are mistakes.
    let options = TelescopingFilter::with_slots(123, 6).code(SelectorCode::Tuned);
    let (filter, mut remote) = grown_up_quotient(&options, 57);
    let filter = taught(filter, &mut remote);
    is_golden("telescoping_tuned.bin", &filter, &remote);
}

#[test]
fn a_telescoping_filter_with_a_general_code_and_a_side_table_is_written_as_ever() {
    let (filter, mut remote) = grown_up_quotient(&TelescopingFilter::with_slots(123, 5).side_table(1), 58);
    let filter = taught(filter, &mut remote);
    assert_eq!((filter.stats().side_blocks, filter.stats().resets_by_adapts > 0), (1, true));
    is_golden("telescoping_general.bin", &filter, &remote);
}

#[test]
fn a_plain_telescoping_filter_is_written_as_ever() {
    let (filter, mut remote) = grown_up_quotient(&PlainTelescopingFilter::with_slots(123, 6), 59);
    is_golden("telescoping_plain.bin", &taught(filter, &mut remote), &remote);
}

#[test]
fn an_extension_filter_with_a_side_table_is_written_as_ever() {
    let (filter, mut remote) = grown_up_quotient(&ExtensionFilter::with_slots(123, 5).side_table(1), 60);
    let filter = taught(filter, &mut remote);
    assert_eq!((filter.stats().side_blocks, filter.stats().resets_by_adapts > 0), (1, true));
    is_golden("extension.bin", &filter, &remote);
}

/// A broom filter with all keys, and none removed yet.
fn broom(options: BroomOptions, seed: u64) -> (BroomFilter, ByHash) {
    let mut remote = ByHash::new();
    let mut filter = options.build(HashKey::fixed(seed), &mut remote).expect("options that can be");
    for number in INSERTED {
        filter.insert(&key(number), &mut remote).expect("a load that fits");
    }
    (filter, remote)
}

/// Tells the filter of mistakes until it has come to this, then takes keys out that may have learned from them.
fn taught_until(
    enough: impl Fn(&BroomFilter) -> bool,
    removed: std::ops::Range<u32>,
    filter: &mut BroomFilter,
    remote: &mut ByHash,
) {
    let mut queries = (ASKED.start..).map(key);
    while !enough(filter) {
        let query = queries.next().expect("no end");
        if filter.contains(&query) {
            filter.adapt(&query, remote).expect("the sets agree");
        }
    }
    for number in removed {
        filter.remove(&key(number), remote).expect("the sets agree");
    }
}

#[test]
fn a_broom_filter_with_two_levels_and_a_spilled_block_is_written_as_ever() {
    // Bits pile up while nothing is reclaimed; half of another hash key makes two functions.
    let options = BroomFilter::with_slots(123, 5).form(BroomForm::TwoLevels).reclaim_by_rebuild();
    let (mut filter, mut remote) = broom(options, 61);
    taught_until(|filter| filter.stats().adapts == 50, REMOVED, &mut filter, &mut remote);
    filter.begin_rekey(HashKey::fixed(62), &mut remote).expect("the sets agree");
    filter.rebuild_step(60, &mut remote).expect("there is room");
    taught_until(|filter| filter.stats().spilled_groups == 1, 0..0, &mut filter, &mut remote);
    let stats = filter.stats();
    assert!(stats.ghosts > 0 && stats.debt > 0 && filter.wants_rebuild(), "{stats:?}");
    assert!((0.4..0.7).contains(&filter.frontier().share()));
    is_golden("broom_two_levels.bin", &filter, &remote);
}

#[test]
fn a_broom_filter_with_a_back_yard_is_written_as_ever() {
    let (mut filter, mut remote) = broom(BroomFilter::with_slots(123, 8).form(BroomForm::BackYard), 63);
    // To the end of the first phase, and on past half of the second.
    taught_until(|filter| filter.frontier().share() > 0.9, REMOVED, &mut filter, &mut remote);
    let half = |filter: &BroomFilter| filter.phases() == 1 && filter.frontier().share() > 0.5;
    taught_until(half, 0..0, &mut filter, &mut remote);
    let stats = filter.stats();
    assert!(stats.second_level > 0 && stats.ghosts > 0 && stats.adaptivity_bits > 10, "{stats:?}");
    is_golden("broom_back_yard.bin", &filter, &remote);
}

#[test]
fn a_broom_filter_on_its_way_to_a_larger_table_is_written_as_ever() {
    let (mut filter, mut remote) = broom(BroomFilter::with_slots(123, 6).form(BroomForm::TwoLevels), 64);
    filter.begin_grow(200, &mut remote).expect("the sets agree");
    taught_until(|filter| filter.frontier().share() > 0.4, REMOVED, &mut filter, &mut remote);
    assert!(filter.is_rebuilding() && filter.cells() == 123);
    is_golden("broom_growing.bin", &filter, &remote);
}

#[test]
fn a_broom_filter_of_the_earlier_kind_is_refused_with_what_to_do() {
    let file = std::fs::read(path("broom_in_byte_order.bin")).expect("a file of the repository");
    let refused = BroomFilter::load(&mut file.as_slice()).expect_err("its promise did not hold");
    assert!(matches!(refused, twiceshy::persist::LoadError::Outdated));
    assert!(refused.to_string().contains("BroomOptions::recover"), "{refused}");
}
