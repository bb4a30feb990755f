//! Searching a path to a free cell, breadth-first or at random.
//!
//! Both searches only read; nothing changes before a path is known. They see the tables through [`Tables`], so the exact
//! hash table and the filters' plans share them.

use super::shape::{Buckets, Shape};
use crate::error::OptionsError;
use crate::remote::CellId;
use crate::rng::SplitMix64;
use std::collections::{HashMap, HashSet};

/// The largest bound of a search or walk. It limits their memory to tens of megabytes, whatever a file or a caller asks
/// for.
pub(crate) const MOST_STEPS: u32 = 1 << 20;

/// Tables as a search sees them.
pub(crate) trait Tables {
    /// The error of a failed read.
    type Error;

    /// The shape of the tables.
    fn shape(&self) -> Shape;

    /// `true` if the cell is free.
    fn is_free(&mut self, cell: CellId) -> Result<bool, Self::Error>;

    /// The occupant of a cell that is not free.
    fn resident(&mut self, cell: CellId) -> Result<Resident, Self::Error>;

    /// `true` if the key in a cell must not move to another one.
    fn is_barred(&mut self, from: CellId, to: CellId) -> Result<bool, Self::Error> {
        let _ = (from, to);
        Ok(false)
    }
}

/// What a search finds in a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Resident {
    /// A key with these buckets.
    At(Buckets),
    /// A fingerprint that belongs to no key: as good as a free cell.
    NoKey,
    /// The owner cannot be determined: the path must avoid this cell.
    Unknown,
}

/// The cells of a kick path: the new key goes to the first, the key there to the second, …, and the last is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<CellId>);

/// How an insertion looks for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Shortest path first. Visits up to `cells` cells.
    BreadthFirst {
        /// The most cells whose owner is looked up.
        cells: u32,
    },
    /// The random walk of 003 section 2.1: a random cell of the key, then of the displaced key's other tables, …
    RandomWalk {
        /// The most keys that a walk displaces.
        steps: u32,
    },
}

impl Search {
    /// Breadth-first over at most 5,000 cells. At 95 % load of 4×1 tables the median search visits a dozen.
    pub const DEFAULT: Search = Search::BreadthFirst { cells: 5_000 };

    /// Returns an error for a bound that is 0 or too large.
    pub(crate) fn check(self) -> Result<(), OptionsError> {
        let (Search::BreadthFirst { cells: bound } | Search::RandomWalk { steps: bound }) = self;
        if (1..=MOST_STEPS).contains(&bound) {
            return Ok(());
        }
        let why = "the bound of a search must be 1 to 1048576 cells or steps (the default is 5000)";
        Err(OptionsError::Bound(why))
    }

    /// A path for a new key with these buckets; `None` if the bound is too small to find one.
    pub(crate) fn find<T: Tables>(
        self,
        tables: &mut T,
        buckets: &Buckets,
        rng: &mut SplitMix64,
    ) -> Result<Option<Path>, T::Error> {
        match self {
            Search::BreadthFirst { cells } => breadth_first(tables, buckets, |_| true, cells),
            Search::RandomWalk { steps } => random_walk(tables, buckets, steps, rng),
        }
    }
}

/// The shortest path from one of the new key's `allowed` cells to a free cell.
pub(crate) fn breadth_first<T: Tables>(
    tables: &mut T,
    buckets: &Buckets,
    allowed: impl Fn(CellId) -> bool,
    budget: u32,
) -> Result<Option<Path>, T::Error> {
    let shape = tables.shape();
    // A node is a cell, with the node whose key moves into it.
    let mut nodes: Vec<(CellId, Option<usize>)> = Vec::new();
    let mut seen: HashSet<CellId> = HashSet::new();
    for cell in shape.cells_of(buckets).filter(|cell| allowed(*cell)) {
        if tables.is_free(cell)? {
            return Ok(Some(Path(vec![cell])));
        }
        if seen.insert(cell) {
            nodes.push((cell, None));
        }
    }
    for at in 0..budget as usize {
        let Some(&(cell, _)) = nodes.get(at) else { break };
        let home = match tables.resident(cell)? {
            Resident::At(home) => home,
            Resident::NoKey => return Ok(Some(path_to_last(&nodes[..=at]))),
            Resident::Unknown => continue,
        };
        let table = shape.spot(cell).table;
        for next in shape.cells_of(&home) {
            // The other cells of a bucket were reached with it, unless buckets overlap.
            if !shape.overlaps() && shape.spot(next).table == table {
                continue;
            }
            if !allowed(next) || seen.contains(&next) || tables.is_barred(cell, next)? || !seen.insert(next) {
                continue;
            }
            nodes.push((next, Some(at)));
            if tables.is_free(next)? {
                return Ok(Some(path_to_last(&nodes)));
            }
        }
    }
    Ok(None)
}

/// The path that ends in the last node.
fn path_to_last(nodes: &[(CellId, Option<usize>)]) -> Path {
    let mut cells = Vec::new();
    let mut at = nodes.len().checked_sub(1);
    while let Some((cell, parent)) = at.and_then(|at| nodes.get(at)) {
        cells.push(*cell);
        at = *parent;
    }
    cells.reverse();
    Path(cells)
}

/// A walk that puts each displaced key into a random cell of another of its tables, unless one of its cells is free. If it
/// returns to a cell, it finds the key that it put there.
fn random_walk<T: Tables>(
    tables: &mut T,
    buckets: &Buckets,
    steps: u32,
    rng: &mut SplitMix64,
) -> Result<Option<Path>, T::Error> {
    let shape = tables.shape();
    let mut path: Vec<CellId> = Vec::new();
    let mut put: HashMap<CellId, Buckets> = HashMap::new();
    let mut moving = *buckets;
    for _ in 0..=steps {
        let left = path.last().map(|cell| shape.spot(*cell).table);
        for cell in shape.cells_of(&moving) {
            if !put.contains_key(&cell) && tables.is_free(cell)? {
                path.push(cell);
                return Ok(Some(Path(path)));
            }
        }
        let others = u64::from(shape.tables()) - u64::from(left.is_some() && !shape.overlaps());
        let mut table = rng.below(others) as u8;
        table += u8::from(left.is_some_and(|left| table >= left && !shape.overlaps()));
        let first = shape.first_cell(table, moving[usize::from(table)]);
        let cell = CellId(first.0 + rng.below(u64::from(shape.cells_per_bucket())));
        if path.last() == Some(&cell) {
            // Where buckets overlap, a key may stay in its table, but not in its cell.
            continue;
        }
        let resident = match put.get(&cell) {
            Some(own) => Resident::At(*own),
            None => tables.resident(cell)?,
        };
        let displaced = match resident {
            Resident::At(displaced) => Some(displaced),
            Resident::NoKey => None,
            // The next step draws another cell.
            Resident::Unknown => continue,
        };
        path.push(cell);
        put.insert(cell, moving);
        match displaced {
            Some(displaced) => moving = displaced,
            None => return Ok(Some(Path(path))),
        }
    }
    Ok(None)
}
