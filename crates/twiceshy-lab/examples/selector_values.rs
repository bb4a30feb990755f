//! The selectors of a telescoping filter without resets, after c·n distinct queries, compared with Corollary 3 of 004.
//!
//! The corollary assumes no resets, so the filter has plain selectors. Its n is the number of quotients: what counts is
//! the queries that share a key's quotient. Two tables for each c: every query asked once, and all repeated until none
//! is a false positive.
//!
//! `cargo run --release -p twiceshy-lab --example selector_values -- [SLOTS] [BITS] [C,C,…]`

use twiceshy::filter::{Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::quotient::PlainTelescopingFilter;
use twiceshy::remote::ByHash;
use twiceshy_lab::models::selectors::Comparison;

type Failure = Box<dyn std::error::Error>;

/// Keys are numbers: stored ones below 2^40, absent ones above.
const ABSENT: u64 = 1 << 40;

fn query(number: u64) -> [u8; 8] {
    (ABSENT + number).to_le_bytes()
}

/// Asks some queries in turn and adapts on each mistake. Returns the number of mistakes.
fn ask(filter: &mut PlainTelescopingFilter, numbers: std::ops::Range<u64>, set: &mut ByHash) -> Result<u64, Failure> {
    let mut wrong = 0;
    for number in numbers {
        if filter.contains(&query(number)) {
            filter.adapt(&query(number), set)?;
            wrong += 1;
        }
    }
    Ok(wrong)
}

/// How many keys have the selector 0, 1, …
fn histogram(filter: &PlainTelescopingFilter) -> Vec<u64> {
    let mut slots = Vec::new();
    for mark in (0..filter.blocks()).flat_map(|block| filter.marks(block)).map(usize::from) {
        if slots.len() <= mark {
            slots.resize(mark + 1, 0);
        }
        slots[mark] += 1;
    }
    // Free slots have the mark 0 too.
    slots[0] -= filter.blocks() * 64 - filter.len();
    slots
}

fn filled(slots: u64, bits: u32) -> Result<(PlainTelescopingFilter, ByHash), Failure> {
    let mut set = ByHash::new();
    let mut filter = PlainTelescopingFilter::with_slots(slots, bits).build(HashKey::fixed(1), &mut set)?;
    for number in 0..slots * 95 / 100 {
        filter.insert(&number.to_le_bytes(), &mut set)?;
    }
    Ok((filter, set))
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let slots: u64 = args.next().map_or(Ok(1_000_000), |slots| slots.parse())?;
    let bits: u32 = args.next().map_or(Ok(8), |bits| bits.parse())?;
    let ratios = args.next().unwrap_or_else(|| "1,2,4,7,10,15,20".into());
    let ratios = ratios.split(',').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>()?;
    let epsilon = (-f64::from(bits)).exp2();
    let (mut once, mut set) = filled(slots, bits)?;
    let (mut repeated, mut other) = filled(slots, bits)?;
    let mut asked = 0;
    for c in ratios {
        ask(&mut once, asked..c * slots, &mut set)?;
        asked = c * slots;
        while ask(&mut repeated, 0..asked, &mut other)? > 0 {}
        for (title, filter) in [("asked once", &once), ("repeated until none is wrong", &repeated)] {
            let slots = histogram(filter);
            println!("c = {c}, {title}, {} resets", filter.stats().resets_by_adapts);
            println!("{}", Comparison { slots: &slots, epsilon, c: c as f64 });
        }
    }
    Ok(())
}
