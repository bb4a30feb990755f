//! The broom filter: as a quotient filter's, less what telling its keys apart takes, plus what its second level adds.

use super::{HASH_KEYS, Tally, hash_keys, key};
use twiceshy::AdaptiveFilter;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{BroomFilter, BroomForm};
use twiceshy::remote::ByHash;
use twiceshy::sizing::quotient_rate;

const FORMS: [BroomForm; 2] = [BroomForm::TwoLevels, BroomForm::BackYard];

/// More than a segment, so that some keys find no slot in the first level.
const SLOTS: u64 = 10_007;

fn filled(form: BroomForm, slots: u64, width: u32, hash: HashKey) -> AdaptiveFilter<BroomFilter> {
    let options = BroomFilter::with_slots(slots, width).form(form);
    let mut pair = options.build(hash, ByHash::new()).expect("options that can be");
    for number in 0..slots * 95 / 100 {
        pair.insert(&key(number)).expect("a load that fits");
    }
    pair
}

/// The rate of the first level alone, and the variance of the rate that a table is drawn with.
///
/// A pair of quotient and remainder has c keys on average. With one key it is matched, as in every quotient filter. Two keys
/// that share s bits behind it have s + 1 bits each, and are matched by a share 2^−s of the queries: 2/3 on average. With a back
/// yard only one of them is here, and is matched by half as many. More than two are too few to count. Keys also keep their bits
/// when those move on that they were told from, which takes another 0.2 % of the rate at four bits: too little to see here.
fn first_level(filter: &BroomFilter) -> (f64, f64) {
    let pairs = filter.cells() as f64 * f64::from(filter.width()).exp2();
    let held = filter.len() - filter.stats().second_level;
    let c = held as f64 / pairs;
    let rate = match filter.form() {
        BroomForm::TwoLevels => quotient_rate(held as f64 / filter.cells() as f64, filter.width()) - c * c / 6.0,
        // No two that are here have the same pair, and half of c is the chance that one has met a second.
        BroomForm::BackYard => c - c * c / 3.0,
    };
    (rate, ((-c).exp() - (1.0 + c) * (-2.0 * c).exp()).max(0.0) / pairs)
}

/// The rate of the second level: it has slots and remainders of its own. A back yard keeps whole hashes, and adds nothing.
fn second_level(filter: &BroomFilter) -> f64 {
    match filter.form() {
        BroomForm::BackYard => 0.0,
        BroomForm::TwoLevels => {
            let slots = filter.cells() / 64 + 64;
            quotient_rate(filter.stats().second_level as f64 / slots as f64, (filter.width() + 4).min(32))
        }
    }
}

fn ask(tally: &mut Tally, filter: &BroomFilter, queries: u64) {
    let (first, variance) = first_level(filter);
    tally.ask(filter, queries, 1.0 - (1.0 - first) * (1.0 - second_level(filter)));
    tally.allow(variance, queries);
}

#[test]
fn broom_filters_that_have_not_learned_are_wrong_as_often_as_the_formula_says() {
    for form in FORMS {
        let mut aside = 0;
        for (width, queries) in [(4, 500_000), (8, 1_500_000), (12, 3_000_000), (16, 5_000_000)] {
            let name = format!("broom, {form:?}, {width} bits");
            let mut tally = Tally::default();
            for hash in hash_keys(&name) {
                let pair = filled(form, SLOTS, width, hash);
                aside += pair.filter().stats().second_level;
                ask(&mut tally, pair.filter(), queries / HASH_KEYS);
            }
            let z = tally.report(&name);
            assert!(z.abs() < 4.0, "{name}: {z:.2} standard deviations from the formula");
        }
        assert!(aside > 0, "{form:?}: no key is in the second level");
    }
}

/// Adapts to every mistake about queries that are not asked again, for `phases` phases.
fn age(pair: &mut AdaptiveFilter<BroomFilter>, phases: u64) {
    for query in (1 << 50..).map(key) {
        if pair.contains(&query) {
            pair.was_wrong(&query).expect("a remote that does not fail");
            if pair.filter().phases() == phases {
                break;
            }
        }
    }
}

#[test]
fn the_rate_for_keys_never_asked_for_is_sustained_over_phases_of_learning() {
    for form in FORMS {
        for (width, slots, queries) in [(4, 4_003, 1_000_000), (8, 2_003, 4_000_000)] {
            let name = format!("aged broom, {form:?}, {width} bits");
            let mut tally = Tally::default();
            for hash in hash_keys(&name) {
                let mut pair = filled(form, slots, width, hash);
                age(&mut pair, 3);
                assert!(!pair.wants_rebuild(), "{name}: there was no room for a key that moved on");
                ask(&mut tally, pair.filter(), queries / HASH_KEYS);
            }
            let z = tally.report(&name);
            assert!(z < 4.0, "{name}: {z:.2} standard deviations above the formula");
            // What a third of the keys have learned since they moved on lowers it, by a tenth or so, and never more.
            let share = tally.seen as f64 / tally.expected;
            assert!(share > 0.8, "{name}: {share:.3} of the formula, so bits have piled up");
        }
    }
}
