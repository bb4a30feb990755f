//! The side table: no block forgets while there is room in it.

use super::{Draw, Pair, filled, key, quotient};
use std::collections::BTreeMap;
use twiceshy::filter::{Adapted, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    Coded, ExtensionFilter, Options, RankSelectFilter, Rule, RuleSpec, SelectorCode, TelescopingFilter,
};
use twiceshy::remote::ByHash;
use twiceshy::testing::saved;

/// The bits of an entry: the block's number, and two bytes for each of its 64 marks.
const ENTRY_BITS: u64 = 8 * (8 + 128);

/// Queries that were fixed and have broken, by what broke them.
#[derive(Debug, Default, PartialEq)]
struct Broken {
    by_adapts_of_its_quotient: u64,
    /// By adaptations that skipped bits which had told a query from a key.
    by_skips_of_its_quotient: u64,
    by_insertions_of_its_quotient: u64,
    by_removals: u64,
    by_other_quotients: u64,
}

/// How many slots have an extension that skips bits. Selectors are all smaller.
fn skips<R: Rule>(filter: &RankSelectFilter<R>) -> u64 {
    (0..filter.blocks()).flat_map(|block| filter.marks(block)).map(|mark| u64::from(mark / 2048)).sum()
}

/// Adapts, inserts and removes, and after every operation asks for everything that was fixed so far.
///
/// While no block is reset, an adaptation changes slots of its query's own run alone, an insertion adds one to its key's
/// run, and a removal only takes one away. So a query breaks by an operation of its own quotient or not at all.
fn watch<S: RuleSpec>(options: &Options<S>) -> (Broken, Pair<S::Rule>) {
    let mut pair = filled(options, 0.9, HashKey::fixed(31), ByHash::new());
    let (mut fixed, mut broken, mut draw) = (BTreeMap::new(), Broken::default(), Draw(7 << 30));
    let (mut oldest, mut newest) = (0, pair.len());
    let mut queries = 1 << 40..;
    for step in 0..3_000 {
        let what = draw.below(8);
        let skips_before = skips(pair.filter());
        let own = match what {
            0 => {
                let gone = key(oldest);
                oldest += 1;
                assert!(pair.remove(&gone).expect("the sets agree"));
                gone
            }
            1 => {
                let come = key(newest);
                newest += 1;
                pair.insert(&come).expect("a load that fits");
                come
            }
            _ => {
                let query = queries.by_ref().map(key).find(|query| pair.contains(query)).expect("some mistake");
                assert_eq!(pair.was_wrong(&query).expect("the sets agree"), Adapted::Fixed);
                fixed.insert(query, quotient(pair.filter(), &query));
                query
            }
        };
        let own = quotient(pair.filter(), &own);
        let skipped = skips(pair.filter()) > skips_before;
        fixed.retain(|query, quotient| {
            let breaks = pair.contains(query);
            let count = match (*quotient == own, what) {
                (false, _) => &mut broken.by_other_quotients,
                (true, 0) => &mut broken.by_removals,
                (true, 1) => &mut broken.by_insertions_of_its_quotient,
                (true, _) if skipped => &mut broken.by_skips_of_its_quotient,
                (true, _) => &mut broken.by_adapts_of_its_quotient,
            };
            *count += u64::from(breaks);
            !breaks
        });
        if step % 500 == 0 {
            assert_eq!(pair.validate(), Ok(()), "step {step}");
        }
    }
    (broken, pair)
}

#[test]
fn with_room_on_the_side_a_telescoping_query_is_broken_by_its_own_quotient_or_never() {
    let (broken, pair) = watch(&TelescopingFilter::with_slots(700, 5).side_table(12));
    let stats = pair.filter().stats();
    assert_eq!((stats.resets_by_adapts, stats.resets_by_shifts, stats.reset_reads), (0, 0, 0));
    assert_eq!((broken.by_other_quotients, broken.by_removals), (0, 0), "{broken:?}");
    // A selector that moves on meets an earlier query by chance.
    assert!(broken.by_adapts_of_its_quotient > 20 && stats.side_blocks > 3, "{broken:?}, {stats:?}");
}

#[test]
fn with_room_on_the_side_an_extension_query_is_broken_by_a_new_key_of_its_quotient_or_never() {
    let (broken, pair) = watch(&ExtensionFilter::with_slots(700, 5).side_table(12));
    let stats = pair.filter().stats();
    assert_eq!((stats.resets_by_adapts, stats.resets_by_shifts, stats.reset_reads), (0, 0, 0));
    // An extension only grows, unless it must skip bits, and with them what earlier queries were told apart by.
    let broken_otherwise = (broken.by_adapts_of_its_quotient, broken.by_removals, broken.by_other_quotients);
    assert_eq!(broken_otherwise, (0, 0, 0), "{broken:?}");
    assert!(broken.by_insertions_of_its_quotient > 5 && stats.side_blocks > 3, "{broken:?}, {stats:?}");
}

#[test]
fn without_a_side_table_resets_break_queries_of_other_quotients() {
    let (broken, pair) = watch(&TelescopingFilter::with_slots(700, 5));
    assert!(
        pair.filter().stats().resets_by_adapts > 20 && pair.filter().stats().resets_by_shifts > 0,
        "{:?}",
        pair.filter().stats()
    );
    assert!(broken.by_other_quotients > 100, "{broken:?}");
    let (broken, pair) = watch(&ExtensionFilter::with_slots(700, 5));
    assert!(
        pair.filter().stats().resets_by_adapts > 20 && pair.filter().stats().resets_by_shifts > 0,
        "{:?}",
        pair.filter().stats()
    );
    assert!(broken.by_other_quotients > 100, "{broken:?}");
}

