//! The partial-key cuckoo filter of 002 section 3: it needs no remote, and never learns.

mod look_up;
#[cfg(test)]
mod tests;

use super::fingerprint::Values;
use super::kicks::{self, Fingerprints};
use super::options::Size;
use super::save::{read_cells, read_frame, write_frame};
use super::search::{Path, Resident, Search, Tables};
use super::shape::{Bucket, Buckets, FIRST_BUCKETS, Shape};
use crate::batch;
use crate::error::{Error, OptionsError};
use crate::filter::Filter;
use crate::hash::{HashKey, Words, mix};
use crate::key::AsKey;
use crate::packed::PackedCells;
use crate::packed::lanes::Lanes;
use crate::persist::{LoadError, Reader, Writer};
use crate::remote::{CellId, MAX_ORDERS};
use crate::rng::SplitMix64;
use crate::sizing;
use look_up::{NARROW, TwoTables};
use std::convert::Infallible;
use std::io;

const KIND: u16 = 0;
const EMPTY: u32 = 0;

/// The partial-key cuckoo filter, 2×4 by default.
///
/// *Cost.* One hash word (two for fingerprints of more than 24 bits) and two buckets per look-up.
///
/// *Layout.* A cell is a fingerprint; 0 means empty. With h the key's bucket in table 0, its bucket in table t is
/// `(h + g_t(fingerprint)) mod b`, with g_0 = 0: a fingerprint in any table tells its bucket in all others,
/// without the key, at any number of buckets b.
///
/// *Paper.* 002 section 3. A sum modulo b replaces the paper's exclusive or, which needs b to be a power of two. Lemma 2
/// there: keys with the same bucket and fingerprint have the same d·c cells, and so the fingerprint must grow with log n /
/// (d·c). From 8 bits, 2×4 reaches 95 % load up to millions of keys; below, expect [`Error::Full`] early.
///
/// *Departure.* An insertion that finds no path changes nothing. The usual implementation drops the last fingerprint that
/// it displaced, and with it a stored key.
///
/// **It is a multiset, and it does not check removals.** Inserting a key twice stores it twice. Removing a key that was
/// never inserted may remove the fingerprint of another key, which is then reported absent although it is stored. If that
/// can happen, use [`FullKeyFilter`](super::FullKeyFilter), which asks its remote.
///
/// ```
/// use twiceshy::CuckooFilter;
///
/// let mut filter = CuckooFilter::new(1_000, 0.01)?;
/// filter.insert("owl")?;
/// assert!(filter.contains("owl"));
/// assert!(filter.remove("owl"));
/// assert!(!filter.contains("owl"));
/// # Ok::<(), twiceshy::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CuckooFilter {
    shape: Shape,
    hash: HashKey,
    cells: PackedCells,
    /// The cells of a bucket, if they are compared all at once.
    lanes: Option<Lanes>,
    /// The usual shape, whose look-ups have their own code.
    usual: Option<TwoTables>,
    /// The seeds of g_1, g_2, …
    displacements: [u64; MAX_ORDERS],
    keys: u64,
    search: Search,
    rng: SplitMix64,
}

/// The options of a [`CuckooFilter`].
#[derive(Clone, Debug, PartialEq)]
pub struct CuckooOptions {
    size: Size,
    tables: u64,
    cells_per_bucket: u64,
    search: Search,
}

impl CuckooOptions {
    /// d tables instead of 2.
    #[must_use]
    pub fn tables(self, tables: u64) -> Self {
        CuckooOptions { tables, ..self }
    }

    /// c cells per bucket instead of 4.
    #[must_use]
    pub fn cells_per_bucket(self, cells_per_bucket: u64) -> Self {
        CuckooOptions { cells_per_bucket, ..self }
    }

    /// How insertions look for room.
    #[must_use]
    pub fn search(self, search: Search) -> Self {
        CuckooOptions { search, ..self }
    }

