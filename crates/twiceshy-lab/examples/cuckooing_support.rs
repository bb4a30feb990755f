//! Theorem 1 of 000: the Cuckooing filter with two tables of single cells at half load.
//!
//! `cargo run --release -p twiceshy-lab --example cuckooing_support -- [BITS] [KEYS]` prints two tables. The first
//! stays within the theorem's n queries: |Q| distinct ones, each asked n/|Q| times, and the mean number of false
//! positives next to ε|Q|(1 + 4ε) + log2 n. The second continues: false positives per round over the same |Q| queries,
//! next to the number of stored keys that have a mutually unfixable pair in Q (a query that collides in either table),
//! about ε²|Q|²/n.
//!
//! At γ = 2 the cuckoo graph, n edges on 2n vertices, is at its threshold. A component of it is nearly always a tree
//! with one free cell, and the position of that cell determines the position of every key of the component: two
//! mistakes that need it in different branches cannot both be fixed. The last column is the number of mistakes in the
//! first round minus the number of components they are in.

use std::collections::HashSet;
use twiceshy::cuckoo::{CuckooingFilter, Function};
use twiceshy::filter::{Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::remote::ByHash;
use twiceshy_lab::workload::keys::Keys;
use twiceshy_lab::workload::rng::Rng;

const TRIALS: u64 = 40;
const ROUNDS: usize = 24;

struct Game {
    filter: CuckooingFilter,
    remote: ByHash,
    keys: Keys,
    rng: Rng,
    rebuilds: u64,
}

impl Game {
    /// n keys in 2n cells. At exactly half load some hash keys leave no room; then another is used, like the paper's
    /// rebuild.
    fn new(bits: u32, stored: u64, support: u64, seed: u64) -> Game {
        let mut rng = Rng::stream(seed, support);
        let keys = Keys::new(stored, support, rng.word()).expect("few enough keys");
        loop {
            let mut remote = ByHash::new();
            let options = CuckooingFilter::with_cells(2 * stored, bits).tables(2);
            let mut filter = options.build(HashKey::fixed(rng.word()), &mut remote).expect("possible options");
            if keys.stored_keys().all(|key| filter.insert(&key, &mut remote).is_ok()) {
                return Game { filter, remote, keys, rng, rebuilds: 0 };
            }
        }
    }

    /// Asks every query of the support once, in a random order, and counts the false positives.
    fn round(&mut self) -> u64 {
        let mut order: Vec<u64> = (0..self.keys.absent_len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, self.rng.below(at as u64 + 1) as usize);
        }
        let mut wrong = 0;
        for number in order {
            let query = self.keys.absent(number);
            if self.filter.contains(&query) {
                wrong += 1;
                self.filter.adapt(&query, &mut self.remote).expect("adaptations succeed");
            }
            while self.filter.wants_rebuild() {
                // If the new hash key leaves no room, the old table stays and another key is tried.
                self.rebuilds +=
                    u64::from(self.filter.rekey(HashKey::fixed(self.rng.word()), &mut self.remote).is_ok());
            }
        }
        wrong
    }

    /// How many of the filter's current mistakes share a component of the cuckoo graph with another.
    fn sharing_a_component(&self) -> usize {
        let mut parent: Vec<usize> = (0..self.filter.cells() as usize).collect();
        fn root(parent: &mut [usize], mut cell: usize) -> usize {
            while parent[cell] != cell {
                parent[cell] = parent[parent[cell]];
                cell = parent[cell];
            }
            cell
        }
        for key in self.keys.stored_keys() {
            let ends: Vec<usize> = self.filter.cells_of(&key).map(|cell| cell.0 as usize).collect();
            let (one, other) = (root(&mut parent, ends[0]), root(&mut parent, ends[1]));
            parent[one] = other;
        }
        let (mut parts, mut wrong) = (HashSet::new(), 0);
        for number in 0..self.keys.absent_len() {
            for place in self.filter.lookup(&self.keys.absent(number)).into_iter().flatten() {
                wrong += 1;
                parts.insert(root(&mut parent, place.cell.0 as usize));
            }
        }
        wrong - parts.len()
    }

    /// Stored keys for which each of the two places is hit by some query of the support.
    fn mutually_unfixable(&self) -> usize {
        let places = |key: &[u8]| -> Vec<(u64, u32)> {
            let cells = self.filter.cells_of(key).zip(0u8..);
            cells.map(|(cell, table)| (cell.0, self.filter.value_of(key, Function(table)))).collect()
        };
        let support = self.keys.absent_len();
        let hit: HashSet<(u64, u32)> = (0..support).flat_map(|number| places(&self.keys.absent(number))).collect();
        self.keys.stored_keys().filter(|key| places(key).iter().all(|place| hit.contains(place))).count()
    }
}

fn main() {
    let number = |at: usize, default: u64| std::env::args().nth(at).map_or(Ok(default), |given| given.parse());
    let (Ok(bits @ 2..=32), Ok(n @ 1024..)) = (number(1, 8), number(2, 16_384)) else {
        eprintln!("give the bits of a cell (2 to 32) and the number of keys (at least 1024)");
        std::process::exit(2);
    };
    let bits = bits as u32;
    let epsilon = 1.0 / ((1u64 << bits) - 1) as f64;
    println!("{n} keys, 2×1, half load, {bits} bits: epsilon = {epsilon:.5}; {TRIALS} trials\n");
    println!("   |Q|   times   false positives   standard error   epsilon |Q|     bound   rebuilds");
    for times in [1u64, 2, 4, 16, 64, 256, 1024] {
        let support = n / times;
        let mut rebuilds = 0;
        let counts: Vec<f64> = (0..TRIALS)
            .map(|trial| {
                let mut game = Game::new(bits, n, support, trial + 1);
                let wrong: u64 = (0..times).map(|_| game.round()).sum();
                rebuilds += game.rebuilds;
                wrong as f64
            })
            .collect();
        let mean = counts.iter().sum::<f64>() / TRIALS as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / (TRIALS - 1) as f64;
        let expected = epsilon * support as f64;
        let bound = expected * (1.0 + 4.0 * epsilon) + (n as f64).log2();
        println!(
            "{support:>6} {times:>7} {mean:>17.2} {:>16.2} {expected:>13.2} {bound:>9.2} {rebuilds:>10}{}",
            (variance / TRIALS as f64).sqrt(),
            if mean > bound { "  above" } else { "" }
        );
    }
    println!("\nBeyond n queries: false positives a round (means over {TRIALS} trials)");
    println!(
        "   |Q|   round 1       2       4       8      16      24   unfixable keys   epsilon^2 |Q|^2 / n   rebuilds"
    );
    for support in [n / 4, n, 4 * n] {
        let mut rounds = [0u64; ROUNDS];
        let (mut unfixable, mut rebuilds, mut sharing) = (0, 0, 0);
        for trial in 0..TRIALS {
            let mut game = Game::new(bits, n, support, trial + 1);
            unfixable += game.mutually_unfixable();
            sharing += game.sharing_a_component();
            rounds.iter_mut().for_each(|round| *round += game.round());
            rebuilds += game.rebuilds;
        }
        let mean = |count: u64| count as f64 / TRIALS as f64;
        print!("{support:>6}  ");
        for round in [1, 2, 4, 8, 16, 24] {
            print!("{:>8.2}", mean(rounds[round - 1]));
        }
        let predicted = (epsilon * support as f64).powi(2) / n as f64;
        println!("{:>17.2} {predicted:>21.2} {rebuilds:>10} {:>14.2}", mean(unfixable as u64), mean(sharing as u64));
    }
}
