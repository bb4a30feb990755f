//! Look-ups of a broom filter, with the frontier at the start and half way: a key that it has passed is hashed twice.
//!
//! Nanoseconds on one thread, the best of nine rounds of a million look-ups.
//!
//! `cargo run --release -p twiceshy-lab --example broom_lookups -- [KEYS] [BITS]`

use std::hint::black_box;
use std::time::Instant;
use twiceshy::filter::Filter;
use twiceshy_lab::broom::{Subject, loaded};

type Failure = Box<dyn std::error::Error>;

const LOOK_UPS: u64 = 1_000_000;

fn nanoseconds(keys: &[[u8; 8]], filter: &impl Filter) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..9 {
        let begun = Instant::now();
        let present = keys.iter().filter(|key| filter.contains(&key[..])).count();
        black_box(present);
        best = best.min(begun.elapsed().as_secs_f64() * 1e9 / keys.len() as f64);
    }
    best
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let keys: u64 = args.next().map_or(Ok(100_000), |keys| keys.parse())?;
    let bits: u32 = args.next().map_or(Ok(8), |bits| bits.parse())?;
    let mut subject = Subject::new(loaded(keys, bits))?;
    subject.fill(keys)?;
    for at in ["at the beginning", "in the middle"] {
        if at == "in the middle" {
            let mut mistakes = 0u64;
            loop {
                let query = subject.next_mistake();
                subject.filter.was_wrong(&query)?;
                mistakes += 1;
                if mistakes.is_multiple_of(64) && subject.filter.filter().stats().moved >= keys / 2 {
                    break;
                }
            }
        }
        let absent: Vec<[u8; 8]> = (0..LOOK_UPS).map(|_| subject.next_absent()).collect();
        let stored: Vec<[u8; 8]> = (0..LOOK_UPS).map(|number| subject.key(number * 7_919 % keys)).collect();
        println!(
            "{keys} keys, {bits} bits, frontier {at}: absent {:.1} ns, stored {:.1} ns",
            nanoseconds(&absent, subject.filter.filter()),
            nanoseconds(&stored, subject.filter.filter())
        );
    }
    Ok(())
}