    fn geometry(&self) -> Result<(Shape, u32), OptionsError> {
        let (tables, per_bucket) = (self.tables, self.cells_per_bucket);
        match self.size {
            Size::Cells { cells, width } => {
                sizing::check_width(width)?;
                Ok((Shape::with_cells(tables, per_bucket, cells.max(1))?, width))
            }
            Size::Capacity { keys, rate } => {
                let shape = Shape::new(tables, 1, per_bucket)?;
                let shape = shape.resized(sizing::cuckoo_cells(keys, &shape))?;
                let load = keys as f64 / shape.cells() as f64;
                let compared = tables * per_bucket;
                let enough = |width: &u32| sizing::cuckoo_rate(load, Values::all(*width).len, compared) <= rate;
                Ok((shape, sizing::WIDTHS.clone().find(enough).ok_or(OptionsError::Rate(rate))?))
            }
        }
    }

    /// An empty filter.
    pub fn build(&self, hash: HashKey) -> Result<CuckooFilter, OptionsError> {
        self.search.check()?;
        let (shape, width) = self.geometry()?;
        let cells =
            PackedCells::new(shape.cells(), width).ok_or(OptionsError::Memory { cells: shape.cells(), width })?;
        Ok(CuckooFilter { search: self.search, ..CuckooFilter::over(shape, hash, cells, 0) })
    }
}

impl CuckooFilter {
    /// A filter for `keys` keys at this false-positive rate, under a random hash key.
    pub fn new(keys: u64, rate: f64) -> Result<CuckooFilter, Error> {
        Ok(CuckooFilter::options(keys, rate)?.build(HashKey::random()?)?)
    }

    /// Room for `capacity` keys at this false-positive rate, 2×4.
    pub fn options(capacity: u64, rate: f64) -> Result<CuckooOptions, OptionsError> {
        sizing::check_capacity(capacity)?;
        sizing::check_rate(rate)?;
        Ok(CuckooOptions { size: Size::Capacity { keys: capacity, rate }, ..CuckooFilter::with_cells(0, 0) })
    }

    /// At least `cells` cells of `bits` bits, 2×4.
    pub fn with_cells(cells: u64, bits: u32) -> CuckooOptions {
        CuckooOptions {
            size: Size::Cells { cells, width: bits },
            tables: 2,
            cells_per_bucket: 4,
            search: Search::DEFAULT,
        }
    }

    fn over(shape: Shape, hash: HashKey, cells: PackedCells, keys: u64) -> CuckooFilter {
        let mut displacements = [0; MAX_ORDERS];
        let words = hash.words(b"twiceshy displacements");
        displacements.iter_mut().zip(0..).for_each(|(key, index)| *key = words.word(index));
        let lanes = Lanes::of_bucket(cells.width(), shape.cells_per_bucket().into());
        let usual = lanes.and_then(|lanes| TwoTables::new(lanes, shape, cells.width(), displacements[1]));
        CuckooFilter {
            shape,
            hash,
            cells,
            lanes,
            usual,
            displacements,
            keys,
            search: Search::DEFAULT,
            rng: SplitMix64::for_key(&hash),
        }
    }

    /// The shape of the table.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The width of a fingerprint in bits.
    pub fn width(&self) -> u32 {
        self.cells.width()
    }

    /// The key's bucket in table 0 and its fingerprint. Keys with the same pair have the same cells: at most d·c of them fit
    /// (002, Lemma 2). For experiments.
    #[doc(hidden)]
    pub fn pair_of<K: AsKey + ?Sized>(&self, key: &K) -> (u64, u32) {
        let (Bucket(home), fingerprint) = self.locate(&self.hash.words(key.as_key().as_ref()));
        (home, fingerprint)
    }

    /// Stores the key once more. [`Error::Full`] leaves everything as it was.
    pub fn insert<K: AsKey + ?Sized>(&mut self, key: &K) -> Result<(), Error> {
        let (home, fingerprint) = self.locate(&self.hash.words(key.as_key().as_ref()));
        self.insert_at(home, fingerprint)
    }

