//! Swapping over both remotes: the mirror knows every owner, a remote by hash works them out.
//!
//! In narrow cells many keys fit many cells, and a search for owners passes its bound. It then still decides what it can.
//! If it did not, one owner in ten mistakes would be unknown at 4 bits, and these queries would make 7 % more mistakes than
//! over the mirror.

use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{Stats, SwappingFilter};
use twiceshy::hash::HashKey;
use twiceshy::remote::{ByHash, Mirror, Remote};

const CELLS: u64 = 4096;
/// 95 % of the cells.
const KEYS: u32 = 3891;
/// Ten absent queries for each key, each asked four times in a row.
const QUERIES: u32 = 10 * KEYS;
const IN_A_ROW: u32 = 4;

/// The mistakes of one filter, and what it counted.
fn mistakes<R: Remote + Default>(bits: u32, seed: u64) -> (u64, Stats) {
    let options = SwappingFilter::with_cells(CELLS, bits);
    let mut pair: AdaptiveFilter<SwappingFilter, R> =
        options.build(HashKey::fixed(seed), R::default()).expect("possible options");
    for number in 0..KEYS {
        pair.insert(&number.to_le_bytes()).expect("room at 95 %");
    }
    let mut mistakes = 0;
    for query in (KEYS..KEYS + QUERIES).map(u32::to_le_bytes) {
        for _ in 0..IN_A_ROW {
            if pair.contains(&query) {
                pair.was_wrong(&query).expect("the remote does not fail");
                mistakes += 1;
            }
        }
    }
    pair.validate().expect("every key has a cell of its own");
    (mistakes, pair.filter().stats())
}

/// How the two remotes compare over several hash keys.
struct Compared {
    /// Mistakes by hash for each mistake over the mirror, its mean and standard error.
    ratio: f64,
    error: f64,
    /// Unknown owners for each mistake by hash.
    unknown: f64,
}

fn compared(bits: u32) -> Compared {
    let (mut ratios, mut mistaken, mut unknown) = (Vec::new(), 0, 0);
    for seed in 0..4 {
        let (by_hash, stats) = mistakes::<ByHash>(bits, seed);
        let (by_mirror, _) = mistakes::<Mirror>(bits, seed);
        println!(
            "{bits} bits: {by_hash} mistakes by hash, {} owners unknown; {by_mirror} by mirror",
            stats.unknown_owners
        );
        ratios.push(by_hash as f64 / by_mirror as f64);
        mistaken += by_hash;
        unknown += stats.unknown_owners;
    }
    let n = ratios.len() as f64;
    let ratio = ratios.iter().sum::<f64>() / n;
    let error = (ratios.iter().map(|each| (each - ratio).powi(2)).sum::<f64>() / (n - 1.0) / n).sqrt();
    println!("{bits} bits: {ratio:.4} ± {error:.4}");
    Compared { ratio, error, unknown: unknown as f64 / mistaken as f64 }
}

#[test]
fn swapping_errs_as_often_by_hash_as_over_the_mirror() {
    for (bits, most_unknown) in [(4, 0.01), (5, 0.0)] {
        let Compared { ratio, error, unknown } = compared(bits);
        assert!((0.98..1.02).contains(&ratio) && error < 0.01, "{bits} bits: {ratio} ± {error}");
        assert!(unknown <= most_unknown, "{bits} bits: {unknown}");
    }
}
