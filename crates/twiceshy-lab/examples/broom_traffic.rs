//! What traffic costs a broom filter: phases, adaptivity bits, ghosts and total bits per key, and the words of its
//! costliest updates.
//!
//! At 95 % load, asks fresh queries until one is wrong and reports it to the filter. Then
//! * `mistakes`: nothing else happens;
//! * `inserted`: the mistake is inserted in place of a stored key;
//! * `replaced`: the four oldest keys are replaced by four others, in random byte order;
//! * `rising`: the same with keys in rising order, like time stamps;
//! * `churned`: thirty keys in no order are replaced by new ones, so ten times all keys in a phase.
//!
//! Means and largest values are over the second half of the run. Words are counted with `--features count-words`.
//!
//! `cargo run --release -p twiceshy-lab --example broom_traffic -- [KEYS,KEYS,…] [BITS] [MISTAKES A KEY] [TRAFFIC,…]`

use std::collections::VecDeque;
use std::time::Instant;
use twiceshy::AdaptiveFilter;
use twiceshy::hash::HashKey;
use twiceshy::quotient::BroomFilter;
use twiceshy::remote::ByHash;
use twiceshy_lab::broom::loaded;
use twiceshy_lab::workload::rng::Rng;

type Failure = Box<dyn std::error::Error>;

/// Keys replaced for each mistake.
const REPLACED: usize = 4;

/// The same in churned traffic. A phase has a mistake for every three keys.
const CHURNED: usize = 30;

/// A mean, and the largest value.
#[derive(Default)]
struct Figure {
    sum: f64,
    count: u64,
    most: f64,
}

impl Figure {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
        self.most = self.most.max(value);
    }

    fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }
}

#[derive(Default)]
struct Figures {
    adaptivity: Figure,
    ghosts: Figure,
    ghost_bits: Figure,
    all_bits: Figure,
    aside: Figure,
    words: [u64; 3],
}

struct Traffic {
    kind: String,
    filter: AdaptiveFilter<BroomFilter>,
    inside: VecDeque<[u8; 8]>,
    rng: Rng,
    next: u64,
    figures: Figures,
}

/// Runs an operation and counts the words it touched, if they are counted.
fn words_of<T>(most: &mut u64, operation: impl FnOnce() -> T) -> T {
    #[cfg(feature = "count-words")]
    twiceshy::touched::reset();
    let outcome = operation();
    #[cfg(feature = "count-words")]
    {
        *most = (*most).max(twiceshy::touched::words());
    }
    let _ = most;
    outcome
}

impl Traffic {
    fn new(kind: &str, keys: u64, bits: u32) -> Result<Traffic, Failure> {
        let filter = loaded(keys, bits).build(HashKey::fixed(1), ByHash::new())?;
        let (kind, rng) = (kind.to_owned(), Rng::new(7));
        let mut traffic = Traffic { kind, filter, inside: VecDeque::new(), rng, next: 0, figures: Figures::default() };
        for _ in 0..keys {
            traffic.come()?;
        }
        traffic.figures = Figures::default();
        Ok(traffic)
    }

    fn key(&mut self) -> [u8; 8] {
        self.next += 1;
        match self.kind.as_str() {
            "rising" => self.next.to_be_bytes(),
            _ => self.rng.word().to_be_bytes(),
        }
    }

    fn come(&mut self) -> Result<(), Failure> {
        let key = self.key();
        self.insert(key)
    }

    fn insert(&mut self, key: [u8; 8]) -> Result<(), Failure> {
        let Traffic { filter, figures, .. } = self;
        words_of(&mut figures.words[0], || filter.insert(&key))?;
        self.inside.push_back(key);
        Ok(())
    }

    fn go(&mut self, at: usize) -> Result<(), Failure> {
        let Some(key) = self.inside.swap_remove_front(at) else { return Ok(()) };
        let Traffic { filter, figures, .. } = self;
        words_of(&mut figures.words[1], || filter.remove(&key))?;
        Ok(())
    }

    fn mistake(&mut self) -> Result<(), Failure> {
        let query = loop {
            // The highest bit keeps them apart from rising keys.
            let query = (self.rng.word() | 1 << 63).to_be_bytes();
            if self.filter.contains(&query) {
                break query;
            }
        };
        let Traffic { filter, figures, .. } = self;
        words_of(&mut figures.words[2], || filter.was_wrong(&query))?;
        match self.kind.as_str() {
            "mistakes" => {}
            "inserted" => {
                let at = self.rng.below(self.inside.len() as u64) as usize;
                self.go(at)?;
                self.insert(query)?;
            }
            "replaced" | "rising" => {
                for _ in 0..REPLACED {
                    self.go(0)?;
                    self.come()?;
                }
            }
            "churned" => {
                for _ in 0..CHURNED {
                    let at = self.rng.below(self.inside.len() as u64) as usize;
                    self.go(at)?;
                    self.come()?;
                }
            }
            other => {
                let kinds = "mistakes, inserted, replaced, rising or churned";
                return Err(format!("unknown traffic {other:?}: use {kinds}").into());
            }
        }
        Ok(())
    }

    fn note(&mut self) {
        let (stats, keys) = (self.filter.filter().stats(), self.filter.len() as f64);
        self.figures.adaptivity.add(stats.adaptivity_bits as f64 / keys);
        self.figures.ghosts.add(stats.ghosts as f64 / keys);
        self.figures.ghost_bits.add(stats.ghost_bits as f64 / keys);
        self.figures.all_bits.add(self.filter.local_bits() as f64 / keys);
        self.figures.aside.add(stats.second_level as f64 * 100.0 / keys);
    }

    fn print(&self, begun: Instant) {
        let Figures { adaptivity, ghosts, ghost_bits, all_bits, aside, words } = &self.figures;
        println!(
            "{:>9} {:<9} {:>6} {:>9.3} {:>6.3} {:>8.3} {:>6.3} {:>9.3} {:>9.2} {:>6.2} {:>7.2} {:>7} {:>6} {:>6} {:>6.0} s",
            self.filter.len(),
            self.kind,
            self.filter.filter().phases(),
            adaptivity.mean(),
            adaptivity.most,
            ghosts.mean(),
            ghosts.most,
            ghost_bits.mean(),
            all_bits.mean(),
            all_bits.most,
            aside.most,
            words[0],
            words[1],
            words[2],
            begun.elapsed().as_secs_f64()
        );
    }
}

fn main() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let sizes = args.next().unwrap_or_else(|| "2000,20000".into());
    let sizes = sizes.split(',').map(str::parse::<u64>).collect::<Result<Vec<_>, _>>()?;
    let bits: u32 = args.next().map_or(Ok(4), |bits| bits.parse())?;
    let each: u64 = args.next().map_or(Ok(8), |each| each.parse())?;
    let kinds = args.next().unwrap_or_else(|| "mistakes,inserted,replaced,rising".into());
    println!(
        "                           adaptivity bits    ghosts a key     ghost  all bits a key aside,   most words of"
    );
    println!(
        "     keys traffic   phases  mean   most     mean   most      bits      mean   most  most %  insert remove  adapt"
    );
    for keys in sizes {
        for kind in kinds.split(',') {
            let begun = Instant::now();
            let mut traffic = Traffic::new(kind, keys, bits)?;
            for mistake in 0..each * keys {
                traffic.mistake()?;
                if mistake >= each * keys / 2 && mistake.is_multiple_of(keys.div_ceil(32)) {
                    traffic.note();
                }
            }
            traffic.print(begun);
        }
    }
    Ok(())
}
