//! Random operations on a filter and its oracle.

use super::oracle::{Cell, Cells, Held, Number, Oracle, bytes};
use twiceshy::AdaptiveFilter;
use twiceshy::error::Error;
use twiceshy::filter::{Adapted, Backed};
use twiceshy::remote::{CellId, Mirror};

/// The rule of a filter: what its cells may hold after it was wrong about a query that collides with these cells.
pub(crate) trait Rule {
    /// All results that the paper allows.
    fn allowed(&self, oracle: &Oracle, query: Number, colliding: &[Cell]) -> Vec<Cells>;

    /// `true` if this stored key and the query agree in everything that the filter can change.
    fn hopeless(&self, oracle: &Oracle, key: Number, query: Number) -> bool;
}

/// What happened in a game, so that a test can tell that its rule was at work.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) mistakes: u64,
    /// Mistakes that collided with several cells.
    pub(crate) several: u64,
    /// Mistakes after which the query still matched.
    pub(crate) still_present: u64,
    /// Mistakes that changed nothing.
    pub(crate) unchanged: u64,
    /// The most cells that one mistake gave another key or function.
    pub(crate) most_changed: usize,
    /// Keys that an insertion moved, and those of them whose function was not the first.
    pub(crate) kicked: u64,
    pub(crate) kicked_later: u64,
}

/// Pseudo-random numbers from a seed.
pub(crate) fn numbers(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

/// Queries after each change of the set.
const QUERIES: u32 = 12;

/// How to play.
pub(crate) struct Game {
    /// Stored keys are below this number, queries from here to the oracle's universe.
    pub(crate) keys: Number,
    /// Keys are inserted until the table has this many, and replaced after that.
    pub(crate) full: usize,
    pub(crate) steps: u64,
    pub(crate) seed: u64,
}

impl Game {
    /// Plays. Calls `watch` with the oracle as it was before each mistake, the cell of the first collision and the cells
    /// after it.
    pub(crate) fn play<F: Backed>(
        &self,
        mut pair: AdaptiveFilter<F, Mirror>,
        mut oracle: Oracle,
        rule: &impl Rule,
        mut watch: impl FnMut(&Oracle, Cell, &Cells),
    ) -> Seen {
        let mut draw = numbers(self.seed);
        let mut seen = Seen::default();
        for step in 0..self.steps {
            let stored = oracle.keys();
            if stored.len() < self.full {
                let key = draw(u64::from(self.keys)) as Number;
                insert(&mut pair, &mut oracle, key, &mut seen);
            } else if draw(4) == 0 {
                let key = stored[draw(stored.len() as u64) as usize];
                assert!(pair.remove(&bytes(key)).expect("the mirror does not fail"), "step {step}");
                let cell = oracle.cell_of(key).expect("it is stored");
                oracle.cells[cell] = None;
            }
            for _ in 0..QUERIES {
                let query = self.keys + draw(u64::from(oracle.universe() - self.keys)) as Number;
                let colliding = oracle.matches(&oracle.cells, query);
                if let Some(first) = colliding.first() {
                    let after = mistake(&mut pair, &oracle, rule, query, &colliding, &mut seen);
                    watch(&oracle, *first, &after);
                    oracle.cells = after;
                }
            }
            agree(&pair, &oracle, step);
        }
        pair.validate().expect("every key has a cell of its own");
        seen
    }
}

/// The cell of every key that the oracle stores, by the mirror.
pub(crate) fn placed<F: Backed>(pair: &AdaptiveFilter<F, Mirror>, key: Number) -> Cell {
    let table = pair.remote().table().expect("the filter has made one");
    let CellId(cell) = table.find(&bytes(key)).expect("a stored key has a cell");
    cell as Cell
}

/// Where an insertion finds room is not a rule of adapting: the oracle takes the cells from the mirror, and says what the
/// keys that moved are stored under.
fn insert<F: Backed>(pair: &mut AdaptiveFilter<F, Mirror>, oracle: &mut Oracle, key: Number, seen: &mut Seen) {
    let is_new = match pair.insert(&bytes(key)) {
        Ok(is_new) => is_new,
        Err(Error::Full { .. }) => return,
        Err(error) => panic!("the mirror does not fail: {error}"),
    };
    assert_eq!(is_new, oracle.cell_of(key).is_none());
    if !is_new {
        return;
    }
    let before = std::mem::take(&mut oracle.cells);
    let mut cells = vec![None; before.len()];
    let old = before.iter().enumerate().filter_map(|(cell, held)| held.map(|held| (Some(cell), held)));
    for (from, held) in old.chain([(None, Held { key, function: 0 })]) {
        let cell = placed(pair, held.key);
        let taken = cells[cell].replace(oracle.arriving(cell, held));
        assert_eq!(taken, None, "two keys in cell {cell}");
        if from.is_some_and(|from| from != cell) {
            seen.kicked += 1;
            seen.kicked_later += u64::from(held.function > 0);
        }
    }
    oracle.cells = cells;
}

/// Tells the filter of a mistake. The result is the one of the allowed that puts the keys where the filter has put them.
fn mistake<F: Backed>(
    pair: &mut AdaptiveFilter<F, Mirror>,
    oracle: &Oracle,
    rule: &impl Rule,
    query: Number,
    colliding: &[Cell],
    seen: &mut Seen,
) -> Cells {
    let said = pair.was_wrong(&bytes(query)).expect("the mirror does not fail");
    let is_seen = |cells: &Cells| {
        let mut held = cells.iter().enumerate().filter_map(|(cell, held)| held.map(|held| (cell, held)));
        held.all(|(cell, held)| placed(pair, held.key) == cell)
    };
    let after = rule.allowed(oracle, query, colliding).into_iter().find(is_seen);
    let after = after.expect("the keys are in cells that the paper does not allow");

    let moved = |(before, after): (&Option<Held>, &Option<Held>)| after.is_some_and(|after| Some(after) != *before);
    seen.most_changed = seen.most_changed.max(oracle.cells.iter().zip(&after).filter(|pair| moved(*pair)).count());
    seen.mistakes += 1;
    seen.several += u64::from(colliding.len() > 1);
    seen.unchanged += u64::from(after == oracle.cells);
    let is_present = !oracle.matches(&after, query).is_empty();
    seen.still_present += u64::from(is_present);

    let owners = colliding.iter().filter_map(|cell| oracle.cells[*cell]);
    let is_hopeless = owners.into_iter().any(|held| rule.hopeless(oracle, held.key, query));
    // Whether a query is hopeless is told by the keys that the filter tried to move, which may not be all of them.
    match said {
        Adapted::Fixed => assert!(!is_present),
        Adapted::Unfixable => assert!(is_present && is_hopeless),
        Adapted::StillPresent => assert!(is_present),
        other => panic!("{other:?} about a query that is not stored"),
    }
    after
}

/// The same cells match, for every stored key and every query.
fn agree<F: Backed>(pair: &AdaptiveFilter<F, Mirror>, oracle: &Oracle, step: u64) {
    for number in 0..oracle.universe() {
        let found: Vec<Cell> = pair.filter().lookup(&bytes(number)).iter().map(|place| place.cell.0 as Cell).collect();
        assert_eq!(found, oracle.matches(&oracle.cells, number), "the cells that match {number} after step {step}");
    }
}
