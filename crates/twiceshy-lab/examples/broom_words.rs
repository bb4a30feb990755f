//! How many words of L an operation of a broom filter touches (001, Theorem 6: a constant number).
//!
//! At 95 % load, rounds of three look-ups of stored keys, three of absent ones, an adaptation, a removal and an
//! insertion. Every second insertion re-inserts a key that was removed earlier, and may meet its ghost. The number of
//! rounds is the same for each number of keys, so that the largest counts can be compared.
//!
//! `cargo run --release -p twiceshy-lab --features count-words --example broom_words -- [KEYS,KEYS,…] [BITS] [ROUNDS]`

use std::collections::VecDeque;
use std::time::Instant;
use twiceshy::touched;
use twiceshy_lab::broom::{Subject, loaded};
use twiceshy_lab::workload::rng::Rng;

type Failure = Box<dyn std::error::Error>;

/// Look-ups of each kind in a round.
const LOOK_UPS: u64 = 3;

/// For how many rounds a key stays removed.
const ROUNDS_REMOVED: usize = 64;

/// Counts of the words touched by operations of one kind.
#[derive(Default)]
struct Tally {
    operations: u64,
    words: Count,
    lines: Count,
}

#[derive(Default)]
struct Count {
    sum: u64,
    most: u64,
}

impl Count {
    fn add(&mut self, number: u64) {
        self.sum += number;
        self.most = self.most.max(number);
    }
}

impl Tally {
    fn of<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        touched::reset();
        let outcome = operation();
        self.operations += 1;
        self.words.add(touched::words());
        self.lines.add(touched::lines());
        outcome
    }

    fn print(&self, keys: u64, name: &str) {
        let mean = |count: &Count| count.sum as f64 / self.operations as f64;
        println!(
            "{keys:>9} {name:<16} {:>10} {:>11.2} {:>11} {:>11.2} {:>11}",
            self.operations,
            mean(&self.words),
            self.words.most,
            mean(&self.lines),
            self.lines.most
        );
    }
}

#[derive(Default)]
struct Tallies {
    stored: Tally,
    absent: Tally,
    adapt: Tally,
    remove: Tally,
    insert: Tally,
}

struct Mixture {
    subject: Subject,
    rng: Rng,
    /// The numbers of the stored keys.
    stored: Vec<u64>,
    /// Those of removed keys, the latest last.
    gone: VecDeque<u64>,
    next: u64,
    tallies: Tallies,
}

impl Mixture {
    fn new(keys: u64, bits: u32) -> Result<Mixture, Failure> {
        let mut subject = Subject::new(loaded(keys, bits))?;
        for _ in 0..keys {
            // Only the words of a single insertion are needed.
            touched::reset();
            subject.fill(1)?;
        }
        let stored = (0..keys).collect();
        let tallies = Tallies::default();
        Ok(Mixture { subject, rng: Rng::new(1), stored, gone: VecDeque::new(), next: keys, tallies })
    }

    fn round(&mut self) -> Result<(), Failure> {
        self.look_up_stored()?;
        let query = self.look_up_absent();
        let filter = &mut self.subject.filter;
        self.tallies.adapt.of(|| filter.was_wrong(&query))?;
        self.remove()?;
        self.insert()
    }

    fn look_up_stored(&mut self) -> Result<(), Failure> {
        for _ in 0..LOOK_UPS {
            let number = self.stored[self.rng.below(self.stored.len() as u64) as usize];
            let key = self.subject.key(number);
            if !self.tallies.stored.of(|| self.subject.filter.contains(&key)) {
                return Err(format!("the stored key with number {number} was not found").into());
            }
        }
        Ok(())
    }

    /// Returns a query that the filter is wrong about. Look-ups beyond the round's are not counted.
    fn look_up_absent(&mut self) -> [u8; 8] {
        let mut wrong = None;
        for _ in 0..LOOK_UPS {
            let query = self.subject.next_absent();
            if self.tallies.absent.of(|| self.subject.filter.contains(&query)) {
                wrong = Some(query);
            }
        }
        wrong.unwrap_or_else(|| self.subject.next_mistake())
    }

    fn remove(&mut self) -> Result<(), Failure> {
        let number = self.stored.swap_remove(self.rng.below(self.stored.len() as u64) as usize);
        let key = self.subject.key(number);
        let filter = &mut self.subject.filter;
        self.tallies.remove.of(|| filter.remove(&key))?;
        self.gone.push_back(number);
        Ok(())
    }

    fn insert(&mut self) -> Result<(), Failure> {
        let back = if self.gone.len() > ROUNDS_REMOVED { self.gone.pop_front() } else { None };
        let number = match back {
            Some(number) if self.rng.below(2) == 0 => number,
            _ => {
                self.next += 1;
                self.next - 1
            }
        };
        let key = self.subject.key(number);
        let filter = &mut self.subject.filter;
        self.tallies.insert.of(|| filter.insert(&key))?;
        self.stored.push(number);
        Ok(())
    }

    fn print(&self, keys: u64) {
        let Tallies { stored, absent, adapt, remove, insert } = &self.tallies;
        stored.print(keys, "look-up, stored");
        absent.print(keys, "look-up, absent");
        insert.print(keys, "insert");
        remove.print(keys, "remove");
        adapt.print(keys, "adapt");
    }
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let sizes = args.next().unwrap_or_else(|| "10000,100000,1000000".into());
    let sizes = sizes.split(',').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>()?;
    let bits: u32 = args.next().map_or(Ok(8), |bits| bits.parse())?;
    let rounds: u64 = args.next().map_or(Ok(300_000), |rounds| rounds.parse())?;
    println!("     keys operation        operations  mean words  most words  mean lines  most lines");
    for keys in sizes {
        let begun = Instant::now();
        let mut mixture = Mixture::new(keys, bits)?;
        for _ in 0..rounds {
            mixture.round()?;
        }
        mixture.print(keys);
        let stats = mixture.subject.filter.filter().stats();
        println!("          {} phases, {:.0} seconds", stats.phases, begun.elapsed().as_secs_f64());
    }
    Ok(())
}