    fn insert_at(&mut self, home: Bucket, fingerprint: u32) -> Result<(), Error> {
        for table in 0..self.shape.tables() {
            let bucket = self.bucket(home, table, fingerprint);
            if let Some(cell) = self.free_cell(table, bucket) {
                self.cells.set(self.cell((table, bucket, cell)), fingerprint);
                self.keys += 1;
                return Ok(());
            }
        }
        let buckets = self.buckets(home, fingerprint);
        let full = Error::Full { keys: self.keys, cells: self.shape.cells() };
        let mut moving = fingerprint;
        let mut put = |cells: &mut PackedCells, cell: u64| {
            let displaced = cells.get(cell);
            cells.set(cell, moving);
            moving = displaced;
        };
        match self.search {
            Search::BreadthFirst { cells } => {
                let buckets = &buckets[..usize::from(self.shape.tables())];
                let path = kicks::search(self, buckets, cells).ok_or(full)?;
                for step in path {
                    let cell = self.cell(step);
                    put(&mut self.cells, cell);
                }
            }
            Search::RandomWalk { .. } => {
                let mut rng = self.rng.clone();
                let Ok(path) = self.search.find(self, &buckets, &mut rng);
                let Path(path) = path.ok_or(full)?;
                path.iter().for_each(|CellId(cell)| put(&mut self.cells, *cell));
                self.rng = rng;
            }
        }
        self.keys += 1;
        Ok(())
    }

    fn cell(&self, (table, bucket, cell): kicks::Step) -> u64 {
        self.shape.first_cell(table, bucket).0 + u64::from(cell)
    }

    /// `true` if the key may be in the set; `false` if it is not.
    #[inline]
    pub fn contains<K: AsKey + ?Sized>(&self, key: &K) -> bool {
        Filter::contains(self, key.as_key().as_ref())
    }

    /// What [`CuckooFilter::contains`] says of each key, several times as fast in a large filter.
    ///
    /// ```
    /// # let mut filter = twiceshy::CuckooFilter::new(1_000, 0.01)?;
    /// filter.insert_batch(&["owl", "wren"])?;
    /// assert_eq!(filter.contains_batch(&["owl", "wren"]), [true, true]);
    /// # Ok::<(), twiceshy::Error>(())
    /// ```
    pub fn contains_batch<K: AsKey>(&self, keys: &[K]) -> Vec<bool> {
        batch::answers(self, keys)
    }

    /// Stores several keys. After an error the first ones are stored, as many as [`Filter::len`] has grown by.
    pub fn insert_batch<K: AsKey>(&mut self, keys: &[K]) -> Result<(), Error> {
        batch::with_bytes(keys, |keys| {
            for group in keys.chunks(batch::GROUP) {
                group.iter().for_each(|key| Filter::prefetch(self, key));
                group.iter().try_for_each(|key| self.insert(*key))?;
            }
            Ok(())
        })
    }

    /// Removes one copy of the key; `false` if its fingerprint is not found. **Only for keys that were inserted**:
    /// otherwise another key may lose its fingerprint.
    pub fn remove<K: AsKey + ?Sized>(&mut self, key: &K) -> bool {
        let (home, fingerprint) = self.locate(&self.hash.words(key.as_key().as_ref()));
        let buckets = self.buckets(home, fingerprint);
        let found = self.shape.cells_of(&buckets).find(|CellId(cell)| self.cells.get(*cell) == fingerprint);
        if let Some(CellId(cell)) = found {
            self.cells.set(cell, EMPTY);
            self.keys -= 1;
        }
        found.is_some()
    }

    /// Checks that the number of occupied cells equals the number of keys.
    pub fn validate(&self) -> Result<(), String> {
        let occupied = (0..self.shape.cells()).filter(|cell| self.cells.get(*cell) != EMPTY).count() as u64;
        if occupied == self.keys {
            Ok(())
        } else {
            Err(format!("{occupied} cells are occupied, but {} keys are counted", self.keys))
        }
    }

    /// Writes the filter with its hash key.
    pub fn save(&self, out: &mut (impl io::Write + ?Sized)) -> io::Result<()> {
        let mut fields = Writer::new();
        write_frame(self.shape, self.cells.width(), &self.hash, &mut fields);
        fields.u64(self.keys);
        fields.u64(self.rng.state());
        fields.bytes(self.cells.as_bytes());
        fields.finish(KIND, 0, out)
    }

