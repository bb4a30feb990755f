//! 003 section 3.3 and Algorithm 4, 000 section 2.5: the colliding key swaps with a random other cell of its bucket.

use super::oracle::{Cell, Cells, Functions, Number, Oracle, Shape};
use super::play::{Game, Rule, Seen};
use std::collections::BTreeMap;
use twiceshy::cuckoo::SwappingFilter;
use twiceshy::hash::HashKey;
use twiceshy::memory::Limits;
use twiceshy::remote::Mirror;

/// One swap for each false positive, or one for each colliding cell.
struct Swap {
    all: bool,
}

/// Exchanges what two cells of a bucket hold, "if x_j does not exist, σ_i becomes unoccupied". A key that comes into a cell
/// is stored under the function of that cell.
fn swapped(oracle: &Oracle, cells: &Cells, one: Cell, other: Cell) -> Cells {
    let mut after = cells.clone();
    after[one] = cells[other].map(|held| oracle.arriving(one, held));
    after[other] = cells[one].map(|held| oracle.arriving(other, held));
    after
}

impl Rule for Swap {
    /// Any other cell of the bucket may be drawn, and no cell of another bucket. Of several colliding cells only the first
    /// swaps (footnote 2 of 003); with `all`, each that still collides when its turn comes.
    fn allowed(&self, oracle: &Oracle, query: Number, colliding: &[Cell]) -> Vec<Cells> {
        let mut results = vec![oracle.cells.clone()];
        for &cell in colliding.iter().take(if self.all { colliding.len() } else { 1 }) {
            let swap = |cells: Cells| -> Vec<Cells> {
                if !oracle.collides(&cells, cell, query) {
                    return vec![cells];
                }
                let others = oracle.shape.bucket_around(cell).filter(|other| *other != cell);
                others.map(|other| swapped(oracle, &cells, cell, other)).collect()
            };
            results = results.into_iter().flat_map(swap).collect();
        }
        results
    }

    fn hopeless(&self, oracle: &Oracle, key: Number, query: Number) -> bool {
        (0..oracle.functions()).all(|function| oracle.print(key, function) == oracle.print(query, function))
    }
}

fn follows_the_swap(shape: Shape, all: bool, load: f64, steps: u64, watch: impl FnMut(&Oracle, Cell, &Cells)) -> Seen {
    let hash = HashKey::fixed(shape.cells() as u64);
    let options = SwappingFilter::with_cells(shape.cells() as u64, shape.width)
        .tables(shape.tables as u64)
        .cells_per_bucket(shape.per_bucket as u64)
        .all_cells(all);
    let mut pair = options.build(hash, Mirror::new()).expect("possible options");
    // As in the paper: with a memory, swaps that bring a mistake back are drawn again.
    pair.limit_memory(Limits::OFF);
    let ranges = vec![(1 << shape.width) - 1; shape.per_bucket];
    let oracle = Oracle::new(shape, Functions::OfPlace, &ranges, hash, 500);
    let full = (shape.cells() as f64 * load) as usize;
    Game { keys: 200, full, steps, seed: 3 }.play(pair, oracle, &Swap { all }, watch)
}

const SHAPES: [Shape; 4] = [
    Shape { tables: 2, buckets: 12, per_bucket: 4, width: 5 },
    Shape { tables: 3, buckets: 15, per_bucket: 2, width: 5 },
    Shape { tables: 2, buckets: 15, per_bucket: 3, width: 5 },
    Shape { tables: 2, buckets: 6, per_bucket: 8, width: 6 },
];

#[test]
fn the_first_colliding_key_swaps_within_its_bucket() {
    for shape in SHAPES {
        let seen = follows_the_swap(shape, false, 0.85, 600, |_, _, _| {});
        println!("{shape:?}: {seen:?}");
        assert!(seen.mistakes > 200 && seen.several > 10, "{seen:?}");
        assert!(seen.most_changed <= 2, "one swap for each mistake: {seen:?}");
        assert_eq!(seen.unchanged, 0, "{seen:?}");
    }
}

#[test]
fn with_all_cells_every_colliding_key_swaps() {
    for shape in SHAPES {
        let seen = follows_the_swap(shape, true, 0.85, 600, |_, _, _| {});
        println!("{shape:?}: {seen:?}");
        assert!(seen.mistakes > 200 && seen.several > 10 && seen.most_changed > 2, "{seen:?}");
    }
}

/// The cell is drawn uniformly from all others, empty ones too.
#[test]
fn every_other_cell_of_the_bucket_is_as_likely_as_any() {
    let shape = Shape { tables: 2, buckets: 12, per_bucket: 4, width: 5 };
    // From which cell of a bucket to which, and how often; and how often the other cell was empty, beside what is expected.
    let mut drawn: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    let (mut empty, mut expected, mut variance) = (0.0, 0.0, 0.0);
    follows_the_swap(shape, false, 0.7, 4_000, |oracle, from, after| {
        let Some(key) = oracle.cells[from].map(|held| held.key) else { panic!("a cell that collides holds a key") };
        let is_there = |cell: &Cell| after[*cell].is_some_and(|held| held.key == key);
        let to = oracle.shape.bucket_around(from).find(is_there).expect("it stays in its bucket");
        *drawn.entry((shape.place(from), shape.place(to))).or_default() += 1.0;
        let free = oracle.shape.bucket_around(from).filter(|cell| oracle.cells[*cell].is_none()).count();
        let share = free as f64 / 3.0;
        empty += f64::from(u8::from(oracle.cells[to].is_none()));
        expected += share;
        variance += share * (1.0 - share);
    });
    let mut chi_square = 0.0;
    for from in 0..4 {
        let of = |to: usize| drawn.get(&(from, to)).copied().unwrap_or_default();
        let mean = (0..4).map(of).sum::<f64>() / 3.0;
        chi_square += (0..4).filter(|to| *to != from).map(|to| (of(to) - mean).powi(2) / mean).sum::<f64>();
        assert!(mean > 200.0 && of(from) == 0.0, "{drawn:?}");
    }
    let deviations = (empty - expected) / f64::sqrt(variance);
    println!("{drawn:?}: chi-square {chi_square}; {empty} empty of {expected} expected, {deviations:+.2} sd");
    // Eight degrees of freedom: 26 is exceeded once in a thousand.
    assert!(chi_square < 26.0, "{chi_square}: {drawn:?}");
    assert!(expected > 300.0 && deviations.abs() < 4.0, "{empty} empty, {expected} expected");
}
