#![cfg(any())] // broom: remove this line, port, and keep the old files in `golden/version_1`.
//! The broom filter's golden files: see `golden.rs`.

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