    /// Reads a filter that [`CuckooFilter::save`] wrote. Insertions look for room breadth-first.
    pub fn load(source: &mut (impl io::Read + ?Sized)) -> Result<CuckooFilter, LoadError> {
        let mut from = Reader::open(source)?;
        from.expect_kind(KIND)?;
        let (shape, width, hash) = read_frame(&mut from, false)?;
        let keys = from.u64()?;
        let rng = SplitMix64::from_state(from.u64()?);
        let cells = read_cells(&mut from, shape, width, Some(keys))?;
        from.finish()?;
        Ok(CuckooFilter { rng, ..CuckooFilter::over(shape, hash, cells, keys) })
    }

    /// The bucket in table 0 and the fingerprint. Both come from word 0, one from its high bits and one from its low ones.
    #[inline]
    fn locate(&self, words: &Words<'_>) -> (Bucket, u32) {
        self.locate_at(words.word(0), || words.word(1))
    }

    #[inline]
    fn locate_at(&self, word: u64, second: impl FnOnce() -> u64) -> (Bucket, u32) {
        let low = if self.cells.width() <= NARROW { word << 32 } else { second() };
        (self.shape.bucket_of(word), Values::all(self.cells.width()).pick(low))
    }

    /// g_t: the distance from a fingerprint's bucket in table 0 to its bucket in table t.
    #[inline]
    fn displacement(&self, table: u8, fingerprint: u32) -> u64 {
        if table == 0 {
            0
        } else {
            self.shape.bucket(mix(self.displacements[usize::from(table)] ^ u64::from(fingerprint)))
        }
    }

    #[inline]
    fn bucket(&self, home: Bucket, table: u8, fingerprint: u32) -> Bucket {
        let sum = home.0 + self.displacement(table, fingerprint);
        Bucket(if sum < self.shape.buckets() { sum } else { sum - self.shape.buckets() })
    }

    #[inline]
    fn buckets(&self, home: Bucket, fingerprint: u32) -> Buckets {
        let mut buckets = FIRST_BUCKETS;
        for table in 0..self.shape.tables() {
            buckets[usize::from(table)] = self.bucket(home, table, fingerprint);
        }
        buckets
    }
}

impl Fingerprints for CuckooFilter {
    fn shape(&self) -> Shape {
        self.shape
    }

    #[inline]
    fn free_cell(&self, table: u8, bucket: Bucket) -> Option<u8> {
        let CellId(first) = self.shape.first_cell(table, bucket);
        let Some(lanes) = self.lanes else {
            return (0..self.shape.cells_per_bucket()).find(|cell| self.cells.get(first + u64::from(*cell)) == EMPTY);
        };
        let free = lanes.equal(self.cells.word_at(first), 0);
        (free != 0).then(|| (free.trailing_zeros() / self.cells.width()) as u8)
    }

    fn other_bucket(&self, table: u8, bucket: Bucket, cell: u8, other: u8) -> Bucket {
        let fingerprint = self.cells.get(self.cell((table, bucket, cell)));
        let distance = self.displacement(table, fingerprint);
        let home = if bucket.0 < distance { bucket.0 + self.shape.buckets() } else { bucket.0 } - distance;
        self.bucket(Bucket(home), other, fingerprint)
    }

    fn prefetch(&self, table: u8, bucket: Bucket) {
        self.cells.prefetch(self.shape.first_cell(table, bucket).0);
    }
}

impl Tables for CuckooFilter {
    type Error = Infallible;

    fn shape(&self) -> Shape {
        self.shape
    }

    fn is_free(&mut self, CellId(cell): CellId) -> Result<bool, Infallible> {
        Ok(self.cells.get(cell) == EMPTY)
    }

    fn resident(&mut self, cell: CellId) -> Result<Resident, Infallible> {
        let fingerprint = self.cells.get(cell.0);
        let there = self.shape.bucket_of_cell(cell).0 + self.shape.buckets();
        let home = (there - self.displacement(self.shape.spot(cell).table, fingerprint)) % self.shape.buckets();
        Ok(Resident::At(self.buckets(Bucket(home), fingerprint)))
    }
}
