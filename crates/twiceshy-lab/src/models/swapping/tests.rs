//! Sampled buckets compared with a chain that has a formula, and with real filters.

use super::*;
use crate::models::CyclicModel;
use crate::uniform::{Collisions, Uniform, Way};
use crate::workload::keys::Keys;
use twiceshy::cuckoo::SwappingFilter;
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

#[test]
fn one_key_with_two_cells_is_a_cyclic_filter_with_two_functions() {
    let one_key = Occupancy::new(vec![0.0, 1.0, 0.0]).expect("shares");
    for (values, per_bucket, per_key) in [(127, 40, 3), (127, 40, 100), (1000, 40, 100)] {
        let model = SwappingModel::new(4, values, one_key.clone()).expect("a filter");
        let (keys, queries) = (1000 * per_bucket, 1000 * per_bucket * per_key);
        let found = model.rate(1000, keys, queries, 100_000, 1);
        let cyclic = CyclicModel::new(4, 1.0, vec![1.0 / values as f64; 2]).expect("a filter");
        let expected = cyclic.rate_finite(1000, keys, queries);
        let what = format!("{values}, {per_key}: {found:?} for {expected}");
        assert!(found.standard_error < 0.02 * expected, "too coarse to tell: {what}");
        // The formula counts the collisions of each function among the same ζ keys; the difference is of order 1/v.
        assert!((found.rate - expected).abs() < 4.0 * found.standard_error + expected / values as f64, "{what}");
    }
}

#[test]
fn a_full_bucket_with_collisions_in_every_order_is_always_wrong() {
    // Only one value: the absent keys of a bucket, about 1000, collide with each of its keys in every cell.
    let full = Occupancy::new(vec![0.0, 0.0, 0.0, 0.0, 1.0]).expect("shares");
    let found = SwappingModel::new(2, 1, full).expect("a filter").rate(1000, 1_000_000, 10_000_000, 200, 1);
    assert!((found.rate - 8.0).abs() < 4.0 * found.standard_error && found.standard_error < 0.03, "{found:?}");
}

#[test]
fn impossible_buckets_are_refused_and_no_queries_give_rate_0() {
    for shares in [vec![0.5, 0.4], vec![1.5, -0.5], vec![f64::NAN, 1.0]] {
        assert!(matches!(Occupancy::new(shares), Err(OccupancyError::Shares(_))));
    }
    assert_eq!(Occupancy::new(vec![1.0]), Err(OccupancyError::NoCell));
    let one = Occupancy::new(vec![0.5, 0.5]).expect("shares");
    assert_eq!(SwappingModel::new(4, 255, one), Err(OccupancyError::OneCell));
    assert_eq!(SwappingModel::two_by_four(0), Err(OccupancyError::NoCell));
    let model = SwappingModel::two_by_four(8).expect("a filter");
    assert_eq!(model.rate(10, 0, 10, 10, 1), Estimate::NOTHING);
    let no_keys = Occupancy::new(vec![1.0, 0.0, 0.0]).expect("shares");
    assert_eq!(SwappingModel::new(2, 255, no_keys).expect("a filter").rate(10, 10, 10, 10, 1), Estimate::NOTHING);
    assert!(matches!(Occupancy::measured(0.999, 1000, 1), Err(OccupancyError::Full { .. })));
}

#[test]
fn the_occupancy_at_95_percent_is_that_of_a_filled_filter() {
    let (given, buckets) = (Occupancy::two_by_four_at_95_percent(), 1 << 13);
    let found = Occupancy::measured(0.95, buckets, 5).expect("a table with room");
    assert!((given.load() - 0.95).abs() < 1e-4 && (found.load() - 0.95).abs() < 1e-4);
    for (given, found) in given.shares().iter().zip(found.shares()) {
        let deviation = (given * (1.0 - given) / (2 * buckets) as f64).sqrt();
        assert!((given - found).abs() < 4.0 * deviation + 1e-4, "{found} for {given}");
    }
}

/// The rates of a real filter under several sets of absent keys, and the model's prediction.
fn measured_and_predicted(bits: u32, buckets: u64, ratio: u64, trials: u64) -> ([f64; 2], Estimate) {
    let stored = buckets * 8 * 95 / 100;
    let absent = stored * ratio;
    let rate = |seed: u64| {
        let keys = Keys::new(stored, absent, seed).expect("few keys");
        let hash = HashKey::fixed(seed).for_trusted_keys();
        let mut filter = SwappingFilter::with_cells(buckets * 8, bits).build(hash, Mirror::new()).expect("options");
        keys.stored_keys().for_each(|key| assert!(filter.insert(&key).is_ok()));
        let key = |number: u32| keys.absent(number.into());
        let table = filter.remote().table().expect("a table");
        let collisions = Collisions::counted(filter.filter(), table, 4, absent as u32, key, |_| ());
        let wrong = Uniform::new(&collisions, Way::Swap).false_positives(absent, &[absent * 100], &mut Rng::new(seed));
        wrong[0] as f64 / (absent * 100) as f64
    };
    let rates: Vec<f64> = (1..=trials).map(rate).collect();
    let mean = rates.iter().sum::<f64>() / trials as f64;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
    let model = SwappingModel::two_by_four(bits).expect("a filter");
    ([mean, (variance / trials as f64).sqrt()], model.rate(buckets, absent, absent * 100, 20_000, 1))
}

#[test]
fn a_real_filter_has_the_rate_of_sampled_buckets_within_four_standard_errors() {
    for (bits, buckets, ratio) in [(12, 1024, 10), (8, 512, 10)] {
        let ([measured, error], model) = measured_and_predicted(bits, buckets, ratio, 8);
        let error = error.hypot(model.standard_error);
        let what = format!("{bits} bits, A/S {ratio}: measured {measured}, model {model:?}, error {error}");
        assert!(error < 0.05 * measured, "too coarse to tell: {what}");
        assert!((model.rate - measured).abs() < 4.0 * error, "{what}");
    }
}
