//! Classes of flows compared with the formulas for one class and with real filters.

use super::*;
use crate::models::cyclic::{EmptyCell, ModelError};
use crate::workload::keys::Keys;
use twiceshy::cuckoo::CyclicFilter;
use twiceshy::hash::HashKey;
use twiceshy::remote::ByHash;

const ONE: [FlowClass; 1] = [FlowClass { share: 1.0, rate: 1.0 }];
const SKEWED: [FlowClass; 2] = [FlowClass { share: 0.8, rate: 1.0 }, FlowClass { share: 0.2, rate: 21.0 }];

fn model(cyclic: Result<CyclicModel, ModelError>, classes: &[FlowClass]) -> FlowModel {
    FlowModel::new(cyclic.expect("a filter"), classes.to_vec()).expect("possible classes")
}

fn equal(bits: u32, selector_bits: u32) -> Result<CyclicModel, ModelError> {
    CyclicModel::equal_ranges(4, 0.95, bits, selector_bits, EmptyCell::Reserved)
}

fn unequal(cell_bits: u32, selector_bits: u32, r: u32) -> Result<CyclicModel, ModelError> {
    CyclicModel::unequal_ranges(4, 0.95, cell_bits, selector_bits, r, EmptyCell::Reserved)
}

#[test]
fn one_class_has_the_rates_of_the_formulas_within_one_percent() {
    // The last has 16 bits per cell: one bucket in a thousand has a collision, and few of those cycle.
    for (cyclic, per_bucket, per_key, samples) in [
        (equal(7, 1), 38, 100, 400_000),
        (equal(9, 2), 300, 20, 400_000),
        (unequal(9, 1, 2), 38, 100, 400_000),
        (equal(15, 1), 38, 100, 2_000_000),
    ] {
        let shape = (10_000, 10_000 * per_bucket, 10_000 * per_bucket * per_key);
        let formula = cyclic.clone().expect("a filter");
        let flows = model(cyclic, &ONE);
        for (expected, found) in [
            (formula.rate(shape.0, shape.1, shape.2), flows.rate(shape.0, shape.1, shape.2, samples, 1)),
            (formula.rate_finite(shape.0, shape.1, shape.2), flows.rate_finite(shape.0, shape.1, shape.2, samples, 2)),
        ] {
            let what = format!("{flows:?}: {found:?} for {expected}");
            assert!(found.standard_error < 0.005 * expected, "too coarse to tell: {what}");
            assert!((found.rate / expected - 1.0).abs() < 0.01, "{what}");
        }
    }
}

#[test]
fn flows_of_unequal_rates_cycle_more_slowly_than_equal_ones() {
    for (bits, selector_bits, per_bucket) in [(7, 1, 38), (6, 2, 76), (5, 3, 76)] {
        let (even, skewed) = (model(equal(bits, selector_bits), &ONE), model(equal(bits, selector_bits), &SKEWED));
        let (keys, queries) = (1000 * per_bucket, 100_000 * per_bucket);
        let (even, skewed) = (even.rate(1000, keys, queries, 40_000, 3), skewed.rate(1000, keys, queries, 40_000, 4));
        assert!(skewed.rate + 4.0 * (skewed.standard_error + even.standard_error) < even.rate, "{skewed:?}, {even:?}");
    }
}

#[test]
fn flows_of_one_query_each_err_at_the_static_rate_of_a_filter_with_few_collisions() {
    // Each key is asked once: the false positives are those of the first matches, whatever is learned.
    let found = model(equal(12, 1), &ONE).rate_fixed_sizes(1000, 1000, 1000, 20_000, 5);
    let expected = 4.0 * 0.95 / 4095.0;
    assert!((found.rate / expected - 1.0).abs() < 0.01, "{found:?} for {expected}");
}

#[test]
fn a_finished_flow_moves_no_cell_and_a_poisson_flow_may_be_longer() {
    // Two functions and huge collision rates: every cell cycles as long as there are queries.
    let flows = model(CyclicModel::new(4, 1.0, vec![1.0, 1.0]), &ONE);
    let found = flows.rate_fixed_sizes(100, 100, 300, 5_000, 6);
    // Every query is a false positive in each of its four buckets.
    assert!((found.rate - 4.0).abs() < 4.0 * found.standard_error + 1e-9, "{found:?}");
    let found = flows.rate_finite(100, 100, 300, 50_000, 6);
    assert!((found.rate - 4.0).abs() < 4.0 * found.standard_error, "{found:?}");
}

