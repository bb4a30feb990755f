//! The Cyclic filter compared with the formula of 003 section 3.1, over the paper's grid.
//!
//! `cargo run --release -p twiceshy-lab --example cyclic_formula -- [RATIOS] [BITS] [PER_KEY]`
//! prints a table: for each width of a cell, selector bits, ratio A/S and queries per key, the measured rate, its
//! standard error over the trials, the formula as printed (`rate`), and the refined one (`rate_finite`, binomial
//! collisions and finitely many queries). A row is off if the formula is more than 5 % and more than three standard
//! errors away.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use twiceshy::cuckoo::{CyclicFilter, Selectors};
use twiceshy::filter::{Adaptive, Backed, Filter};
use twiceshy::hash::HashKey;
use twiceshy::remote::ByHash;
use twiceshy_lab::models::{CyclicModel, EmptyCell};
use twiceshy_lab::uniform::false_positives;
use twiceshy_lab::workload::keys::Keys;
use twiceshy_lab::workload::rng::Rng;

/// More queries than any trial has.
const MOST_QUERIES: u64 = 1_000_000_000;
const CELLS: u64 = 131_072;
const LOAD: f64 = 0.95;

#[derive(Clone, Copy)]
struct Point {
    bits: u32,
    selector_bits: u32,
    ratio: u64,
    per_key: u64,
}

impl Point {
    /// 131,072 cells, or as many as keep a trial within a thousand million queries.
    fn cells(self) -> u64 {
        let most = (MOST_QUERIES as f64 / (self.ratio * self.per_key) as f64 / LOAD) as u64;
        CELLS.min(most / 4 * 4)
    }

    fn model(self) -> CyclicModel {
        let bits = self.bits - self.selector_bits;
        CyclicModel::equal_ranges(4, LOAD, bits, self.selector_bits, EmptyCell::Reserved).expect("a possible model")
    }

    /// `true` if checking the keys affected by each mistake is less work than asking every query.
    fn skipping_pays(self) -> bool {
        let (buckets, absent, queries) = self.shape();
        self.model().rate(buckets, absent, queries) * 4.0 * (self.ratio as f64) < 1.0
    }

    fn shape(self) -> (u64, u64, u64) {
        let cells = self.cells();
        let absent = (cells as f64 * LOAD) as u64 * self.ratio;
        (cells / 4, absent, absent * self.per_key)
    }

    /// The rates of several sets of absent keys for one filled filter, which is reset to its filled state each time.
    fn measure(self, fill: u64, sets: u64) -> Vec<f64> {
        let cells = self.cells();
        let stored = (cells as f64 * LOAD) as u64;
        let point = [self.bits.into(), self.selector_bits.into(), self.ratio, self.per_key];
        let mut rng = Rng::stream(fill, point.iter().fold(0, |label, part| label * 1009 + part));
        let (filled, mut remote, keys) = self.fill(cells, stored, sets, &mut rng);
        let absent = stored * self.ratio;
        let queries = absent * self.per_key;
        let rate = |set: u64, rng: &mut Rng, remote: &mut ByHash| {
            let mut filter = filled.clone();
            let key = |number: u32| keys.absent(set * absent + u64::from(number));
            let count = if self.skipping_pays() {
                false_positives(&mut filter, remote, absent as u32, key, queries, rng).expect("adaptations succeed")
            } else {
                ask_all(&mut filter, remote, absent as u32, key, queries, rng)
            };
            count as f64 / queries as f64
        };
        (0..sets).map(|set| rate(set, &mut rng, &mut remote)).collect()
    }

