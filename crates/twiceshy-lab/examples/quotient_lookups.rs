//! What learning costs a look-up: the quotient family compared in one run.
//!
//! All filters use one remote with the same keys. Each round of look-ups goes over the filters in turn, and each
//! filter's rate is the median of its rounds; the ratios are to the plain quotient filter in the same rounds.
//!
//! `cargo run --release -p twiceshy-lab --example quotient_lookups -- [KEYS] [BITS] [RATIO] [siphash|xxh3]`

use std::hint::black_box;
use std::time::Instant;
use twiceshy::filter::{Backed, Filter, Operation};
use twiceshy::hash::HashKey;
use twiceshy::quotient::{ExtensionFilter, PlainTelescopingFilter, QuotientFilter, TelescopingFilter};
use twiceshy::remote::ByHash;

/// Look-ups per round.
const ROUND: u64 = 1 << 20;
const ROUNDS: usize = 15;

/// Keys are numbers: stored ones below 2^40, absent ones above.
const ABSENT: u64 = 1 << 40;

fn spread(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()
}

type Failure = Box<dyn std::error::Error>;

/// Asks all distinct absent queries once, and adapts on each mistake: nothing is written to the remote.
fn learn(filter: &mut impl Backed, queries: u64, set: &ByHash) -> Result<u64, Failure> {
    let mut wrong = 0;
    for number in 0..queries {
        let query = spread(ABSENT + number);
        if filter.contains(&query) {
            let plan = filter.plan(Operation::Adapt(&query), set)?;
            filter.apply(plan)?;
            wrong += 1;
        }
    }
    Ok(wrong)
}

fn round(filter: &dyn Fn(u64, u64) -> u64, first: u64) -> f64 {
    let start = Instant::now();
    black_box(filter(first, ROUND));
    ROUND as f64 / start.elapsed().as_secs_f64()
}

fn ask<F: Filter>(filter: &F, first: u64, count: u64) -> u64 {
    (first..first + count).map(|number| u64::from(filter.contains(&spread(number)))).sum()
}

fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// A filter's name, and a function that asks it `count` queries from `first` on.
type Asked<'a> = (&'a str, &'a dyn Fn(u64, u64) -> u64);

/// Rounds over all filters in turn, for queries from `first` on.
fn compare(title: &str, filters: &[Asked<'_>], first: u64, wrap: u64) {
    let mut rates = vec![Vec::new(); filters.len()];
    for number in 0..ROUNDS as u64 {
        for (rates, (_, filter)) in rates.iter_mut().zip(filters) {
            rates.push(round(filter, first + number * ROUND % wrap));
        }
    }
    println!("{title}");
    let medians: Vec<f64> = rates.iter_mut().map(|rates| median(rates)).collect();
    for ((name, _), rate) in filters.iter().zip(&medians) {
        println!("  {name:<18} {:>6.2} million per second   {:.3} of plain", rate / 1e6, rate / medians[0]);
    }
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let keys: u64 = args.next().map_or(Ok(4_000_000), |keys| keys.parse())?;
    let bits: u32 = args.next().map_or(Ok(8), |bits| bits.parse())?;
    let ratio: u64 = args.next().map_or(Ok(10), |ratio| ratio.parse())?;
    let hash = match args.next().as_deref() {
        Some("xxh3") => HashKey::fixed(1).for_trusted_keys(),
        _ => HashKey::fixed(1),
    };
    let slots = (keys as f64 / 0.95).ceil() as u64;
    let mut quotient = QuotientFilter::with_slots(slots, bits).build(hash, ByHash::new())?;
    let start = Instant::now();
    for number in 0..keys {
        assert!(quotient.insert(&spread(number))?);
    }
    println!(
        "{keys} insertions into filter and remote: {:.2} µs each",
        start.elapsed().as_secs_f64() * 1e6 / keys as f64
    );
    let (quotient, mut set) = (quotient.filter().clone(), quotient.into_remote());
    let start = Instant::now();
    let mut telescoping = TelescopingFilter::with_slots(slots, bits).recover(&mut set)?.filter().clone();
    println!(
        "filling from the remote in one ordered pass: {:.3} µs a key",
        start.elapsed().as_secs_f64() * 1e6 / keys as f64
    );
    let mut plain = PlainTelescopingFilter::with_slots(slots, bits).recover(&mut set)?.filter().clone();
    let mut extension = ExtensionFilter::with_slots(slots, bits).recover(&mut set)?.filter().clone();
    println!(
        "bits a key: quotient {:.3}, telescoping {:.3}, telescoping-plain {:.3}, extension {:.3}",
        quotient.local_bits() as f64 / keys as f64,
        telescoping.local_bits() as f64 / keys as f64,
        plain.local_bits() as f64 / keys as f64,
        extension.local_bits() as f64 / keys as f64
    );
    for adapted in [false, true] {
        if adapted {
            let queries = keys * ratio;
            let wrong = learn(&mut telescoping, queries, &set)?;
            learn(&mut plain, queries, &set)?;
            learn(&mut extension, queries, &set)?;
            let stats = telescoping.stats();
            println!(
                "\nafter {queries} distinct absent queries, {wrong} adaptations, {} resets",
                stats.resets_by_adapts
            );
        } else {
            println!("\nfresh");
        }
        let filters: [Asked<'_>; 4] = [
            ("quotient", &|first, count| ask(&quotient, first, count)),
            ("telescoping", &|first, count| ask(&telescoping, first, count)),
            ("telescoping-plain", &|first, count| ask(&plain, first, count)),
            ("extension", &|first, count| ask(&extension, first, count)),
        ];
        compare(" absent keys", &filters, ABSENT << 1, u64::MAX);
        compare(" stored keys", &filters, 0, (keys / ROUND).max(1) * ROUND);
    }
    Ok(())
}
