//! L: the bits of a full-key cuckoo filter, and the answers that need nothing else.

use super::exceptions::{Bits, Exceptions};
use super::fingerprint::{Function, Prints, Rule};
use super::shape::{Bucket, Buckets, FIRST_BUCKETS, Shape, Spot};
use super::usual::{Look, Usual};
use crate::batch;
use crate::hash::{HashKey, Words, with_words};
use crate::packed::PackedCells;
use crate::packed::lanes::Lanes;
use crate::remote::{CellId, Generation, Key, OrderWords, Place, Schema};

/// The value of an empty cell.
pub(crate) const EMPTY: u32 = 0;

/// One table of fingerprints under one hash key.
#[derive(Clone, Debug)]
pub(crate) struct Local<R> {
    pub(crate) shape: Shape,
    pub(crate) hash: HashKey,
    pub(crate) rule: R,
    pub(crate) cells: PackedCells,
    /// The cells of a bucket, if they are compared all at once.
    pub(crate) lanes: Option<Lanes>,
    /// The numbers of a shape whose look-ups have their own code.
    pub(super) usual: Option<Usual>,
    pub(crate) generation: Generation,
    /// The number of stored keys.
    pub(crate) keys: u64,
    /// The number of fingerprints left behind by removals.
    pub(crate) orphans: u64,
    /// Queries that are absent whatever the cells say.
    pub(crate) exceptions: Exceptions,
}

/// A key with its buckets under the hash key of one L.
#[derive(Debug, PartialEq, Eq)]
pub struct Located {
    pub(crate) key: Key,
    pub(crate) buckets: Buckets,
}

/// The cells of a query that hold its fingerprint: bit `table · c + cell` of `hits`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hits {
    pub(crate) buckets: Buckets,
    pub(crate) hits: u64,
}

impl<R: Rule> Local<R> {
    pub(crate) fn schema(&self) -> Schema {
        Schema {
            hash: self.hash,
            orders: self.shape.tables(),
            cells: self.shape.cells(),
            cells_per_bucket: self.shape.cells_per_bucket(),
        }
    }

    pub(crate) fn order_words(&self, key: &[u8]) -> OrderWords {
        self.shape.order_words(&self.hash.words(key))
    }

    /// An empty table; `None` if it cannot be allocated.
    pub(crate) fn new(shape: Shape, width: u32, hash: HashKey, rule: R, generation: Generation) -> Option<Local<R>> {
        Some(Local::over(shape, hash, rule, PackedCells::new(shape.cells(), width)?, generation))
    }

    /// A table of these cells, without keys.
    pub(crate) fn over(shape: Shape, hash: HashKey, rule: R, cells: PackedCells, generation: Generation) -> Local<R> {
        let (width, per_bucket) = (cells.width(), u32::from(shape.cells_per_bucket()));
        let lanes = match shape.overlaps() {
            true => (per_bucket <= Lanes::anywhere(width)).then(|| Lanes::new(width, per_bucket)),
            false => Lanes::of_bucket(width, per_bucket),
        };
        let lanes = lanes.filter(|_| R::BY_SPOT && shape.cells_per_bucket() > 1);
        let usual = Usual::new(shape, width, &rule);
        let exceptions = Exceptions::default();
        Local { shape, hash, rule, cells, lanes, usual, generation, keys: 0, orphans: 0, exceptions }
    }

