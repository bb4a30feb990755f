//! 000 section 2.3: the colliding key moves to its next table, and so does every key that has to make room.

use super::oracle::{Cell, Cells, Functions, Held, Number, Oracle, Shape, bytes};
use super::play::{Game, Rule, Seen, placed};
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{CuckooingFilter, Moves};
use twiceshy::filter::{Adapted, Backed, Operation};
use twiceshy::hash::HashKey;
use twiceshy::plan::{Outcome, Plan};
use twiceshy::remote::Mirror;

/// The walk of 000 section 2.3, with the moves of an insertion (section 2.2).
struct Walk {
    /// A longer walk changes nothing.
    steps: u32,
}

/// A walk under way: the key that looks for a cell, and the table that it has left.
#[derive(Clone)]
struct Moving {
    cells: Cells,
    held: Held,
    left: usize,
}

impl Walk {
    /// Everything that one walk from this cell may lead to. `None` is a walk that passes its bound.
    fn walks(&self, oracle: &Oracle, cells: &Cells, from: Cell) -> Vec<Option<Cells>> {
        let mut cells = cells.clone();
        let Some(held) = cells[from].take() else { return vec![Some(cells)] };
        let mut done = Vec::new();
        let mut under_way = vec![Moving { cells, held, left: oracle.shape.table(from) }];
        for step in 0..self.steps {
            let mut further = Vec::new();
            for mut moving in std::mem::take(&mut under_way) {
                // β + 1 (mod k).
                let next = (moving.left + 1) % oracle.shape.tables;
                // The colliding key goes to its next table, full or not. A key that was displaced takes a free cell of any
                // of its tables; the paper says "arbitrarily", and here it is the first.
                let open: Vec<Cell> = if step == 0 {
                    oracle.cells_in(moving.held.key, next).collect()
                } else {
                    oracle.cells_of(moving.held.key)
                };
                if let Some(free) = open.into_iter().find(|cell| moving.cells[*cell].is_none()) {
                    moving.cells[free] = Some(oracle.arriving(free, moving.held));
                    done.push(Some(moving.cells));
                    continue;
                }
                // Some key of the full bucket makes room. The paper leaves open which.
                for cell in oracle.cells_in(moving.held.key, next) {
                    let mut cells = moving.cells.clone();
                    let displaced = cells[cell].replace(oracle.arriving(cell, moving.held));
                    further.extend(displaced.map(|held| Moving { cells, held, left: next }));
                }
            }
            under_way = further;
        }
        done.extend(under_way.into_iter().map(|_| None));
        done
    }
}

/// `true` if every placement of the stored keys has this key in its cell. Tries them all, key by key.
fn is_stuck(oracle: &Oracle, key: Number) -> bool {
    let cell = oracle.cell_of(key);
    let others: Vec<Number> = oracle.keys().into_iter().filter(|other| *other != key).collect();
    let elsewhere = oracle.cells_of(key).into_iter().filter(|other| Some(*other) != cell);
    !elsewhere.into_iter().any(|taken| {
        let mut held = vec![None; oracle.shape.cells()];
        others.iter().all(|other| makes_room(oracle, *other, &mut held, &mut vec![taken]))
    })
}

/// Gives a key a cell that is not among those tried, if the keys that hold them can have others.
fn makes_room(oracle: &Oracle, key: Number, held: &mut Vec<Option<Number>>, tried: &mut Vec<Cell>) -> bool {
    oracle.cells_of(key).into_iter().any(|cell| {
        if tried.contains(&cell) {
            return false;
        }
        tried.push(cell);
        let is_free = held[cell].is_none_or(|holder| makes_room(oracle, holder, held, tried));
        if is_free {
            held[cell] = Some(key);
        }
        is_free
    })
}

impl Rule for Walk {
    /// Every colliding key moves, one walk after the other. One that an earlier walk has moved, or that no move can part
    /// from the query, stays. So does one that can have no other cell.
    fn allowed(&self, oracle: &Oracle, query: Number, colliding: &[Cell]) -> Vec<Cells> {
        let (mut results, mut dropped) = (vec![oracle.cells.clone()], false);
        for &cell in colliding {
            let mut further = Vec::new();
            for cells in results {
                let owner = cells[cell].filter(|_| oracle.collides(&cells, cell, query));
                match owner {
                    Some(held) if !self.hopeless(oracle, held.key, query) => {
                        for walked in self.walks(oracle, &cells, cell) {
                            dropped |= walked.is_none();
                            further.extend(walked);
                        }
                    }
                    _ => further.push(cells),
                }
            }
            results = further;
        }
        if dropped {
            results.push(oracle.cells.clone());
        }
        results
    }

    fn hopeless(&self, oracle: &Oracle, key: Number, query: Number) -> bool {
        agree(oracle, key, query) || is_two_by_one(oracle) && is_stuck(oracle, key)
    }
}

fn is_two_by_one(oracle: &Oracle) -> bool {
    (oracle.shape.tables, oracle.shape.per_bucket) == (2, 1)
}

/// `true` if the key and the query have the same cell and the same fingerprint in every table.
fn agree(oracle: &Oracle, key: Number, query: Number) -> bool {
    (0..oracle.shape.tables).all(|table| {
        let cell = oracle.cells_in(query, table).start;
        let function = oracle.arriving(cell, Held { key, function: 0 }).function;
        cell == oracle.cells_in(key, table).start && oracle.print(key, function) == oracle.print(query, function)
    })
}

