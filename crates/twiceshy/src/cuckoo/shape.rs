//! The shape of a cuckoo table, and the way from hash words to buckets.

use crate::hash::{Words, reduce, words_of};
use crate::remote::{CellId, Generation, MAX_ORDERS, Order, OrderWords, Place};
use std::ops::RangeInclusive;

/// d tables of b buckets of c cells.
///
/// Buckets lie side by side, or they overlap ([`Shape::overlapping`]): then a bucket is a *window* of c cells, and the next one
/// begins one cell later.
///
/// Cells are numbered table by table, bucket by bucket, so that the cells of a bucket are adjacent. The bucket of a key in
/// table t is the range reduction of its *order word* for t, `word · b / 2^64`: the high bits decide, an interval of words
/// is a bucket at any b, and b need not be a power of two.
///
/// Two orders share a hash word: order 2i takes word i as it is, order 2i + 1 takes it rotated by 32 bits. Each order sees
/// 32 bits that the other does not, which is why a table has at most 2^32 buckets, and a 4×1 look-up needs two words for
/// its buckets instead of four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    tables: u8,
    cells_per_bucket: u8,
    overlaps: bool,
    buckets: u64,
}

/// An invalid shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// Too few or too many tables.
    #[error(
        "a cuckoo filter must have 2 to 8 tables, not {0} (4 with one cell per bucket, or 2 with four, reach 95 % load)"
    )]
    Tables(u64),
    /// Too few or too many cells in a bucket.
    #[error("a bucket must have 1 to 8 cells, not {0} (1 with four tables, or 4 with two, reach 95 % load)")]
    CellsPerBucket(u64),
    /// No bucket, or more than hash words can distinguish.
    #[error("a table must have 1 to 4294967296 buckets, not {0}")]
    Buckets(u64),
}

/// The position of a cell: its table, and its number in the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The number of the table.
    pub table: u8,
    /// The number of the cell in its bucket.
    pub cell: u8,
}

/// The number of a bucket in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bucket(pub(crate) u64);

/// The buckets of a key, one in each table.
pub(crate) type Buckets = [Bucket; MAX_ORDERS];

/// The first bucket of every table: what a key's buckets are before they are known.
pub(crate) const FIRST_BUCKETS: Buckets = [Bucket(0); MAX_ORDERS];

impl Shape {
    /// `tables` tables of `buckets` buckets of `cells_per_bucket` cells.
    pub fn new(tables: u64, buckets: u64, cells_per_bucket: u64) -> Result<Shape, ShapeError> {
        if !(2..=MAX_ORDERS as u64).contains(&tables) {
            return Err(ShapeError::Tables(tables));
        }
        if !(1..=8).contains(&cells_per_bucket) {
            return Err(ShapeError::CellsPerBucket(cells_per_bucket));
        }
        if !(1..=1 << 32).contains(&buckets) {
            return Err(ShapeError::Buckets(buckets));
        }
        Ok(Shape { tables: tables as u8, cells_per_bucket: cells_per_bucket as u8, overlaps: false, buckets })
    }

    /// The same with overlapping buckets: each begins one cell after the one before. A table has `buckets + c − 1` cells.
    #[must_use]
    pub fn overlapping(self) -> Shape {
        Shape { overlaps: true, ..self }
    }

    /// The smallest shape of this kind with at least `cells` cells.
    pub fn with_cells(tables: u64, cells_per_bucket: u64, cells: u64) -> Result<Shape, ShapeError> {
        let per_row = tables.saturating_mul(cells_per_bucket).max(1);
        Shape::new(tables, cells.div_ceil(per_row), cells_per_bucket)
    }

    /// The smallest shape like this one with at least `cells` cells.
    pub(crate) fn resized(&self, cells: u64) -> Result<Shape, ShapeError> {
        let (tables, per_bucket) = (u64::from(self.tables), u64::from(self.cells_per_bucket));
        if !self.overlaps {
            return Shape::with_cells(tables, per_bucket, cells);
        }
        let buckets = cells.div_ceil(tables).saturating_sub(per_bucket - 1).max(1);
        Shape::new(tables, buckets, per_bucket).map(Shape::overlapping)
    }

