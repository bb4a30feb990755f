//! The exact cuckoo hash table of 002 section 2.

use super::search::{Path, Resident, Search, Tables};
use super::shape::{Buckets, Shape};
use crate::error::OptionsError;
use crate::hash::HashKey;
use crate::remote::{CellId, Key, Position};
use crate::rng::SplitMix64;
use std::convert::Infallible;

/// How often an insertion that finds no path tries again under a new hash key before it reports `Full`.
const REHASHES: u32 = 4;

/// How a [`CuckooTable`] makes room for a new key.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Insertion {
    /// Finds a path before anything moves.
    Search(Search),
    /// Algorithm 2 of 002: two tables of one cell. The new key takes its second cell if that is free, else its first, and
    /// displaced keys alternate between their two cells, at most `Max = ⌈6 log_{1+δ/2} |T|⌉` times. The table grows when it
    /// passes the load `1/(2 + δ)`.
    Alternating {
        /// δ: how far the table stays below half full; 0.01 to 100.
        slack: f64,
    },
}

/// A hash table of whole keys with d buckets of c cells for each key: worst-case constant look-ups and removals.
///
/// *Cost.* Sixteen bytes per cell, and the keys. A look-up reads at most d buckets. An insertion that finds no path
/// re-hashes the table under a new hash key, O(n), up to four times; at 95 % load of 4×1 or 2×4 and above a thousand keys
/// that is rare.
///
/// *Paper.* 002 section 2: Algorithm 1 is [`CuckooTable::contains`], Algorithm 2 is [`Insertion::Alternating`]; section
/// 2.2 for more tables and cells. 003 section 3 uses such a table as the mirror of a filter's cells:
/// [`Mirror`](crate::remote::Mirror).
///
/// *Departure.* A failed insertion changes nothing: a re-hash is built beside the table and replaces it only when every key
/// has found a cell.
///
/// ```
/// use twiceshy::cuckoo::{CuckooTable, Shape};
/// use twiceshy::hash::HashKey;
///
/// let mut table = CuckooTable::new(Shape::with_cells(4, 1, 1000)?, HashKey::random()?)?;
/// assert!(table.insert(b"owl")?);
/// assert!(!table.insert(b"owl")?, "it was there");
/// assert!(table.contains(b"owl") && !table.contains(b"wren"));
/// assert!(table.remove(b"owl"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CuckooTable {
    shape: Shape,
    hash: HashKey,
    cells: Vec<Option<Key>>,
    len: u64,
    insertion: Insertion,
    rng: SplitMix64,
    rehashes: u64,
    /// The number of keys at which every re-hash failed. From there on `Full` is returned at once.
    full_at: u64,
}

/// The table has no room for another key, under this hash key and several others. Nothing was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the table is full with {len} keys in {cells} cells: grow it, or remove keys")]
pub struct TableFull {
    /// The number of keys.
    pub len: u64,
    /// The number of cells.
    pub cells: u64,
}

/// The walk of Algorithm 2 of 002 for a key. See [`CuckooTable::walk`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The cells in the order of the walk, some of them twice or more often. The key goes to the first, the key there to the
    /// second, …
    pub cells: Vec<CellId>,
    /// `true` if the last cell is free, so that all these keys find room.
    pub ends: bool,
}

impl CuckooTable {
    /// An empty table.
    pub fn new(shape: Shape, hash: HashKey) -> Result<CuckooTable, OptionsError> {
        let no_memory = || OptionsError::Memory { cells: shape.cells(), width: 8 * size_of::<Option<Key>>() as u32 };
        let count = usize::try_from(shape.cells()).map_err(|_| no_memory())?;
        let mut cells = Vec::new();
        cells.try_reserve_exact(count).map_err(|_| no_memory())?;
        cells.resize(count, None);
        Ok(CuckooTable {
            shape,
            hash,
            cells,
            len: 0,
            insertion: Insertion::Search(Search::DEFAULT),
            rng: SplitMix64::for_key(&hash),
            rehashes: 0,
            full_at: shape.cells(),
        })
    }

