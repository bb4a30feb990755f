//! The exact table reaches 95 % load: 4×1 and 2×4, a thousand to ten million keys.
//!
//! `cargo run --release -p twiceshy-lab --example table_loads` prints, for each size, how many tables were filled, how
//! many took a new hash key on the way, and the nanoseconds per insertion; then how full each shape gets before it
//! rejects a key.

use std::time::Instant;
use twiceshy::cuckoo::{CuckooTable, Insertion, Search, Shape};
use twiceshy::hash::HashKey;

fn main() {
    println!("shape  search             keys  tables  reached 95 %  new hash keys  ns an insertion");
    for (tables, cells_per_bucket) in [(4, 1), (2, 4)] {
        for (keys, times) in [(1_000u64, 200u64), (10_000, 50), (100_000, 10), (1_000_000, 3), (10_000_000, 1)] {
            for (name, search) in
                [("breadth-first", Search::DEFAULT), ("random walk", Search::RandomWalk { steps: 5_000 })]
            {
                let begun = Instant::now();
                let (mut reached, mut rehashes) = (0, 0);
                for seed in 0..times {
                    let shape =
                        Shape::with_cells(tables, cells_per_bucket, (keys as f64 / 0.95) as u64).expect("possible");
                    let table = CuckooTable::new(shape, HashKey::fixed(seed)).expect("enough memory");
                    let mut table = table.with_insertion(Insertion::Search(search));
                    reached += u64::from((0..keys).all(|key| table.insert(&key.to_le_bytes()).is_ok()));
                    rehashes += table.rehashes();
                }
                let each = begun.elapsed().as_nanos() as f64 / (keys * times) as f64;
                println!(
                    "{tables}×{cells_per_bucket}    {name:<13} {keys:>9} {times:>7} {reached:>13} {rehashes:>14} {each:>16.0}"
                );
            }
        }
    }
    println!("\nshape  load at the first key without room (100,000 cells)");
    for (tables, cells_per_bucket) in [(2, 1), (3, 1), (4, 1), (2, 2), (2, 3), (2, 4), (2, 8), (3, 8), (4, 4)] {
        let shape = Shape::with_cells(tables, cells_per_bucket, 100_000).expect("possible");
        let mut table = CuckooTable::new(shape, HashKey::fixed(1)).expect("enough memory");
        let full = (0u64..).find(|key| table.insert(&key.to_le_bytes()).is_err() || table.rehashes() > 0);
        println!("{tables}×{cells_per_bucket}    {:.2} %", full.unwrap_or(0) as f64 / shape.cells() as f64 * 100.0);
    }
}