/// A filter that has learned more than its blocks can keep.
fn overflown<S: Coded>(options: Options<S>, room: u32) -> Pair<S::Rule> {
    let mut pair = filled(&options.side_table(room), 0.9, HashKey::fixed(32), ByHash::new());
    for query in (1 << 40..(1 << 40) + 30_000).map(key) {
        let before = pair.filter().stats();
        if pair.contains(&query) {
            assert_eq!(pair.was_wrong(&query).expect("the sets agree"), Adapted::Fixed);
        }
        let stats = pair.filter().stats();
        assert!(stats.side_blocks <= u64::from(room));
        // A block is reset only where the table is full.
        assert!(stats.resets_by_adapts == before.resets_by_adapts || before.side_blocks == u64::from(room));
    }
    assert_eq!(pair.validate(), Ok(()));
    pair
}

/// The bits of the same filter before it has learned.
fn unlearned<S: RuleSpec>(options: &Options<S>) -> u64 {
    options.build(HashKey::fixed(32), ByHash::new()).expect("options that can be").filter().local_bits()
}

fn is_counted_and_bounded<S: Coded>(options: &Options<S>) {
    for room in [0, 1, 2, 5] {
        let pair = overflown(options.clone(), room);
        assert!(pair.filter().stats().resets_by_adapts > 0, "at the cap blocks are reset as without a side table");
        assert_eq!(pair.filter().stats().side_blocks, u64::from(room));
    }
    let pair = overflown(options.clone(), 100);
    let stats = pair.filter().stats();
    assert_eq!((stats.resets_by_adapts, stats.reset_reads), (0, 0));
    assert!(stats.side_blocks > 6, "{stats:?}");
    let bits = pair.filter().local_bits() - unlearned(options);
    let (least, most) = (stats.side_blocks * ENTRY_BITS, (stats.side_blocks * 9 / 8 + 4) * ENTRY_BITS);
    assert!((least..=most).contains(&bits), "{} entries take {bits} bits", stats.side_blocks);
}

#[test]
fn the_side_table_is_counted_never_above_its_cap_and_resets_begin_at_the_cap() {
    is_counted_and_bounded(&TelescopingFilter::with_slots(700, 4));
    is_counted_and_bounded(&TelescopingFilter::with_slots(700, 6).code(SelectorCode::General { x: 10, y: 6 }));
    is_counted_and_bounded(&ExtensionFilter::with_slots(700, 5));
}

fn gives_entries_back<S: Coded>(options: &Options<S>) {
    let mut pair = overflown(options.clone(), 100);
    let (mut beside, keys, mut draw) = (pair.filter().stats().side_blocks, pair.len(), Draw(3 << 40));
    let mut order: Vec<(u64, u64)> = (0..keys).map(|number| (draw.next(), number)).collect();
    order.sort_unstable();
    let mut released = 0;
    for (turn, (_, number)) in order.into_iter().enumerate() {
        assert!(pair.remove(&key(number)).expect("the sets agree"));
        released += u64::from(pair.filter().stats().side_blocks < beside);
        beside = pair.filter().stats().side_blocks;
        if turn % 7 == 0 {
            assert_eq!(pair.validate(), Ok(()), "after {turn} removals");
        }
    }
    assert!(released > 5, "entries went {released} times");
    assert_eq!((beside, pair.len(), pair.filter().stats().resets_by_shifts), (0, 0, 0));
    assert!(
        (0..pair.filter().blocks()).flat_map(|block| pair.filter().marks(block)).all(|mark| mark == 0),
        "an empty filter has learned nothing"
    );
}

#[test]
fn entries_are_released_when_the_marks_of_their_block_fit_again() {
    gives_entries_back(&TelescopingFilter::with_slots(700, 4));
    gives_entries_back(&ExtensionFilter::with_slots(700, 5));
}

fn survives_saving<S: Coded>(options: &Options<S>) {
    for room in [3, 100] {
        let mut pair = overflown(options.clone(), room);
        let bytes = saved(pair.filter());
        let (loaded, _) = RankSelectFilter::<S::Rule>::load(&mut bytes.as_slice()).expect("what was saved loads");
        assert!(loaded.stats().side_blocks > 0 && loaded.stats().side_blocks == pair.filter().stats().side_blocks);
        assert!((0..pair.filter().blocks()).all(|block| loaded.marks(block) == pair.filter().marks(block)));
        assert!(saved(&loaded) == bytes);
        // Both go on alike: the cap is saved too.
        let mut loaded =
            Pair::from_parts(Box::new(loaded), pair.sequence(), pair.remote().clone()).expect("the same commit");
        assert_eq!(loaded.validate(), Ok(()));
        for query in (1 << 41..(1 << 41) + 4_000).map(key) {
            let adapted = pair.was_wrong(&query).expect("the sets agree");
            assert_eq!(loaded.was_wrong(&query).expect("the sets agree"), adapted);
        }
        assert!(saved(loaded.filter()) == saved(pair.filter()));
    }
}

#[test]
fn a_side_table_is_saved_and_loaded_with_its_cap() {
    survives_saving(&TelescopingFilter::with_slots(700, 4));
    survives_saving(&ExtensionFilter::with_slots(700, 5));
}