    /// The table of 002 section 2: two halves of single cells with room for `capacity` keys at load `1/(2 + slack)`.
    /// `slack` is clamped to 0.01 to 100.
    pub fn alternating(capacity: u64, slack: f64, hash: HashKey) -> Result<CuckooTable, OptionsError> {
        let slack = clamp_slack(slack);
        let cells = (capacity.max(1) as f64 * (2.0 + slack)).ceil() as u64;
        let table = CuckooTable::new(Shape::with_cells(2, 1, cells)?, hash)?;
        Ok(CuckooTable { insertion: Insertion::Alternating { slack }, ..table })
    }

    /// Changes how the table makes room. [`Insertion::Alternating`] needs two tables of one cell, and is ignored for other
    /// shapes.
    #[must_use]
    pub fn with_insertion(mut self, insertion: Insertion) -> CuckooTable {
        match insertion {
            Insertion::Alternating { slack } if self.is_two_by_one() => {
                self.insertion = Insertion::Alternating { slack: clamp_slack(slack) }
            }
            Insertion::Alternating { .. } => {}
            Insertion::Search(_) => self.insertion = insertion,
        }
        self
    }

    /// The shape of the table.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The number of keys.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// `true` if the table holds no key.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How often the table took a new hash key on its own.
    pub fn rehashes(&self) -> u64 {
        self.rehashes
    }

