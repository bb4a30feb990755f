//! The laws compared with simulated selectors and remainders.

use super::{Law, asked_once, corollary3, repeated};
use crate::workload::rng::{Rng, scramble};

const SLOTS: u64 = 1 << 22;
const REMAINDER_BITS: u32 = 5;
const EPSILON: f64 = 1.0 / 32.0;
const C: f64 = 2.5;

/// A key's remainder under a value of the selector.
fn remainder(key: u64, selector: u32) -> u64 {
    scramble(key ^ scramble(selector.into())) >> (64 - REMAINDER_BITS)
}

/// A Poisson number: how many arrivals before time `mean`.
fn poisson(mean: f64, rng: &mut Rng) -> usize {
    let end = (-mean).exp();
    let mut product = 1.0 - rng.unit();
    let mut count = 0;
    while product > end {
        product *= 1.0 - rng.unit();
        count += 1;
    }
    count
}

/// One pass over the queries of a slot. Returns `true` if one was wrong. Each wrong query moves the selector on until
/// it is right.
fn ask(stored: u64, queries: &[u64], selector: &mut u32) -> bool {
    let before = *selector;
    for query in queries {
        while remainder(*query, *selector) == remainder(stored, *selector) {
            *selector += 1;
        }
    }
    *selector != before
}

/// How many slots end at each value: asked once, and asked until none is wrong.
fn simulate(seed: u64) -> [Vec<u64>; 2] {
    let mut rng = Rng::new(seed);
    let mut ends = [vec![0; 32], vec![0; 32]];
    let mut queries = Vec::new();
    for _ in 0..SLOTS {
        let stored = rng.word();
        queries.clear();
        queries.extend((0..poisson(C, &mut rng)).map(|_| rng.word()));
        let mut selector = 0;
        ask(stored, &queries, &mut selector);
        ends[0][selector as usize] += 1;
        while ask(stored, &queries, &mut selector) {}
        ends[1][selector as usize] += 1;
    }
    ends
}

/// How far a count is above its expectation, in standard deviations.
fn deviations(count: u64, chance: f64) -> f64 {
    let slots = SLOTS as f64;
    (count as f64 - slots * chance) / (slots * chance * (1.0 - chance)).sqrt()
}

#[test]
fn simulated_selectors_follow_both_laws_and_exceed_the_printed_bound() {
    let [once, quiet] = simulate(4);
    let laws: [(&[u64], Law); 2] = [(&once, asked_once), (&quiet, repeated)];
    for (ends, law) in laws {
        let seen = ends.iter().zip(0..).filter(|(_, k)| SLOTS as f64 * law(*k, EPSILON, C) > 20.0);
        let off: Vec<f64> = seen.map(|(count, k)| deviations(*count, law(k, EPSILON, C))).collect();
        assert!(off.len() >= 4 && off.iter().all(|off| off.abs() < 4.0), "{off:?}");
    }
    let over = |ends: &[u64], k: u32| deviations(ends[k as usize], corollary3(k, EPSILON, C));
    assert!(over(&quiet, 1) < -10.0 && over(&once, 1) < -10.0, "one step keeps to the bound");
    assert!(over(&quiet, 2) > 10.0 && over(&quiet, 3) > 10.0, "{}, {}", over(&quiet, 2), over(&quiet, 3));
    assert!(over(&once, 2) < -4.0 && over(&once, 3) > 4.0, "{}, {}", over(&once, 2), over(&once, 3));
}
