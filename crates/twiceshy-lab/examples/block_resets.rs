//! How many blocks of a telescoping filter ever run out of their 56 bits (004, Theorem 4 and its example).
//!
//! Each distinct query is asked 100 times, in rounds. For each A/S: the share of blocks that were ever reset, the
//! resets, and the false positives per distinct query, for the filter's own code and for general ones: x = y = 2, or
//! with `grid` all of x 2 to 4 and y 1 to 4, to check the rule that chooses the parameters.
//!
//! `cargo run --release -p twiceshy-lab --example block_resets -- [SLOTS] [BITS] [A/S,A/S,…] [grid]`

use twiceshy::hash::HashKey;
use twiceshy::quotient::{SelectorCode, TelescopingFilter};
use twiceshy::remote::ByHash;
use twiceshy_lab::models::selectors::{expected_bits, theorem4};

type Failure = Box<dyn std::error::Error>;

const ROUNDS: u64 = 100;

/// Keys are numbers: stored ones below 2^40, absent ones above.
const ABSENT: u64 = 1 << 40;

struct Outcome {
    ever_reset: u64,
    resets: u64,
    wrong: u64,
}

/// `true` if a selector of the block has gone back, which only a reset does.
fn went_back(before: &[u16], after: &[u16]) -> bool {
    before.iter().zip(after).any(|(before, after)| after < before)
}

fn run(slots: u64, bits: u32, ratio: f64, code: Option<SelectorCode>) -> Result<(Outcome, SelectorCode), Failure> {
    let options = TelescopingFilter::with_slots(slots, bits).expected_ratio(ratio);
    let options = match code {
        Some(code) => options.code(code),
        None => options,
    };
    let mut filter = options.build(HashKey::fixed(1), ByHash::new())?;
    let keys = slots * 95 / 100;
    for number in 0..keys {
        filter.insert(&number.to_le_bytes())?;
    }
    let mut ever = vec![false; filter.filter().blocks() as usize];
    let mut wrong = 0;
    for number in (0..ROUNDS).flat_map(|_| 0..(ratio * keys as f64) as u64) {
        let query = (ABSENT + number).to_le_bytes();
        if !filter.contains(&query) {
            continue;
        }
        wrong += 1;
        let run = filter.filter().run(&query).unwrap_or_default();
        let blocks = run.start / 64..run.end.div_ceil(64);
        let before: Vec<[u16; 64]> = blocks.clone().map(|block| filter.filter().marks(block)).collect();
        let resets = filter.filter().stats().resets_by_adapts;
        filter.was_wrong(&query)?;
        if filter.filter().stats().resets_by_adapts > resets {
            for (block, before) in blocks.zip(before) {
                ever[block as usize] |= went_back(&before, &filter.filter().marks(block));
            }
        }
    }
    let ever_reset = ever.iter().filter(|reset| **reset).count() as u64;
    Ok((Outcome { ever_reset, resets: filter.filter().stats().resets_by_adapts, wrong }, filter.filter().code()))
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let slots: u64 = args.next().map_or(Ok(65_536), |slots| slots.parse())?;
    let bits: u32 = args.next().map_or(Ok(8), |bits| bits.parse())?;
    let ratios = args.next().unwrap_or_else(|| "1,4,10,20,50,100".into());
    let ratios = ratios.split(',').map(str::parse::<f64>).collect::<Result<Vec<_>, _>>()?;
    let epsilon = (-f64::from(bits)).exp2();
    let (xs, ys) = if args.next().is_some() { (2..=4, 1..=4) } else { (2..=2, 2..=2) };
    let grid = xs.flat_map(|x| ys.clone().map(move |y| Some(SelectorCode::General { x, y })));
    let codes: Vec<Option<SelectorCode>> = std::iter::once(None).chain(grid).collect();
    println!(
        "   A/S  code                   blocks ever reset   resets  wrong a distinct query  bits a slot, optimal code  Theorem 4"
    );
    for ratio in ratios {
        for code in &codes {
            let (outcome, code) = run(slots, bits, ratio, *code)?;
            let distinct = ratio * (slots * 95 / 100) as f64;
            let bound = theorem4(epsilon, ratio * 0.95).map_or("-".into(), |bits| format!("{bits:.3}"));
            println!(
                "{ratio:6} {:<24} {:>15.3} % {:>8} {:>23.5} {:>26.3} {bound:>10}",
                format!("{code:?}"),
                outcome.ever_reset as f64 * 100.0 / (slots / 64) as f64,
                outcome.resets,
                outcome.wrong as f64 / distinct,
                expected_bits(epsilon, ratio * 0.95),
            );
        }
    }
    Ok(())
}
