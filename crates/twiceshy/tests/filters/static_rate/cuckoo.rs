//! The cuckoo family: the table enters through its load alone.

use super::{HASH_KEYS, MANY, SOME, Tally, hash_keys, key};
use twiceshy::cuckoo::{
    CuckooFilter, CuckooOptions, CuckooingFilter, CyclicFilter, FullKeyCuckoo, FullKeyFilter, Options,
    RememberingFilter, RuleSpec, Selectors, Shape, SwappingFilter,
};
use twiceshy::error::Error;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::remote::ByHash;
use twiceshy::sizing::cuckoo_rate;

fn odd(shape: Shape) -> u64 {
    assert_eq!(shape.buckets() % 2, 1, "an even number of buckets hides what a power of two would");
    u64::from(shape.tables()) * u64::from(shape.cells_per_bucket())
}

/// A filter at this load. Three keys on two cells do not fit anywhere, which happens in 2×1 tables: a key that is refused
/// is left out, and since its buckets alone decided that, the fingerprints stay evenly spread.
fn filled<S: RuleSpec>(options: &Options<S>, load: f64, hash: HashKey) -> FullKeyCuckoo<S::Rule> {
    let mut pair = options.build(hash, ByHash::new()).expect("options that can be");
    let keys = (pair.filter().cells() as f64 * load) as u64;
    let mut refused = 0;
    for number in 0.. {
        if pair.len() == keys {
            break;
        }
        match pair.insert(&key(number)) {
            Ok(new) => assert!(new),
            Err(Error::Full { .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        assert!(refused <= keys / 100, "{refused} of {number} keys were refused: the load is too high");
    }
    pair.filter().clone()
}

/// Measures a full-key filter whose keys start under a function of `values` values.
fn agrees<S: RuleSpec>(name: &str, options: &Options<S>, load: f64, values: u64, queries: u64) {
    let mut tally = Tally::default();
    for hash in hash_keys(name) {
        let filter = filled(options, load, hash);
        let rate = cuckoo_rate(filter.load(), values, odd(filter.shape()));
        tally.ask(&filter, queries / HASH_KEYS, rate);
    }
    let z = tally.report(name);
    assert!(z.abs() < 4.0, "{name}: {z:.2} standard deviations from the formula");
}

fn all_values(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[test]
fn full_key_filters_are_wrong_as_often_as_the_formula_says() {
    agrees("full-key 4×1, 8 bits", &FullKeyFilter::with_cells(20_004, 8), 0.95, all_values(8), MANY);
    agrees("full-key 4×1, 12 bits", &FullKeyFilter::with_cells(8_004, 12), 0.95, all_values(12), MANY);
    for bits in [5, 6, 7, 10, 13, 16] {
        let options = FullKeyFilter::with_cells(4_004, bits);
        agrees(&format!("full-key 4×1, {bits} bits"), &options, 0.95, all_values(bits), SOME);
    }
    for (tables, per_bucket, cells, load) in [(2, 4, 4_008, 0.95), (3, 1, 4_005, 0.88), (3, 2, 4_002, 0.95)] {
        for bits in [6, 9] {
            let options = FullKeyFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_bucket);
            let name = format!("full-key {tables}×{per_bucket}, {bits} bits");
            agrees(&name, &options, load, all_values(bits), SOME);
        }
    }
}

#[test]
fn the_static_rate_follows_the_load() {
    for load in [0.1, 0.5, 0.75] {
        let options = FullKeyFilter::with_cells(4_004, 8);
        agrees(&format!("full-key 4×1, 8 bits, load {load}"), &options, load, all_values(8), SOME);
    }
}

#[test]
fn each_selector_bit_of_a_cyclic_filter_doubles_its_static_rate() {
    for bits in 0..=4 {
        let options = CyclicFilter::with_cells(4_004, 9).selectors(Selectors::Equal { bits });
        agrees(&format!("cyclic s={bits}, 9 bits"), &options, 0.95, (1 << (9 - bits)) - 1, SOME);
    }
    let options = CyclicFilter::with_cells(20_004, 9);
    agrees("cyclic s=1, 9 bits", &options, 0.95, 255, MANY);
    let options = CyclicFilter::with_cells(4_004, 16).selectors(Selectors::Equal { bits: 4 });
    agrees("cyclic s=4, 16 bits", &options, 0.95, 4095, SOME);
}

#[test]
fn unequal_ranges_start_with_the_first_function_alone() {
    for (split, bits, width) in [(1, 0, 5), (1, 2, 8), (2, 1, 8), (2, 2, 12), (3, 3, 8), (3, 0, 10)] {
        let options = CyclicFilter::with_cells(4_004, width).selectors(Selectors::Unequal { split, bits });
        let first = ((1u64 << width) >> split) * ((1 << split) - 1) - 1;
        agrees(&format!("cyclic r={split} s={bits}, {width} bits"), &options, 0.95, first, SOME);
    }
    let options = CyclicFilter::with_cells(20_004, 8).selectors(Selectors::Unequal { split: 2, bits: 1 });
    agrees("cyclic r=2 s=1, 8 bits", &options, 0.95, 191, MANY);
}

#[test]
fn swapping_filters_are_wrong_as_often_as_the_formula_says() {
    agrees("swapping 2×4, 8 bits", &SwappingFilter::with_cells(20_008, 8), 0.95, all_values(8), MANY);
    for (tables, per_bucket, cells) in [(2, 4, 4_008), (3, 2, 4_002), (2, 8, 4_016)] {
        for bits in [5, 8, 13] {
            let options = SwappingFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_bucket);
            let name = format!("swapping {tables}×{per_bucket}, {bits} bits");
            agrees(&name, &options, 0.95, all_values(bits), SOME);
        }
    }
}

#[test]
fn cuckooing_filters_are_wrong_as_often_as_the_formula_says() {
    agrees("cuckooing 4×1, 8 bits", &CuckooingFilter::with_cells(20_004, 8), 0.95, all_values(8), MANY);
    for (tables, per_bucket, cells, load) in [(4, 1, 4_004, 0.95), (2, 1, 4_002, 0.45), (2, 3, 4_002, 0.92)] {
        for bits in [5, 11] {
            let options = CuckooingFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_bucket);
            let name = format!("cuckooing {tables}×{per_bucket}, {bits} bits");
            agrees(&name, &options, load, all_values(bits), SOME);
            let shared = options.shared_fingerprint(true);
            agrees(&format!("{name}, shared"), &shared, load, all_values(bits), SOME);
        }
    }
}

#[test]
fn remembering_filters_are_wrong_as_often_as_the_formula_says() {
    agrees("remembering, 8 bits", &RememberingFilter::with_cells(20_004, 8), 0.95, all_values(8), MANY);
    for (tables, per_window, cells, load) in [(2, 2, 4_004, 0.95), (3, 2, 4_008, 0.97), (2, 3, 4_006, 0.97)] {
        for bits in [5, 11] {
            let options = RememberingFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(per_window);
            let name = format!("remembering, {tables} windows of {per_window}, {bits} bits");
            agrees(&name, &options, load, all_values(bits), SOME);
        }
    }
}

/// A partial-key filter is exact about pairs of home bucket and fingerprint: a query is a false positive exactly when some
/// stored key has the same pair, since whoever finds the fingerprint in any of the query's cells knows its home. With v
/// fingerprints and b buckets, n keys leave a given pair out with probability (1 − 1/(v·b))^n, which is exp(−d·c·load/v).
fn pairs_taken(filter: &CuckooFilter, values: u64) -> f64 {
    let pairs = values * filter.shape().buckets();
    -f64::exp_m1(filter.len() as f64 * f64::ln_1p(-1.0 / pairs as f64))
}

fn partial_key(options: &CuckooOptions, load: f64, hash: HashKey) -> CuckooFilter {
    let mut filter = options.build(hash).expect("options that can be");
    let keys = (filter.cells() as f64 * load) as u64;
    (0..keys).for_each(|number| filter.insert(&key(number)).expect("a load that fits"));
    filter
}

/// Measures a partial-key filter; the deviation from its own formula, and from the one of full keys.
fn partial_key_deviations(name: &str, options: &CuckooOptions, load: f64, values: u64, queries: u64) -> (f64, f64) {
    let (mut own, mut full_key) = (Tally::default(), Tally::default());
    for hash in hash_keys(name) {
        let filter = partial_key(options, load, hash);
        let compared = odd(filter.shape());
        own.ask(&filter, queries / HASH_KEYS, pairs_taken(&filter, values));
        full_key.ask(&filter, queries / HASH_KEYS, cuckoo_rate(filter.load(), values, compared));
    }
    (own.report(name), full_key.report(&format!("{name}, as full-key")))
}

#[test]
fn partial_key_filters_are_wrong_as_often_as_pairs_of_bucket_and_fingerprint_are_taken() {
    let two_by_four = |cells, bits| CuckooFilter::with_cells(cells, bits);
    let four_by_one = |cells, bits| CuckooFilter::with_cells(cells, bits).tables(4).cells_per_bucket(1);
    for (name, options, bits, queries) in [
        ("partial-key 2×4, 8 bits", two_by_four(40_008, 8), 8, MANY),
        ("partial-key 4×1, 8 bits", four_by_one(40_004, 8), 8, MANY),
        ("partial-key 2×4, 5 bits", two_by_four(20_008, 5), 5, SOME),
        ("partial-key 2×4, 12 bits", two_by_four(20_008, 12), 12, SOME),
        ("partial-key 4×1, 6 bits", four_by_one(20_004, 6), 6, SOME),
        ("partial-key 4×1, 16 bits", four_by_one(20_004, 16), 16, SOME),
    ] {
        let (own, _) = partial_key_deviations(name, &options, 0.9, all_values(bits), queries);
        assert!(own.abs() < 4.0, "{name}: {own:.2} standard deviations from the formula");
    }
}

#[test]
fn the_full_key_formula_is_an_upper_bound_for_narrow_partial_keys_and_exact_for_wide_ones() {
    let narrow = CuckooFilter::with_cells(20_008, 5);
    let (_, z) = partial_key_deviations("partial-key 2×4, 5 bits", &narrow, 0.9, all_values(5), SOME);
    assert!(z < -4.0, "two keys with the same pair count once: {z:.2} standard deviations");
    let wide = CuckooFilter::with_cells(20_008, 12);
    let (_, z) = partial_key_deviations("partial-key 2×4, 12 bits", &wide, 0.9, all_values(12), SOME);
    assert!(z.abs() < 4.0, "{z:.2} standard deviations");
}
