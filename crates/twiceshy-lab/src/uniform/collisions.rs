//! The collisions of absent keys with stored ones, under every fingerprint function.

use twiceshy::cuckoo::{CuckooTable, FullKeyCuckoo, Function, Rule};
use twiceshy::filter::{Backed, Filter};
use twiceshy::remote::CellId;

/// Which absent keys collide with which stored key, under which fingerprint function.
///
/// Stored keys are named by their cells. Absent keys without any collision that could ever matter are left out; the others
/// are numbered from 0.
///
/// With narrow cells and many absent keys the lists are far larger than the cache, and a replay goes through them at random: so
/// it takes no step through memory that it can do without.
#[derive(Clone, Debug, Default)]
pub struct Collisions {
    functions: usize,
    cells: usize,
    /// The absent keys that collide, by stored key and function: `queries[starts[i]..starts[i + 1]]`, where i is the key
    /// times the number of functions plus the function.
    starts: Vec<u32>,
    queries: Vec<Query>,
    /// The same by absent key: `pairs[ends[n − 1]..ends[n]]`, each the number i, the last with [`LAST`].
    ends: Vec<u32>,
    pairs: Vec<u32>,
}

/// An absent key that collides: where its pairs begin, and [`ALONE`] if it has only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Query(u32);

/// Marks a query with one pair only.
const ALONE: u32 = 1 << 31;

/// Marks the last pair of a query.
const LAST: u32 = 1 << 31;

impl Query {
    /// `true` if it can collide with one stored key only, under one function.
    pub(super) fn is_alone(self) -> bool {
        self.0 & ALONE != 0
    }

    fn first_pair(self) -> usize {
        (self.0 & !ALONE) as usize
    }
}

/// Keys that are looked up together.
const BATCH: usize = 1024;

impl Collisions {
    /// Counts the collisions of `count` absent keys with the keys of a filled filter, whose table has its cells.
    /// `numbered` gets the number of each absent key that is kept, in order.
    ///
    /// There may be up to 2³¹ pairs, and as many cells times functions, which would take tens of gigabytes.
    ///
    /// A key moves only if a query collides with it or, in Swapping, with another key of its bucket. So only buckets matter
    /// that some query matches at the beginning.
    pub fn counted<R: Rule>(
        filter: &FullKeyCuckoo<R>,
        table: &CuckooTable,
        functions: u8,
        count: u32,
        absent: impl Fn(u32) -> [u8; 8],
        mut numbered: impl FnMut(u32),
    ) -> Collisions {
        let cells = filter.cells() as usize;
        let per_bucket = usize::from(filter.shape().cells_per_bucket());
        let watched = watched(filter, per_bucket, count, &absent);
        let values = values(filter, table, functions, &watched, per_bucket);
        let mut collisions = Collisions { functions: functions.into(), cells, ..Collisions::default() };
        for number in 0..count {
            let key = absent(number);
            let mut own = [0u32; 32];
            let mut known = false;
            let before = collisions.pairs.len();
            for CellId(cell) in filter.cells_of(&key).filter(|CellId(cell)| watched[*cell as usize / per_bucket]) {
                if !known {
                    (0..functions)
                        .for_each(|function| own[usize::from(function)] = filter.value_of(&key, Function(function)));
                    known = true;
                }
                let first = cell as usize * usize::from(functions);
                let stored = &values[first..first + usize::from(functions)];
                for (function, _) in stored.iter().zip(&own).enumerate().filter(|(_, (stored, own))| stored == own) {
                    collisions.pairs.push((first + function) as u32);
                }
            }
            if collisions.pairs.len() > before {
                collisions.pairs.last_mut().into_iter().for_each(|last| *last |= LAST);
                collisions.ends.push(collisions.pairs.len() as u32);
                numbered(number);
            }
        }
        collisions.sorted()
    }

