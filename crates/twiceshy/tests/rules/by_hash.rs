//! Swapping over the two remotes: the mirror knows every owner, a remote by hash works them out.

use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::SwappingFilter;
use twiceshy::filter::Adapted;
use twiceshy::hash::HashKey;
use twiceshy::remote::{ByHash, Mirror, Remote};

/// What a filter did over a stream of queries.
#[derive(Debug, Default)]
struct Run {
    mistakes: u64,
    still_present: u64,
    unknown: u64,
    orphans: u64,
}

/// Every query of a set of ten for each key, asked `rounds` times in turn.
fn run<R: Remote + Default>(bits: u32, seed: u64, rounds: u32) -> Run {
    let hash = HashKey::fixed(seed);
    let options = SwappingFilter::with_cells(4096, bits);
    let mut pair: AdaptiveFilter<SwappingFilter, R> = options.build(hash, R::default()).expect("possible options");
    for number in 0..3891u32 {
        pair.insert(&number.to_le_bytes()).expect("room at 95 %");
    }
    let mut run = Run::default();
    for _ in 0..rounds {
        for query in 100_000..138_910u32 {
            let query = query.to_le_bytes();
            if pair.contains(&query) {
                run.mistakes += 1;
                let said = pair.was_wrong(&query).expect("the remote does not fail");
                run.still_present += u64::from(said != Adapted::Fixed);
            }
        }
    }
    run.unknown = pair.filter().stats().unknown_owners;
    run.orphans = pair.filter().stats().orphans;
    run
}

#[test]
fn compare() {
    for bits in [3, 4, 5, 6] {
        let (mut hash, mut mirror) = (0, 0);
        for seed in 0..4 {
            let by_hash = run::<ByHash>(bits, seed, 10);
            let by_mirror = run::<Mirror>(bits, seed, 10);
            println!("{bits}: {by_hash:?} {by_mirror:?}");
            hash += by_hash.mistakes;
            mirror += by_mirror.mistakes;
        }
        println!("{bits} bits: {:.4}", hash as f64 / mirror as f64);
    }
}