    /// `true` if buckets overlap.
    #[inline]
    pub fn overlaps(&self) -> bool {
        self.overlaps
    }

    /// d, the number of tables.
    #[inline]
    pub fn tables(&self) -> u8 {
        self.tables
    }

    /// b, the number of buckets in a table.
    #[inline]
    pub fn buckets(&self) -> u64 {
        self.buckets
    }

    /// c, the number of cells in a bucket.
    #[inline]
    pub fn cells_per_bucket(&self) -> u8 {
        self.cells_per_bucket
    }

    /// The number of cells in all tables.
    #[inline]
    pub fn cells(&self) -> u64 {
        u64::from(self.tables) * self.cells_per_table()
    }

    /// The number of cells in a table.
    #[inline]
    pub(crate) fn cells_per_table(&self) -> u64 {
        let per_bucket = u64::from(self.cells_per_bucket);
        if self.overlaps { self.buckets + per_bucket - 1 } else { self.buckets * per_bucket }
    }

    /// The order word of a key for `table`.
    #[inline]
    pub(crate) fn order_word(words: &Words<'_>, table: u8) -> u64 {
        words.word(u64::from(table / 2)).rotate_left(u32::from(table % 2) * 32)
    }

    /// The order words of a key for all tables.
    pub(crate) fn order_words(&self, words: &Words<'_>) -> OrderWords {
        let mut all = [0; MAX_ORDERS];
        for (pair, orders) in (0..).zip(all[..usize::from(self.tables)].chunks_mut(2)) {
            let word = words.word(pair);
            orders[0] = word;
            if let Some(second) = orders.get_mut(1) {
                *second = word.rotate_left(32);
            }
        }
        OrderWords::new(&all[..usize::from(self.tables)])
    }

    /// The number of hash words that the buckets use. Fingerprints use the words after them.
    #[inline]
    pub(crate) fn words_for_buckets(&self) -> u64 {
        u64::from(self.tables).div_ceil(2)
    }

    /// The bucket that an order word leads to.
    #[inline]
    pub fn bucket(&self, order_word: u64) -> u64 {
        reduce(order_word, self.buckets)
    }

    /// The same, as the number of a bucket.
    #[inline]
    pub(crate) fn bucket_of(&self, order_word: u64) -> Bucket {
        Bucket(self.bucket(order_word))
    }

    /// The buckets of a key, one in each table.
    #[inline]
    pub(crate) fn buckets_of(&self, words: &Words<'_>) -> Buckets {
        self.buckets_in(words, self.tables)
    }

    /// The same for a known number of tables, so that the loop can be unrolled.
    #[inline(always)]
    pub(crate) fn buckets_in(&self, words: &Words<'_>, tables: u8) -> Buckets {
        let mut buckets = FIRST_BUCKETS;
        for pair in 0..usize::from(tables.div_ceil(2)) {
            let word = words.word(pair as u64);
            buckets[2 * pair] = self.bucket_of(word);
            if 2 * pair + 1 < usize::from(tables) {
                buckets[2 * pair + 1] = self.bucket_of(word.rotate_left(32));
            }
        }
        buckets
    }

    /// The first cell of a bucket.
    #[inline]
    pub(crate) fn first_cell(&self, table: u8, bucket: Bucket) -> CellId {
        if self.overlaps {
            return CellId(u64::from(table) * self.cells_per_table() + bucket.0);
        }
        CellId((u64::from(table) * self.buckets + bucket.0) * u64::from(self.cells_per_bucket))
    }

    /// All cells of a bucket.
    #[inline]
    pub(crate) fn bucket_cells(&self, table: u8, bucket: Bucket) -> impl Iterator<Item = CellId> + use<> {
        let CellId(first) = self.first_cell(table, bucket);
        (first..first + u64::from(self.cells_per_bucket)).map(CellId)
    }

    /// All cells that a key with these buckets may be in, table by table.
    pub(crate) fn cells_of(&self, buckets: &Buckets) -> impl Iterator<Item = CellId> + use<> {
        let (shape, buckets) = (*self, *buckets);
        (0..shape.tables).flat_map(move |table| shape.bucket_cells(table, buckets[usize::from(table)]))
    }