    /// The collisions of the first of these absent keys alone.
    pub fn of_first(&self, keys: usize) -> Collisions {
        let ends = self.ends[..keys.min(self.ends.len())].to_vec();
        let pairs = self.pairs[..ends.last().copied().unwrap_or(0) as usize].to_vec();
        Collisions { functions: self.functions, cells: self.cells, ends, pairs, ..Collisions::default() }.sorted()
    }

    /// Turns the pairs by absent key around.
    fn sorted(mut self) -> Collisions {
        self.starts = vec![0; self.cells * self.functions + 1];
        self.pairs.iter().for_each(|pair| self.starts[(pair & !LAST) as usize + 1] += 1);
        for at in 1..self.starts.len() {
            self.starts[at] += self.starts[at - 1];
        }
        self.queries = vec![Query::default(); self.pairs.len()];
        let mut next = self.starts.clone();
        for number in 0..self.ends.len() as u32 {
            let query = self.query(number);
            for pair in query.first_pair()..self.ends[number as usize] as usize {
                let at = &mut next[(self.pairs[pair] & !LAST) as usize];
                self.queries[*at as usize] = query;
                *at += 1;
            }
        }
        self
    }

    /// The absent key of this number.
    pub(super) fn query(&self, number: u32) -> Query {
        let first = if number == 0 { 0 } else { self.ends[number as usize - 1] };
        Query(if self.ends[number as usize] == first + 1 { first | ALONE } else { first })
    }

    /// The number of an absent key.
    #[cfg(test)]
    pub(super) fn number_of(&self, query: Query) -> u32 {
        self.ends.partition_point(|end| *end as usize <= query.first_pair()) as u32
    }

    /// The number of fingerprint functions.
    pub fn functions(&self) -> usize {
        self.functions
    }

    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// The number of absent keys with a collision.
    pub fn keys(&self) -> usize {
        self.ends.len()
    }

    /// The absent keys that collide with a stored key under a function.
    pub(super) fn of(&self, key: u32, function: u8) -> &[Query] {
        let at = key as usize * self.functions + usize::from(function);
        &self.queries[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// The stored keys that an absent key collides with, each with the function under which it does.
    pub(super) fn with(&self, query: Query) -> impl Iterator<Item = (u32, u8)> {
        let functions = self.functions as u32;
        let mut is_last = false;
        self.pairs[query.first_pair()..]
            .iter()
            .take_while(move |pair| !std::mem::replace(&mut is_last, **pair & LAST != 0))
            .map(move |pair| ((pair & !LAST) / functions, ((pair & !LAST) % functions) as u8))
    }
}

/// The buckets in which some absent key matches now.
fn watched<R: Rule>(
    filter: &FullKeyCuckoo<R>,
    per_bucket: usize,
    count: u32,
    absent: &impl Fn(u32) -> [u8; 8],
) -> Vec<bool> {
    let mut watched = vec![false; filter.cells() as usize / per_bucket];
    let mut found = [false; BATCH];
    for first in (0..count).step_by(BATCH) {
        let keys: Vec<[u8; 8]> = (first..count.min(first + BATCH as u32)).map(absent).collect();
        let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        filter.contains_batch(&slices, &mut found);
        for (key, _) in keys.iter().zip(&found).filter(|(_, found)| **found) {
            for place in filter.lookup(key) {
                watched[place.cell.0 as usize / per_bucket] = true;
            }
        }
    }
    watched
}

/// What each function makes of the key of each cell; 0 for empty cells and buckets that are not watched.
fn values<R: Rule>(
    filter: &FullKeyCuckoo<R>,
    table: &CuckooTable,
    functions: u8,
    watched: &[bool],
    per_bucket: usize,
) -> Vec<u32> {
    let mut values = vec![0; filter.cells() as usize * usize::from(functions)];
    for key in table.keys() {
        if let Some(CellId(cell)) = table.find(key).filter(|cell| watched[cell.0 as usize / per_bucket]) {
            let own = values.chunks_mut(functions.into()).nth(cell as usize).unwrap_or_default();
            own.iter_mut().zip(0..).for_each(|(value, function)| *value = filter.value_of(key, Function(function)));
        }
    }
    values
}