#[test]
fn sizes_of_a_trace_become_classes_of_mean_one() {
    let cyclic = equal(7, 1).expect("a filter");
    let flows = FlowModel::from_sizes(cyclic.clone(), [1, 1, 1, 5, 0]).expect("four flows");
    assert_eq!(flows.classes(), [FlowClass { share: 0.75, rate: 0.5 }, FlowClass { share: 0.25, rate: 2.5 }]);
    assert_eq!(FlowModel::from_sizes(cyclic.clone(), [0]), Err(FlowError::NoClass));
    let class = |share, rate| FlowModel::new(cyclic.clone(), vec![FlowClass { share, rate }]);
    for (share, rate) in [(0.0, 1.0), (1.0, -1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert!(matches!(class(share, rate), Err(FlowError::Class { .. })));
    }
    let many = CyclicModel::new(4, 0.9, vec![0.1; 65]).expect("a filter");
    assert_eq!(FlowModel::new(many, ONE.to_vec()), Err(FlowError::Functions(65)));
    assert_eq!(class(1.0, 1.0).expect("a class").rate(0, 1, 1, 10, 1), Estimate::NOTHING);
}

/// The rate of a real filter with 8-bit cells, one selector bit, ten absent keys per stored key, in two sizes.
fn real(cells: u64, sizes: [u64; 2], seed: u64) -> (f64, u64, u64) {
    let stored = cells * 95 / 100;
    let keys = Keys::new(stored, stored * 10, seed).expect("few keys");
    let hash = HashKey::fixed(seed).for_trusted_keys();
    let mut filter = CyclicFilter::with_cells(cells, 8).build(hash, ByHash::new()).expect("possible options");
    keys.stored_keys().for_each(|key| assert!(filter.insert(&key).is_ok()));
    // One key in ten is of the second size.
    let size = |number: u64| sizes[usize::from(number % 10 == 9)];
    let mut queries: Vec<u64> = (0..stored * 10).flat_map(|key| (0..size(key)).map(move |_| key)).collect();
    let rng = &mut Rng::new(seed);
    for end in (1..queries.len()).rev() {
        queries.swap(end, rng.below(end as u64 + 1) as usize);
    }
    let mut wrong = 0;
    for query in &queries {
        let query = keys.absent(*query);
        if filter.contains(&query) {
            wrong += 1;
            filter.was_wrong(&query).expect("a remote in memory");
        }
    }
    (wrong as f64 / queries.len() as f64, stored * 10, queries.len() as u64)
}

#[test]
fn a_real_filter_has_the_rate_of_flows_of_fixed_sizes() {
    let (cells, trials) = (4096, 12);
    let runs: Vec<_> = (1..=trials).map(|seed| real(cells, [3, 63], seed)).collect();
    let (_, keys, queries) = runs[0];
    let mean = runs.iter().map(|(rate, ..)| rate).sum::<f64>() / trials as f64;
    let spread = runs.iter().map(|(rate, ..)| (rate - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
    let flows = FlowModel::from_sizes(equal(7, 1).expect("a filter"), [3, 3, 3, 3, 3, 3, 3, 3, 3, 63]);
    let flows = flows.expect("two classes");
    let found = flows.rate_fixed_sizes(cells / 4, keys, queries, 100_000, 7);
    let error = (found.standard_error.powi(2) + spread / trials as f64).sqrt();
    let what = format!("measured {mean}, model {found:?}, error {error}");
    assert!(error < 0.02 * mean, "too coarse to tell: {what}");
    // A query that collides in two tables counts twice in the model: half the rate more.
    assert!((found.rate - mean).abs() < 4.0 * error + mean * mean, "{what}");
    // One class of the same mean has another rate.
    let even = equal(7, 1).expect("a filter").rate_finite(cells / 4, keys, queries);
    assert!((even - mean).abs() > 0.2 * mean, "{even}, {what}");
}