    #[inline(always)]
    fn prints<'k>(&self, words: Words<'k>) -> Prints<'k> {
        Prints::new(words, self.shape.words_for_buckets(), self.cells.width())
    }

    /// All cells that match `key`: none if it is an exception.
    #[inline]
    pub(crate) fn hits(&self, key: &[u8]) -> Hits {
        let found = self.hits_in_cells(key);
        if found.hits != 0 && self.is_exception(key) { Hits { hits: 0, ..found } } else { found }
    }

    /// `true` if the key is answered *absent* whatever the cells say.
    #[inline(always)]
    pub(crate) fn is_exception(&self, key: &[u8]) -> bool {
        R::LISTS && !self.exceptions.is_empty() && self.is_listed(key)
    }

    #[inline(never)]
    fn is_listed(&self, key: &[u8]) -> bool {
        self.exceptions.contains(Bits::of(&self.hash.words(key)))
    }

    /// All cells that match `key`.
    #[inline]
    fn hits_in_cells(&self, key: &[u8]) -> Hits {
        // The usual shapes have their own code, with the loops unrolled.
        match (self.shape.tables(), self.shape.cells_per_bucket()) {
            (4, 1) => self.hits_in(key, 4, 1),
            (2, 4) => self.hits_in(key, 2, 4),
            (tables, cells) => self.hits_in(key, tables, cells),
        }
    }

    #[inline(always)]
    fn hits_in(&self, key: &[u8], tables: u8, cells_per_bucket: u8) -> Hits {
        let words = self.hash.words(key);
        let buckets = self.shape.buckets_in(&words, tables);
        let hits = self.hits_at(&buckets, self.prints(words), tables, cells_per_bucket);
        Hits { buckets, hits }
    }

    #[inline(always)]
    fn hits_at(&self, buckets: &Buckets, mut prints: Prints<'_>, tables: u8, cells_per_bucket: u8) -> u64 {
        let (mut hits, mut bit) = (0, 1);
        for table in 0..tables {
            let bucket = buckets[usize::from(table)].0;
            let overlaps = R::OVERLAPS && self.shape.overlaps();
            let first = match overlaps {
                true => self.shape.first_cell(table, Bucket(bucket)).0,
                false => (u64::from(table) * self.shape.buckets() + bucket) * u64::from(cells_per_bucket),
            };
            for cell in 0..cells_per_bucket {
                let value = self.cells.get(first + u64::from(cell));
                let spot = if overlaps { self.shape.spot_in(table, CellId(first), cell) } else { Spot { table, cell } };
                let function = self.rule.function(spot, value);
                // An empty cell matches nothing: no function takes its value.
                hits |= if prints.value(function, self.rule.values(function)) == value { bit } else { 0 };
                bit <<= 1;
            }
        }
        hits
    }

    /// `true` if any cell matches `key`.
    #[inline]
    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        let found = match &self.usual {
            Some(usual) if usual.is_own::<R>() => self.look(usual).contains_in_own_form(key),
            _ => self.contains_in_any_shape(key),
        };
        // A branch on the list is foreseen, one on the answer is not.
        if R::LISTS && !self.exceptions.is_empty() {
            return found && !self.is_listed(key);
        }
        found
    }

    #[inline(always)]
    fn look<'a>(&'a self, usual: &'a Usual) -> Look<'a, R> {
        Look { usual, hash: &self.hash, rule: &self.rule, cells: &self.cells }
    }

    /// Not inlined, so that it takes no registers from the usual look-ups.
    #[inline(never)]
    fn contains_in_any_shape(&self, key: &[u8]) -> bool {
        match &self.usual {
            Some(usual) => self.look(usual).contains(key),
            None => self.contains_one_by_one(key),
        }
    }

    /// Without exceptions.
    pub(super) fn contains_one_by_one(&self, key: &[u8]) -> bool {
        with_words!(self.hash, key, |words| {
            let buckets = self.shape.buckets_of(&words);
            self.any_at(&buckets, self.prints(words))
        })
    }

    /// `true` if any cell in these buckets matches.
    fn any_at(&self, buckets: &Buckets, mut prints: Prints<'_>) -> bool {
        let (tables, cells_per_bucket) = (self.shape.tables(), self.shape.cells_per_bucket());
        let Some(lanes) = self.lanes else {
            return self.hits_at(buckets, prints, tables, cells_per_bucket) != 0;
        };
        let mut equal = 0;
        for table in 0..tables {
            let first = self.shape.first_cell(table, buckets[usize::from(table)]).0;
            let value = |cell| {
                let function = self.rule.function(self.shape.spot_in(table, CellId(first), cell), EMPTY);
                u64::from(prints.value(function, self.rule.values(function))) << (u32::from(cell) * self.cells.width())
            };
            let wanted = (0..cells_per_bucket).map(value).fold(0, |all, value| all | value);
            equal |= lanes.equal(self.cells.word_at(first), wanted);
        }
        equal != 0
    }

    /// Requests the memory of a look-up.
    #[inline]
    pub(crate) fn prefetch(&self, key: &[u8]) {
        self.request(&self.shape.buckets_of(&self.hash.words(key)), self.shape.tables());
    }

    #[inline(always)]
    pub(crate) fn request(&self, buckets: &Buckets, tables: u8) {
        for table in 0..tables {
            self.cells.prefetch(self.shape.first_cell(table, buckets[usize::from(table)]).0);
        }
    }

    /// Whether any cell matches each key, unless it is an exception.
    pub(crate) fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        self.match_batch(keys, found);
        if R::LISTS && !self.exceptions.is_empty() {
            found.iter_mut().zip(keys).for_each(|(found, key)| *found = *found && !self.is_listed(key));
        }
    }

    fn match_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        if let Some(usual) = &self.usual {
            return self.look(usual).contains_batch(keys, found);
        }
        let prepare = |key: &[u8]| {
            let words = self.hash.words(key);
            let buckets = self.shape.buckets_of(&words);
            self.request(&buckets, self.shape.tables());
            (buckets, words.word(self.shape.words_for_buckets()))
        };
        let answer = |key: &[u8], (buckets, first): (Buckets, u64)| {
            let (words, base) = (self.hash.words(key), self.shape.words_for_buckets());
            self.any_at(&buckets, Prints::with_first(words, base, self.cells.width(), first))
        };
        batch::in_groups(keys, found, (FIRST_BUCKETS, 0), prepare, answer);
    }

    /// The cells behind hits.
    pub(crate) fn cells_hit(&self, found: &Hits) -> impl Iterator<Item = CellId> + use<R> {
        let hits = found.hits;
        self.shape
            .cells_of(&found.buckets)
            .enumerate()
            .filter(move |(bit, _)| hits >> bit & 1 == 1)
            .map(|(_, cell)| cell)
    }

    pub(crate) fn locate(&self, key: Key) -> Located {
        let buckets = self.shape.buckets_of(&self.hash.words(&key));
        Located { key, buckets }
    }

    #[inline]
    pub(crate) fn get(&self, CellId(cell): CellId) -> u32 {
        self.cells.get(cell)
    }

    /// The function that a cell's value was made with.
    pub(crate) fn function(&self, cell: CellId) -> Function {
        self.rule.function(self.shape.spot(cell), self.get(cell))
    }

    /// The value that `function` gives a key.
    pub(crate) fn value(&self, key: &[u8], function: Function) -> u32 {
        self.value_of(self.hash.words(key), function)
    }

    /// The value that `function` gives the key with these words.
    pub(crate) fn value_of(&self, words: Words<'_>, function: Function) -> u32 {
        self.prints(words).value(function, self.rule.values(function))
    }

    /// `true` if a cell with this value would match a key whose bucket it is in.
    pub(crate) fn fits(&self, key: &[u8], cell: CellId, value: u32) -> bool {
        value != EMPTY && self.value(key, self.rule.function(self.shape.spot(cell), value)) == value
    }

    pub(crate) fn place(&self, cell: CellId) -> Place {
        self.shape.place(cell, self.generation)
    }

    pub(crate) fn occupied(&self) -> u64 {
        (0..self.shape.cells()).filter(|cell| self.cells.get(*cell) != EMPTY).count() as u64
    }
}