    /// A small table may be full slightly early under an unlucky hash key; then another is used.
    fn fill(self, cells: u64, stored: u64, sets: u64, rng: &mut Rng) -> (CyclicFilter, ByHash, Keys) {
        loop {
            let keys = Keys::new(stored, stored * self.ratio * sets, rng.word()).expect("few enough keys");
            let mut remote = ByHash::new();
            let options = CyclicFilter::with_cells(cells, self.bits);
            let options = options.selectors(Selectors::Equal { bits: self.selector_bits });
            let hash = HashKey::fixed(rng.word()).for_trusted_keys();
            let mut filter = options.build(hash, &mut remote).expect("possible options");
            if keys.stored_keys().all(|key| filter.insert(&key, &mut remote).is_ok()) {
                return (filter, remote, keys);
            }
        }
    }
}

/// Asks every query, one after another.
fn ask_all(
    filter: &mut CyclicFilter,
    remote: &mut ByHash,
    absent: u32,
    key: impl Fn(u32) -> [u8; 8],
    queries: u64,
    rng: &mut Rng,
) -> u64 {
    let mut count = 0;
    for _ in 0..queries {
        let query = key(rng.below(absent.into()) as u32);
        if filter.contains(&query) {
            count += 1;
            filter.adapt(&query, remote).expect("adaptations succeed");
        }
    }
    count
}

/// The whole numbers of an argument, above 0.
fn list(at: usize, default: &str) -> Vec<u64> {
    let given = std::env::args().nth(at).unwrap_or_else(|| default.into());
    let numbers: Option<Vec<u64>> =
        given.split(',').map(|number| number.parse().ok().filter(|number| *number > 0)).collect();
    numbers.unwrap_or_else(|| {
        eprintln!("{given}: give a comma-separated list of whole numbers above 0, such as {default}");
        std::process::exit(2);
    })
}

fn main() {
    let ratios = list(1, "1,2,3,4,5,10,20,30,40,50,60,70,80,90,100");
    let (widths, queries) = (list(2, "16,12,8"), list(3, "10,100,1000"));
    let mut points = Vec::new();
    for &bits in &widths {
        for selector_bits in [1, 2, 3] {
            for &per_key in &queries {
                points.extend(ratios.iter().map(|&ratio| Point { bits: bits as u32, selector_bits, ratio, per_key }));
            }
        }
    }
    println!("bits  s  A/S  per key    cells  trials   measured      error    formula   off %   finite   off %");
    let next = AtomicUsize::new(0);
    let off = Mutex::new(0);
    std::thread::scope(|threads| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            threads.spawn(|| {
                while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let bad = row(*point);
                    *off.lock().expect("no thread panics") += u32::from(bad);
                }
            });
        }
    });
    println!("{} of {} rows are off the formula", off.lock().expect("no thread panics"), points.len());
}

/// Measures and prints one row. Returns `true` if it is off.
fn row(point: Point) -> bool {
    let (buckets, absent, queries) = point.shape();
    let (formula, finite) =
        (point.model().rate(buckets, absent, queries), point.model().rate_finite(buckets, absent, queries));
    // Rare mistakes need more trials; frequent ones need few.
    let expected = formula * queries as f64;
    let sets = ((100_000.0 / expected) as u64).clamp(1, 10);
    let rates: Vec<f64> = (1..=2).flat_map(|fill| point.measure(fill, sets)).collect();
    let trials = rates.len();
    let mean = rates.iter().sum::<f64>() / trials as f64;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (trials - 1) as f64;
    let error = (variance / trials as f64).sqrt();
    let off = |model: f64| 100.0 * (model / mean - 1.0);
    let bad = off(formula).abs() > 5.0 && (formula - mean).abs() > 3.0 * error;
    println!(
        "{:>4} {:>2} {:>4} {:>8} {:>8} {:>7}   {:.3e}  {:.3e}  {:.3e}  {:>6.2}   {:.3e}  {:>6.2}{}",
        point.bits,
        point.selector_bits,
        point.ratio,
        point.per_key,
        point.cells(),
        trials,
        mean,
        error,
        formula,
        off(formula),
        finite,
        off(finite),
        if bad { "  off" } else { "" }
    );
    bad
}