    /// The keys, cell by cell.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.cells.iter().flatten().map(|key| &**key)
    }

    /// `true` if `key` is in the table (Algorithm 1).
    pub fn contains(&self, key: &[u8]) -> bool {
        self.find(key).is_some()
    }

    /// The cell that holds `key`.
    pub fn find(&self, key: &[u8]) -> Option<CellId> {
        let buckets = self.buckets_of(key);
        self.shape.cells_of(&buckets).find(|cell| self.at(*cell).is_some_and(|resident| **resident == *key))
    }

    /// The cells that may hold `key`, table by table.
    pub fn cells_of(&self, key: &[u8]) -> impl Iterator<Item = CellId> + use<> {
        self.shape.cells_of(&self.buckets_of(key))
    }

    /// `Max` of Algorithm 2: how many keys an insertion displaces before the table is re-hashed. `None` if the table makes room
    /// in another way than [`Insertion::Alternating`].
    pub fn most_displaced(&self) -> Option<u64> {
        match self.insertion {
            Insertion::Alternating { slack } => Some(self.max(slack)),
            Insertion::Search(_) => None,
        }
    }

    /// The walk of Algorithm 2 for a key that is not stored, with `max` in place of `Max`. Nothing moves. With
    /// [`CuckooTable::most_displaced`] it is the walk that [`CuckooTable::insert`] takes. `None` if the shape is not two tables
    /// of one cell.
    pub fn walk(&self, key: &[u8], max: u64) -> Option<Walk> {
        self.is_two_by_one().then(|| self.alternate(&self.buckets_of(key), max))
    }

    /// Inserts a key; `false` if it was stored already.
    pub fn insert(&mut self, key: &[u8]) -> Result<bool, TableFull> {
        if self.contains(key) {
            return Ok(false);
        }
        let key = Key::from(key);
        if self.over_slack() && self.grow_to(self.shape.cells().saturating_mul(2)) {
            self.rehashes += 1;
        }
        if !self.place(key.clone()) {
            self.rehash_with(key)?;
        }
        Ok(true)
    }

    /// Removes a key; `false` if it was not stored.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let found = self.find(key);
        if let Some(cell) = found {
            self.take(cell);
            self.full_at = self.shape.cells();
        }
        found.is_some()
    }

    /// Moves every key to its cells under another hash key. Fails if they do not fit; then nothing changes.
    pub fn rekey(&mut self, hash: HashKey) -> Result<(), TableFull> {
        self.rebuild(self.shape, hash, None).ok_or(self.full())
    }

    /// Moves every key to a table with at least `cells` cells. Fails if they do not fit.
    pub fn grow(&mut self, cells: u64) -> Result<(), TableFull> {
        if self.grow_to(cells) { Ok(()) } else { Err(self.full()) }
    }

    fn is_two_by_one(&self) -> bool {
        (self.shape.tables(), self.shape.cells_per_bucket()) == (2, 1)
    }

    /// `Max = ⌈6 log_{1+δ/2} |T|⌉`.
    fn max(&self, slack: f64) -> u64 {
        (6.0 * (self.shape.cells() as f64).ln() / (slack / 2.0).ln_1p()).ceil() as u64
    }

    fn grow_to(&mut self, cells: u64) -> bool {
        let (tables, per_bucket) = (self.shape.tables().into(), self.shape.cells_per_bucket().into());
        let grown = Shape::with_cells(tables, per_bucket, cells);
        grown.is_ok_and(|shape| self.rebuild(shape, self.hash, None).is_some())
    }

    fn full(&self) -> TableFull {
        TableFull { len: self.len, cells: self.shape.cells() }
    }

    fn over_slack(&self) -> bool {
        match self.insertion {
            Insertion::Alternating { slack } => (self.len + 1) as f64 * (2.0 + slack) > self.shape.cells() as f64,
            Insertion::Search(_) => false,
        }
    }

    /// The last lines of Algorithm 2: new hash functions, every key again, and the new key.
    fn rehash_with(&mut self, newcomer: Key) -> Result<(), TableFull> {
        if self.len < self.full_at.min(self.shape.cells()) {
            let mut hash = self.hash;
            for _ in 0..REHASHES {
                hash = hash.successor();
                if self.rebuild(self.shape, hash, Some(newcomer.clone())).is_some() {
                    self.rehashes += 1;
                    return Ok(());
                }
            }
            self.full_at = self.len;
        }
        Err(self.full())
    }

    /// Rebuilds the table with another shape or hash key and one more key, if all fit.
    fn rebuild(&mut self, shape: Shape, hash: HashKey, newcomer: Option<Key>) -> Option<()> {
        let mut fresh = CuckooTable { insertion: self.insertion, ..CuckooTable::new(shape, hash).ok()? };
        for key in self.cells.iter().flatten().cloned().chain(newcomer) {
            if !fresh.place(key) {
                return None;
            }
        }
        fresh.rehashes = self.rehashes;
        *self = fresh;
        Some(())
    }

    /// Puts a key that is not in the table into a cell, if a path is found.
    fn place(&mut self, key: Key) -> bool {
        let buckets = self.buckets_of(&key);
        let path = match self.insertion {
            Insertion::Search(search) => {
                let mut rng = self.rng.clone();
                let Ok(path) = search.find(self, &buckets, &mut rng);
                self.rng = rng;
                path
            }
            Insertion::Alternating { slack } => {
                let Walk { cells, ends } = self.alternate(&buckets, self.max(slack));
                ends.then_some(Path(cells))
            }
        };
        let Some(Path(path)) = path else { return false };
        let mut moving = Some(key);
        for CellId(cell) in path {
            std::mem::swap(&mut self.cells[cell as usize], &mut moving);
        }
        self.len += 1;
        true
    }

    /// Lines 2 to 13 of Algorithm 2: nothing moves before the walk is known to end.
    fn alternate(&self, buckets: &Buckets, max: u64) -> Walk {
        let cell = |buckets: &Buckets, table: u8| self.shape.first_cell(table, buckets[usize::from(table)]);
        let second = cell(buckets, 1);
        if self.at(second).is_none() {
            return Walk { cells: vec![second], ends: true };
        }
        let mut cells: Vec<CellId> = Vec::new();
        let mut put: std::collections::HashMap<CellId, Buckets> = std::collections::HashMap::new();
        let mut hold = *buckets;
        for step in 0..=max {
            let index = cell(&hold, (step % 2) as u8);
            cells.push(index);
            let resident = put.insert(index, hold).or_else(|| self.at(index).map(|key| self.buckets_of(key)));
            let Some(displaced) = resident else { return Walk { cells, ends: true } };
            hold = displaced;
        }
        Walk { cells, ends: false }
    }

    fn buckets_of(&self, key: &[u8]) -> Buckets {
        self.shape.buckets_of(&self.hash.words(key))
    }

    /// The key in a cell.
    pub(crate) fn at(&self, CellId(cell): CellId) -> Option<&Key> {
        self.cells.get(cell as usize)?.as_ref()
    }

    /// Empties a cell.
    pub(crate) fn take(&mut self, CellId(cell): CellId) -> Option<Key> {
        let taken = self.cells.get_mut(cell as usize)?.take();
        self.len -= u64::from(taken.is_some());
        taken
    }

    /// Puts a key into an empty cell chosen by the caller: a mirror follows its filter.
    pub(crate) fn put(&mut self, CellId(cell): CellId, key: Key) {
        if let Some(slot) = self.cells.get_mut(cell as usize) {
            self.len += u64::from(slot.is_none());
            *slot = Some(key);
        }
    }

    /// The keys with their words of order 0.
    pub(crate) fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.cells.iter().flatten().map(|key| self.position(key))
    }

    pub(crate) fn position(&self, key: &Key) -> Position {
        Position { word: Shape::order_word(&self.hash.words(key), 0), key: key.clone() }
    }
}

