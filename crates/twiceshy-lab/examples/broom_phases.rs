//! A broom filter over several phases (001 sections 4.2 and 4.5): adaptivity bits, the fullest block, the second level.
//!
//! Asks fresh absent queries for a number of half phases; prints a line each time that half of the keys have moved on.
//!
//! `cargo run --release -p twiceshy-lab --example broom_phases -- [SLOTS] [BITS] [HALF PHASES] [C]`

use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::{ByHash, Counting};

/// Keys are scrambled numbers: stored ones from below 2^40, absent ones from above.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let slots: u64 = args.next().map_or(Ok(16_384), |slots| slots.parse())?;
    let bits: u32 = args.next().map_or(Ok(8), |bits| bits.parse())?;
    let half_phases: u64 = args.next().map_or(Ok(12), |phases| phases.parse())?;
    let c: u32 = args.next().map_or(Ok(3), |c| c.parse())?;
    let keys = slots * 95 / 100;
    let options = BroomFilter::with_slots(slots, bits).reclaim(c);
    let mut filter = options.build(HashKey::fixed(1), Counting::new(ByHash::new()))?;
    for number in 0..keys {
        filter.insert(&key(number))?;
    }
    println!(
        "{keys} keys at 95 % load, {bits} bits, c = {c}: {:.2} bits a key, {:.2} of them beside the first level",
        filter.local_bits() as f64 / keys as f64,
        filter.filter().stats().second_level_bits as f64 / keys as f64
    );
    println!(
        "moved on   mistakes  adaptivity bits a key  largest block  spilled blocks  second level  reads, writes a mistake"
    );
    let mut number = 1 << 40;
    for half in 1..=half_phases {
        filter.remote_mut().reset();
        let mut mistakes = 0u64;
        let mut moved = 0;
        // The statistics scan all blocks, so they are taken only now and then.
        while moved < half * keys / 2 {
            let query = key(number);
            number += 1;
            if filter.contains(&query) {
                filter.was_wrong(&query)?;
                mistakes += 1;
                if mistakes.is_multiple_of(64) {
                    moved = filter.filter().stats().moved;
                }
            }
        }
        let (stats, counts) = (filter.filter().stats(), filter.remote().counts());
        println!(
            "{:>6.1} n {mistakes:>11} {:>22.3} {:>14} {:>15} {:>11.2} % {:>14.2} {:>8.2}",
            moved as f64 / keys as f64,
            stats.adaptivity_bits as f64 / keys as f64,
            stats.largest_group,
            stats.spilled_groups,
            stats.second_level as f64 * 100.0 / keys as f64,
            counts.reads as f64 / mistakes as f64,
            counts.writes as f64 / mistakes as f64,
        );
    }
    filter.validate()?;
    Ok(())
}