    /// Where a cell is. In a table whose buckets overlap, cells take the numbers from 0 to c − 1 in turn, so that the cells of
    /// a bucket have different ones there too.
    #[inline]
    pub(crate) fn spot(&self, CellId(cell): CellId) -> Spot {
        let table = (cell / self.cells_per_table()) as u8;
        Spot { table, cell: (cell % u64::from(self.cells_per_bucket)) as u8 }
    }

    /// The spot of the `number`th cell of a bucket that begins with this cell.
    #[inline(always)]
    pub(crate) fn spot_in(&self, table: u8, CellId(first): CellId, number: u8) -> Spot {
        if self.overlaps {
            let cell = (first + u64::from(number)) % u64::from(self.cells_per_bucket);
            return Spot { table, cell: cell as u8 };
        }
        Spot { table, cell: number }
    }

    /// The buckets that a cell is in: one, or several neighbours if buckets overlap.
    #[inline]
    pub(crate) fn buckets_of_cell(&self, CellId(cell): CellId) -> RangeInclusive<Bucket> {
        let (per_bucket, at) = (u64::from(self.cells_per_bucket), cell % self.cells_per_table());
        if self.overlaps {
            return Bucket(at.saturating_sub(per_bucket - 1))..=Bucket(at.min(self.buckets - 1));
        }
        Bucket(at / per_bucket)..=Bucket(at / per_bucket)
    }

    /// The bucket of a cell in a table whose buckets do not overlap.
    #[inline]
    pub(crate) fn bucket_of_cell(&self, cell: CellId) -> Bucket {
        *self.buckets_of_cell(cell).start()
    }

    /// The cells within this distance of a cell, in its table.
    pub(crate) fn around(&self, CellId(cell): CellId, distance: u64) -> RangeInclusive<CellId> {
        let first = cell - cell % self.cells_per_table();
        let last = first + self.cells_per_table() - 1;
        CellId(cell.saturating_sub(distance).max(first))..=CellId(cell.saturating_add(distance).min(last))
    }

    /// Where to ask a remote about a cell.
    pub(crate) fn place(&self, cell: CellId, generation: Generation) -> Place {
        self.place_at(self.spot(cell).table, self.buckets_of_cell(cell), cell, generation)
    }

