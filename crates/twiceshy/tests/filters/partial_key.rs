//! The partial-key filter against an exact multiset: mixed insertions, removals of stored keys, look-ups, saving, loading.

use std::collections::BTreeMap;
use twiceshy::cuckoo::{CuckooFilter, Search};
use twiceshy::error::Error;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;

/// Pseudo-random numbers from a seed.
fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

fn ten_thousand_operations(mut filter: CuckooFilter, seed: u64) {
    let mut draw = numbers(seed);
    let mut stored: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    let (mut refused, mut gone) = (0, 0);
    for step in 0..10_000 {
        let number = draw(400);
        let key = number.to_le_bytes()[..(number % 9) as usize].to_vec();
        let key = if draw(2) == 0 { number.to_le_bytes().to_vec() } else { key };
        match draw(20) {
            0..=9 => match filter.insert(&key) {
                Ok(()) => *stored.entry(key).or_default() += 1,
                Err(full) => {
                    refused += 1;
                    assert!(matches!(full, Error::Full { keys, .. } if keys == filter.len()), "{full}");
                }
            },
            10..=17 => {
                // Only what is stored may be removed; a key of the set is drawn by its place.
                let at = draw(stored.len().max(1) as u64) as usize;
                if let Some(key) = stored.keys().nth(at).cloned() {
                    assert!(filter.remove(&key), "step {step}");
                    gone += 1;
                    match stored.get_mut(&key) {
                        Some(copies) if *copies > 1 => *copies -= 1,
                        _ => drop(stored.remove(&key)),
                    }
                }
            }
            _ => {
                let mut file = Vec::new();
                filter.save(&mut file).expect("a vector takes everything");
                filter = CuckooFilter::load(&mut file.as_slice()).expect("it was just saved");
            }
        }
        assert!(stored.keys().all(|key| filter.contains(key)), "a stored key was reported absent at step {step}");
        assert_eq!(filter.len(), stored.values().map(|copies| u64::from(*copies)).sum::<u64>());
        filter.validate().expect("as many cells as keys");
    }
    assert!(refused > 0 && gone > 1_000, "{refused} refused, {gone} removed");
}

#[test]
fn no_stored_key_is_lost_over_ten_thousand_operations_in_any_shape() {
    for (tables, cells_per_bucket, cells, bits) in [(2, 4, 300, 8), (4, 1, 250, 12), (3, 2, 200, 5), (2, 1, 120, 17)] {
        let options = CuckooFilter::with_cells(cells, bits).tables(tables).cells_per_bucket(cells_per_bucket);
        let walk = options.clone().search(Search::RandomWalk { steps: 200 });
        ten_thousand_operations(options.build(HashKey::fixed(cells)).expect("possible options"), cells);
        ten_thousand_operations(walk.build(HashKey::fixed(bits.into())).expect("possible options"), bits.into());
    }
}
