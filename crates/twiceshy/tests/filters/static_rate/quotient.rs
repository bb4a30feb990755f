//! The quotient family: a query is a false positive exactly where its pair of quotient and remainder is taken.

use super::{HASH_KEYS, Tally, hash_keys, key};
use twiceshy::AdaptiveFilter;
use twiceshy::filter::{Adapted, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{
    ExtensionFilter, Options, PlainTelescopingFilter, QuotientFilter, RankSelectFilter, Rule, RuleSpec,
    TelescopingFilter,
};
use twiceshy::remote::ByHash;
use twiceshy::sizing::quotient_rate;

/// Widths with the queries for them, ten million together; more where mistakes are rare.
const WIDTHS: [(u32, u64); 4] = [(4, 500_000), (8, 1_500_000), (12, 3_000_000), (16, 5_000_000)];

fn filled<S: RuleSpec>(options: &Options<S>, load: f64, hash: HashKey) -> AdaptiveFilter<RankSelectFilter<S::Rule>> {
    let mut pair = options.build(hash, ByHash::new()).expect("options that can be");
    let keys = (pair.filter().cells() as f64 * load) as u64;
    for number in 0..keys {
        pair.insert(&key(number)).expect("a load that fits");
    }
    pair
}

/// Asks as many queries as the formula is for. Which share of all N pairs n keys take is drawn with each table, with the
/// variance of the boxes that n balls leave empty: (e^−c − (1 + c)·e^−2c)/N where c = n/N.
fn ask<R: Rule>(tally: &mut Tally, filter: &RankSelectFilter<R>, queries: u64) {
    let pairs = filter.cells() as f64 * f64::from(filter.width()).exp2();
    let c = filter.len() as f64 / pairs;
    tally.ask(filter, queries, quotient_rate(filter.load(), filter.width()));
    tally.allow(((-c).exp() - (1.0 + c) * (-2.0 * c).exp()).max(0.0) / pairs, queries);
}

/// The deviation of a fresh filter from the formula.
fn fresh<S: RuleSpec>(name: &str, options: &Options<S>, load: f64, queries: u64) {
    let mut tally = Tally::default();
    for hash in hash_keys(name) {
        ask(&mut tally, filled(options, load, hash).filter(), queries / HASH_KEYS);
    }
    let z = tally.report(name);
    assert!(z.abs() < 4.0, "{name}: {z:.2} standard deviations from the formula");
}

#[test]
fn quotient_filters_are_wrong_as_often_as_the_formula_says() {
    for (width, queries) in WIDTHS {
        fresh(&format!("quotient, {width} bits"), &QuotientFilter::with_slots(8_009, width), 0.95, queries);
    }
}

#[test]
fn telescoping_filters_that_have_not_learned_are_wrong_as_often_as_the_formula_says() {
    for (width, queries) in WIDTHS {
        fresh(&format!("telescoping, {width} bits"), &TelescopingFilter::with_slots(8_009, width), 0.95, queries);
        let plain = PlainTelescopingFilter::with_slots(8_009, width);
        fresh(&format!("plain telescoping, {width} bits"), &plain, 0.95, queries);
    }
}

#[test]
fn extension_filters_that_have_not_learned_are_wrong_as_often_as_the_formula_says() {
    for (width, queries) in WIDTHS {
        fresh(&format!("extension, {width} bits"), &ExtensionFilter::with_slots(8_009, width), 0.95, queries);
    }
}

#[test]
fn the_rate_does_not_depend_on_a_size_or_a_width_that_divides_anything() {
    for (slots, width, load) in [
        (63, 3, 0.95),
        (65, 5, 0.95),
        (129, 7, 0.9),
        (1_009, 9, 0.95),
        (3_001, 3, 0.5),
        (4_099, 11, 0.95),
        (5_003, 6, 0.1),
        (5_003, 6, 0.99),
        (7_919, 13, 0.7),
    ] {
        let name = format!("{slots} slots of {width} bits, load {load}");
        fresh(&name, &QuotientFilter::with_slots(slots, width), load, 1_000_000);
        fresh(&format!("{name}, extension"), &ExtensionFilter::with_slots(slots, width), load, 300_000);
    }
}

/// Teaches a filter all mistakes among `ratio` distinct queries for each key, twice over; how many there were.
fn teach<F: Backed>(pair: &mut AdaptiveFilter<F>, ratio: u64) -> u64 {
    let (mut mistakes, queries) = (0, ratio * pair.len());
    for query in (0..2).flat_map(|_| 1 << 50..(1 << 50) + queries).map(key) {
        if pair.contains(&query) {
            assert_eq!(pair.was_wrong(&query).expect("a remote that does not fail"), Adapted::Fixed);
            mistakes += 1;
        }
    }
    mistakes
}

/// The deviation of the answers to keys that were never asked for from the formula, after much was learned.
fn taught<S: RuleSpec>(name: &str, options: &Options<S>, ratio: u64, queries: u64) -> f64 {
    let mut tally = Tally::default();
    for hash in hash_keys(name) {
        let mut pair = filled(options, 0.95, hash);
        let mistakes = teach(&mut pair, ratio);
        assert!(mistakes * 5 > pair.len(), "{mistakes} mistakes teach {} keys too little", pair.len());
        ask(&mut tally, pair.filter(), queries / HASH_KEYS);
    }
    tally.report(name)
}

#[test]
fn what_a_telescoping_filter_has_learned_does_not_change_its_rate_for_keys_never_asked_for() {
    for (width, slots, ratio, queries) in
        [(4, 4_003, 5, 1_000_000), (5, 4_003, 10, 1_000_000), (8, 2_003, 80, 8_000_000)]
    {
        let coded = TelescopingFilter::with_slots(slots, width);
        let beside = TelescopingFilter::with_slots(slots, width).side_table(1_000);
        let plain = PlainTelescopingFilter::with_slots(slots, width);
        for (name, z) in [
            ("with resets", taught(&format!("taught telescoping, {width} bits"), &coded, ratio, queries)),
            ("with a side table", taught(&format!("taught with a side table, {width} bits"), &beside, ratio, queries)),
            ("with plain selectors", taught(&format!("taught plain, {width} bits"), &plain, ratio, queries)),
        ] {
            assert!(z.abs() < 4.0, "{name}, {width} bits: {z:.2} standard deviations from the formula");
        }
    }
}

#[test]
fn what_an_extension_filter_has_learned_only_lowers_its_rate() {
    for (width, slots, ratio, queries) in [(4, 4_003, 5, 1_000_000), (8, 2_003, 80, 4_000_000)] {
        let options = ExtensionFilter::with_slots(slots, width).side_table(1_000);
        let z = taught(&format!("taught extension, {width} bits"), &options, ratio, queries);
        // An extension of l bits leaves 2^−l of the matches of its slot.
        assert!(z < -10.0, "{width} bits: {z:.2} standard deviations above the formula");
        let z = taught(
            &format!("taught extension with resets, {width} bits"),
            &ExtensionFilter::with_slots(slots, width),
            ratio,
            queries,
        );
        assert!(z < 0.0, "{width} bits: {z:.2} standard deviations above the formula");
    }
}