/// Plays `steps` steps at a load with walks of at most `bound` moves.
fn follows_the_walk(shape: Shape, shared: bool, load: f64, bound: u32, steps: u64) -> Seen {
    let hash = HashKey::fixed(shape.cells() as u64 + u64::from(bound));
    let options = CuckooingFilter::with_cells(shape.cells() as u64, shape.width)
        .tables(shape.tables as u64)
        .cells_per_bucket(shape.per_bucket as u64)
        .shared_fingerprint(shared)
        .moves(Moves::Walk { steps: bound });
    let pair = options.build(hash, Mirror::new()).expect("possible options");
    let functions = if shared { Functions::One } else { Functions::OfTable };
    let ranges = vec![(1 << shape.width) - 1; if shared { 1 } else { shape.tables }];
    let oracle = Oracle::new(shape, functions, &ranges, hash, 600);
    let full = (shape.cells() as f64 * load) as usize;
    Game { keys: 300, full, steps, seed: 1 }.play(pair, oracle, &Walk { steps: bound }, |_, _, _| {})
}

#[test]
fn keys_move_to_their_next_table_of_three_and_of_four() {
    for (tables, buckets, load) in [(3, 30, 0.85), (4, 23, 0.93), (5, 18, 0.95)] {
        let shape = Shape { tables, buckets, per_bucket: 1, width: 4 };
        let seen = follows_the_walk(shape, false, load, 500, 800);
        println!("{tables}×1: {seen:?}");
        assert!(seen.mistakes > 500 && seen.several > 10 && seen.most_changed > 20, "{seen:?}");
    }
}

#[test]
fn a_walk_of_two_tables_goes_back_and_forth() {
    let shape = Shape { tables: 2, buckets: 50, per_bucket: 1, width: 4 };
    let seen = follows_the_walk(shape, false, 0.45, 40, 800);
    assert!(seen.mistakes > 200 && seen.most_changed > 4, "{seen:?}");
}

#[test]
fn in_wider_buckets_some_key_of_the_next_table_makes_room() {
    for (tables, buckets, per_bucket, load) in [(2, 15, 3, 0.85), (3, 15, 2, 0.85), (4, 8, 3, 0.85)] {
        let shape = Shape { tables, buckets, per_bucket, width: 6 };
        let seen = follows_the_walk(shape, false, load, 6, 800);
        println!("{tables}×{per_bucket}: {seen:?}");
        assert!(seen.mistakes > 200 && seen.several > 0 && seen.most_changed > 4, "{seen:?}");
    }
}

#[test]
fn a_walk_that_passes_its_bound_changes_nothing() {
    let shape = Shape { tables: 3, buckets: 30, per_bucket: 1, width: 5 };
    let seen = follows_the_walk(shape, false, 0.85, 3, 800);
    println!("{seen:?}");
    assert!(seen.unchanged > 50 && seen.mistakes > seen.unchanged + 50 && seen.most_changed == 3, "{seen:?}");
}

#[test]
fn a_shared_fingerprint_is_the_same_in_every_table() {
    let shape = Shape { tables: 4, buckets: 23, per_bucket: 1, width: 5 };
    let seen = follows_the_walk(shape, true, 0.9, 500, 800);
    assert!(seen.mistakes > 200 && seen.most_changed > 5, "{seen:?}");
}

/// What a report about `query` would do: nothing is applied.
fn planned(pair: &AdaptiveFilter<CuckooingFilter, Mirror>, query: Number) -> Plan {
    pair.filter().plan(Operation::Adapt(&bytes(query)), pair.remote()).expect("the mirror does not fail")
}

#[test]
fn a_mistake_is_unfixable_exactly_if_its_key_has_the_same_cell_in_every_placement() {
    let (mut stuck, mut turned, mut moved) = (0, 0, 0);
    for seed in 0..300 {
        let shape = Shape { tables: 2, buckets: 3 + seed as usize % 10, per_bucket: 1, width: 2 };
        let (cells, hash) = (shape.cells() as u64, HashKey::fixed(seed));
        let options = CuckooingFilter::with_cells(cells, shape.width).tables(2).cells_per_bucket(1);
        let mut pair = options.build(hash, Mirror::new()).expect("possible options");
        let mut oracle = Oracle::new(shape, Functions::OfTable, &[3, 3], hash, 200);
        // Past half load, so that most tables have a part that is full.
        let keys = 0..shape.buckets as Number * 3 / 2;
        let stored = keys.take_while(|key| pair.insert(&bytes(*key)).is_ok()).collect::<Vec<_>>();
        for key in stored {
            let cell = placed(&pair, key);
            oracle.cells[cell] = Some(oracle.arriving(cell, Held { key, function: 0 }));
        }
        for query in 100..200 {
            // One collision at a time: of two, each may decide.
            let [cell] = oracle.matches(&oracle.cells, query)[..] else { continue };
            let Some(Held { key, .. }) = oracle.cells[cell] else { continue };
            if agree(&oracle, key, query) {
                continue;
            }
            let plan = planned(&pair, query);
            let unfixable = plan.outcome() == Outcome::Adapted(Adapted::Unfixable);
            assert_eq!(unfixable, is_stuck(&oracle, key), "seed {seed}, {key} in cell {cell}");
            assert!(!unfixable || plan.is_nothing() && plan.writes().is_empty(), "seed {seed}: {plan:?}");
            stuck += u32::from(unfixable);
            moved += u32::from(!unfixable);
            turned += u32::from(!unfixable && oracle.keys().len() > shape.buckets);
        }
    }
    assert!(
        stuck > 1_000 && moved > 1_000 && turned > 100,
        "{stuck} stuck, {moved} moved, {turned} in tables past half"
    );
}