/// Clamps the slack, so that walks end and tables have a size.
fn clamp_slack(slack: f64) -> f64 {
    if slack.is_nan() { 0.01 } else { slack.clamp(0.01, 100.0) }
}

impl Tables for CuckooTable {
    type Error = Infallible;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn is_free(&mut self, cell: CellId) -> Result<bool, Infallible> {
        Ok(self.at(cell).is_none())
    }

    fn resident(&mut self, cell: CellId) -> Result<Resident, Infallible> {
        Ok(self.at(cell).map_or(Resident::NoKey, |key| Resident::At(self.buckets_of(key))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u64) -> [u8; 8] {
        i.to_le_bytes()
    }

    fn fill(mut table: CuckooTable, keys: u64) -> CuckooTable {
        for i in 0..keys {
            assert_eq!(table.insert(&key(i)), Ok(true), "key {i} of {keys}");
        }
        table
    }

    fn holds_exactly(table: &CuckooTable, keys: u64) {
        assert_eq!(table.len(), keys);
        assert!((0..keys).all(|i| table.contains(&key(i))));
        assert!((keys..2 * keys).all(|i| !table.contains(&key(i))));
        assert_eq!(table.keys().count() as u64, keys);
    }

    #[test]
    fn four_by_one_and_two_by_four_reach_95_percent_from_a_thousand_keys_up() {
        for (tables, per_bucket) in [(4, 1), (2, 4)] {
            for (keys, seeds) in [(1_000, 40), (3_000, 10), (30_000, 3)] {
                for seed in 0..seeds {
                    let shape = Shape::with_cells(tables, per_bucket, (keys as f64 / 0.95) as u64).unwrap();
                    holds_exactly(&fill(CuckooTable::new(shape, HashKey::fixed(seed)).unwrap(), keys), keys);
                }
            }
        }
    }

    #[test]
    fn the_random_walk_reaches_95_percent_as_well() {
        let shape = Shape::with_cells(4, 1, 21_053).unwrap();
        let walk = Insertion::Search(Search::RandomWalk { steps: 5_000 });
        holds_exactly(&fill(CuckooTable::new(shape, HashKey::fixed(1)).unwrap().with_insertion(walk), 20_000), 20_000);
    }

    #[test]
    fn above_the_possible_load_insert_fails_and_nothing_changes() {
        for (tables, per_bucket) in [(2, 1), (4, 1), (2, 4)] {
            let shape = Shape::with_cells(tables, per_bucket, 200).unwrap();
            let mut table = CuckooTable::new(shape, HashKey::fixed(2)).unwrap();
            // In small tables one key may find room although another does not.
            let mut inserted = 0;
            for i in 1000..2000 {
                let before = table.cells.clone();
                match table.insert(&key(i)) {
                    Ok(_) => inserted += 1,
                    Err(full) => {
                        assert_eq!(full, TableFull { len: inserted, cells: shape.cells() });
                        assert_eq!(table.cells, before);
                    }
                }
            }
            assert!(inserted <= 200 && table.keys().all(|key| table.contains(key)));
            let mut table = CuckooTable::new(shape, HashKey::fixed(2)).unwrap();
            let inserted = (0..).find(|i| table.insert(&key(*i)).is_err()).unwrap();
            holds_exactly(&table, inserted);
            assert!(table.remove(&key(0)) && !table.remove(&key(0)));
            table.grow(400).unwrap();
            assert_eq!(table.insert(&key(0)), Ok(true));
            holds_exactly(&table, inserted);
        }
    }

    #[test]
    fn algorithm_2_keeps_its_load_below_one_half_by_growing() {
        let table = fill(CuckooTable::alternating(10, 0.2, HashKey::fixed(3)).unwrap(), 5_000);
        holds_exactly(&table, 5_000);
        assert!(table.len() as f64 / table.shape().cells() as f64 <= 1.0 / 2.2);
    }

    #[test]
    fn an_absurd_slack_still_terminates() {
        for slack in [0.0, -1.0, f64::NAN, f64::MIN_POSITIVE, f64::INFINITY] {
            holds_exactly(&fill(CuckooTable::alternating(50, slack, HashKey::fixed(7)).unwrap(), 200), 200);
        }
    }

    #[test]
    fn a_table_too_large_for_memory_is_refused() {
        let shape = Shape::new(8, 1 << 32, 8).unwrap();
        assert!(matches!(CuckooTable::new(shape, HashKey::fixed(1)), Err(OptionsError::Memory { .. })));
    }

    #[test]
    fn algorithm_2_rehashes_when_a_walk_passes_max() {
        // Tiny tables often have bad configurations: every key must survive the new hash functions.
        let rehashes: u64 = (0..200)
            .map(|seed| {
                let table = fill(CuckooTable::alternating(12, 0.1, HashKey::fixed(seed)).unwrap(), 12);
                holds_exactly(&table, 12);
                table.rehashes()
            })
            .sum();
        assert!(rehashes > 0);
    }

    #[test]
    fn a_walk_tells_the_cells_that_an_insertion_then_uses() {
        let mut table = CuckooTable::alternating(500, 0.2, HashKey::fixed(8)).unwrap();
        let mut longest = 0;
        for i in 0..500 {
            let walk = table.walk(&key(i), table.most_displaced().unwrap()).unwrap();
            let before = table.cells.clone();
            table.insert(&key(i)).unwrap();
            assert_eq!(walk.ends, table.rehashes() == 0, "a re-hash if and only if the walk does not end");
            if !walk.ends {
                return;
            }
            let changed = |cell: &usize| before[*cell] != table.cells[*cell];
            let known: Vec<u64> = walk.cells.iter().map(|cell| cell.0).collect();
            assert!((0..before.len()).filter(changed).all(|cell| known.contains(&(cell as u64))));
            assert!(table.cells_of(&key(i)).any(|cell| Some(cell) == table.find(&key(i))));
            let short = table.walk(&key(1_000 + i), 1).unwrap();
            assert!(short.cells.len() <= 2, "one key displaced at most");
            longest = longest.max(known.len());
        }
        assert!(longest > 3);
        let other = CuckooTable::new(Shape::with_cells(4, 1, 100).unwrap(), HashKey::fixed(8)).unwrap();
        assert_eq!((other.walk(&key(1), 9), other.most_displaced()), (None, None));
    }

    #[test]
    fn breadth_first_paths_are_shorter_than_random_walks() {
        let shape = Shape::with_cells(4, 1, 4_000).unwrap();
        let mut table = fill(CuckooTable::new(shape, HashKey::fixed(4)).unwrap(), 3_780);
        let mut rng = SplitMix64::from_state(5);
        let (mut shortest, mut random) = (0, 0);
        for i in 10_000..10_300u64 {
            let buckets = table.buckets_of(&key(i));
            let Ok(path) = Search::DEFAULT.find(&mut table, &buckets, &mut rng);
            shortest += path.unwrap().0.len();
            let Ok(path) = Search::RandomWalk { steps: 5_000 }.find(&mut table, &buckets, &mut rng);
            random += path.unwrap().0.len();
        }
        assert!(shortest * 2 < random, "{shortest} against {random}");
    }

    #[test]
    fn rekeying_and_a_failed_growth_keep_every_key() {
        let shape = Shape::with_cells(4, 1, 1_000).unwrap();
        let mut table = fill(CuckooTable::new(shape, HashKey::fixed(6)).unwrap(), 900);
        table.rekey(HashKey::fixed(7)).unwrap();
        holds_exactly(&table, 900);
        assert!(table.grow(500).is_err());
        holds_exactly(&table, 900);
    }
}
