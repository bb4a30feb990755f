//! Look-ups of the partial-key filter.
//!
//! Where memory is far away, a look-up costs what it takes of the processor's window of some hundred instructions: the
//! smaller it is, the more of them wait for memory at the same time. So two tables of narrow fingerprints, whose buckets are
//! compared in one load, have their own code. It has no branch on what it reads, and its numbers are computed once.

use super::super::fingerprint::Values;
use super::super::shape::Shape;
use super::CuckooFilter;
use crate::batch;
use crate::filter::Filter;
use crate::hash::{mix, reduce};
use crate::packed::PackedCells;
use crate::packed::lanes::Lanes;
use crate::remote::CellId;

/// Fingerprints of more bits take a hash word of their own.
pub(super) const NARROW: u32 = 24;

/// The numbers of a look-up in two tables of narrow fingerprints.
#[derive(Clone, Copy, Debug)]
pub(super) struct TwoTables {
    lanes: Lanes,
    /// The number of fingerprints. The first is 1.
    values: u64,
    buckets: u64,
    /// The seed of the second table's displacements.
    seed: u64,
    /// `true` if every bucket begins with a byte.
    aligned: bool,
    /// The size of a bucket, in bytes if buckets begin with one and else in bits.
    bucket: u64,
    /// The size of a table, in the same unit.
    table: u64,
}

/// Where a key may be: the beginnings of its buckets, and its fingerprint in every cell of a bucket.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    buckets: [u64; 2],
    cells: u64,
}

impl TwoTables {
    /// `None` for another shape, or for wide fingerprints.
    pub(super) fn new(lanes: Lanes, shape: Shape, width: u32, seed: u64) -> Option<TwoTables> {
        let bits = u64::from(width) * u64::from(shape.cells_per_bucket());
        let (aligned, values, buckets) = (bits % 8 == 0, Values::all(width).len, shape.buckets());
        let bucket = if aligned { bits / 8 } else { bits };
        let table = buckets * bucket;
        (shape.tables() == 2 && width <= NARROW).then_some(TwoTables {
            lanes,
            values,
            buckets,
            seed,
            aligned,
            bucket,
            table,
        })
    }

    /// Where the key with this first hash word may be. The same numbers as [`CuckooFilter::locate`] and
    /// [`CuckooFilter::bucket`] compute for any shape.
    #[inline(always)]
    fn locate(&self, word: u64) -> Wanted {
        // The product fits: 32 bits by at most 24.
        let fingerprint = 1 + ((u64::from(word as u32) * self.values) >> 32);
        let home = reduce(word, self.buckets);
        let sum = home + reduce(mix(self.seed ^ fingerprint), self.buckets);
        let (less, below) = sum.overflowing_sub(self.buckets);
        let other = if below { sum } else { less };
        let buckets = [home * self.bucket, other * self.bucket + self.table];
        Wanted { buckets, cells: self.lanes.spread(fingerprint) }
    }

    #[inline(always)]
    fn is_in(&self, cells: &PackedCells, wanted: Wanted, aligned: bool) -> bool {
        let word = |at| if aligned { cells.word_at_byte(at) } else { cells.word_at_bit(at) };
        self.lanes.any_equal([word(wanted.buckets[0]), word(wanted.buckets[1])], [wanted.cells; 2])
    }

    #[inline(always)]
    fn prefetch(&self, cells: &PackedCells, wanted: Wanted, aligned: bool) {
        wanted.buckets.iter().for_each(|at| cells.prefetch_byte(if aligned { *at } else { *at / 8 }));
    }
}

impl CuckooFilter {
    /// Not inlined, so that it takes no registers from the usual look-ups.
    #[inline(never)]
    fn contains_in_any_shape(&self, word: u64, key: &[u8]) -> bool {
        match &self.usual {
            Some(two) => two.is_in(&self.cells, two.locate(word), two.aligned),
            None => self.contains_one_by_one(word, key),
        }
    }

    /// Compares the cells one by one.
    pub(super) fn contains_one_by_one(&self, word: u64, key: &[u8]) -> bool {
        let (home, fingerprint) = self.locate_at(word, || self.hash.words(key).word(1));
        let buckets = self.buckets(home, fingerprint);
        self.shape.cells_of(&buckets).any(|CellId(cell)| self.cells.get(cell) == fingerprint)
    }

    #[inline(always)]
    fn batch_of_two_tables(&self, two: &TwoTables, keys: &[&[u8]], found: &mut [bool], aligned: bool) {
        let prepare = |key: &[u8]| {
            let wanted = two.locate(self.hash.words(key).word(0));
            two.prefetch(&self.cells, wanted, aligned);
            wanted
        };
        batch::in_groups(keys, found, Wanted::default(), prepare, |_, wanted| two.is_in(&self.cells, wanted, aligned));
    }
}

impl Filter for CuckooFilter {
    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        let word = self.hash.words(key).word(0);
        match &self.usual {
            Some(two) if two.aligned => two.is_in(&self.cells, two.locate(word), true),
            _ => self.contains_in_any_shape(word, key),
        }
    }

    #[inline]
    fn prefetch(&self, key: &[u8]) {
        let (home, fingerprint) = self.locate(&self.hash.words(key));
        for table in 0..self.shape.tables() {
            self.cells.prefetch(self.shape.first_cell(table, self.bucket(home, table, fingerprint)).0);
        }
    }

    fn contains_batch(&self, keys: &[&[u8]], found: &mut [bool]) {
        match &self.usual {
            Some(two) if two.aligned => self.batch_of_two_tables(two, keys, found, true),
            Some(two) => self.batch_of_two_tables(two, keys, found, false),
            None => batch::in_groups(
                keys,
                found,
                (),
                |key| Filter::prefetch(self, key),
                |key, ()| Filter::contains(self, key),
            ),
        }
    }

    fn len(&self) -> u64 {
        self.keys
    }

    fn cells(&self) -> u64 {
        self.shape.cells()
    }

    fn local_bits(&self) -> u64 {
        self.cells.allocated_bits() + size_of::<Self>() as u64 * 8
    }
}