    /// The same for a cell whose table and buckets are known. The remote may be asked about more buckets than the cell's.
    pub(crate) fn place_at(
        &self,
        table: u8,
        buckets: RangeInclusive<Bucket>,
        cell: CellId,
        generation: Generation,
    ) -> Place {
        let words = words_of(buckets.start().0, buckets.end().0, self.buckets);
        Place { generation, order: Order(table), words, cell }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{HashKey, mix};

    #[test]
    fn the_interval_of_a_bucket_holds_exactly_the_words_that_lead_to_it() {
        for buckets in [1u64, 2, 3, 7, 1000, 32_768, 1_000_003, 1 << 32] {
            let shape = Shape::new(4, buckets, 1).unwrap();
            for i in 0..200 {
                let bucket = if i < 2 { i * (buckets - 1) } else { mix(i) % buckets };
                let place = shape.place(shape.first_cell(2, Bucket(bucket)), Generation(0));
                let (first, last) = (*place.words.start(), *place.words.end());
                assert_eq!((shape.bucket(first), shape.bucket(last)), (bucket, bucket));
                assert!(first == 0 && bucket == 0 || shape.bucket(first - 1) == bucket - 1);
                assert!(last == u64::MAX && bucket == buckets - 1 || shape.bucket(last + 1) == bucket + 1);
            }
        }
    }

    #[test]
    fn cells_know_their_table_bucket_and_spot() {
        let shape = Shape::new(3, 7, 4).unwrap();
        let mut expected = 0;
        for table in 0..3 {
            for bucket in (0..7).map(Bucket) {
                for (cell, id) in shape.bucket_cells(table, bucket).enumerate() {
                    assert_eq!(id, CellId(expected));
                    assert_eq!(shape.spot(id), Spot { table, cell: cell as u8 });
                    assert_eq!(
                        (shape.bucket_of_cell(id), shape.place(id, Generation(0)).order),
                        (bucket, Order(table))
                    );
                    expected += 1;
                }
            }
        }
        assert_eq!(shape.cells(), expected);
    }

    #[test]
    fn overlapping_buckets_share_their_cells() {
        for (buckets, per_bucket) in [(1, 2), (2, 2), (7, 2), (7, 3), (1, 4)] {
            let shape = Shape::new(2, buckets, per_bucket).unwrap().overlapping();
            assert_eq!(shape.cells(), 2 * (buckets + per_bucket - 1));
            for cell in (0..shape.cells()).map(CellId) {
                let Spot { table, .. } = shape.spot(cell);
                let holds = |bucket: &Bucket| shape.bucket_cells(table, *bucket).any(|own| own == cell);
                let expected: Vec<Bucket> = (0..buckets).map(Bucket).filter(holds).collect();
                let found = shape.buckets_of_cell(cell);
                assert_eq!((*found.start(), *found.end()), (expected[0], expected[expected.len() - 1]));
                let place = shape.place(cell, Generation(0));
                assert_eq!(shape.bucket_of(*place.words.start()), expected[0]);
                assert_eq!(shape.bucket_of(*place.words.end()), expected[expected.len() - 1]);
                let near = shape.around(cell, 2);
                assert!((near.start().0..=near.end().0).all(|near| shape.spot(CellId(near)).table == table));
            }
            for (table, bucket) in (0..2).flat_map(|table| (0..buckets).map(move |bucket| (table, Bucket(bucket)))) {
                let first = shape.first_cell(table, bucket);
                let mut numbers: Vec<u8> =
                    (0..per_bucket as u8).map(|number| shape.spot_in(table, first, number).cell).collect();
                for (number, cell) in (0..).zip(shape.bucket_cells(table, bucket)) {
                    assert_eq!(shape.spot(cell), shape.spot_in(table, first, number));
                }
                numbers.sort_unstable();
                assert!((0..).zip(&numbers).all(|(expected, number)| *number == expected));
            }
            for cells in 1..60 {
                let resized = shape.resized(cells).unwrap();
                assert!(
                    resized.overlaps() && resized.cells() >= cells && resized.cells() <= cells.max(2 * per_bucket) + 1
                );
            }
        }
    }

    #[test]
    fn order_words_and_buckets_agree() {
        for tables in 2..=8 {
            let shape = Shape::new(tables, 12_345, 2).unwrap();
            let key = HashKey::fixed(tables);
            for i in 0..100u64 {
                let bytes = i.to_le_bytes();
                let words = key.words(&bytes);
                let buckets = shape.buckets_of(&words);
                assert_eq!(shape.order_words(&words).as_slice()[0], words.word(0), "the remote relies on it");
                for (Order(table), word) in shape.order_words(&words).iter() {
                    assert_eq!(shape.bucket_of(word), buckets[usize::from(table)]);
                    assert_eq!(Shape::order_word(&words, table), word);
                }
            }
        }
    }

    #[test]
    fn tables_that_share_a_word_have_independent_buckets() {
        let shape = Shape::new(2, 16, 1).unwrap();
        let key = HashKey::fixed(3);
        let mut seen = [0u32; 256];
        for i in 0..256_000u64 {
            let [Bucket(first), Bucket(second), ..] = shape.buckets_of(&key.words(&i.to_le_bytes()));
            seen[(first * 16 + second) as usize] += 1;
        }
        let chi_square: f64 = seen.iter().map(|n| (f64::from(*n) - 1000.0).powi(2) / 1000.0).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!((165.0..345.0).contains(&chi_square), "{chi_square}");
    }

    #[test]
    fn invalid_shapes_are_refused_by_name() {
        assert_eq!(Shape::new(1, 10, 1), Err(ShapeError::Tables(1)));
        assert_eq!(Shape::new(9, 10, 1), Err(ShapeError::Tables(9)));
        assert_eq!(Shape::new(4, 10, 0), Err(ShapeError::CellsPerBucket(0)));
        assert_eq!(Shape::new(4, 10, 9), Err(ShapeError::CellsPerBucket(9)));
        assert_eq!(Shape::new(4, 0, 1), Err(ShapeError::Buckets(0)));
        assert_eq!(Shape::with_cells(4, 1, u64::MAX), Err(ShapeError::Buckets(1 << 62)));
        assert_eq!(Shape::with_cells(4, 1, 1001).unwrap().cells(), 1004);
    }
}
