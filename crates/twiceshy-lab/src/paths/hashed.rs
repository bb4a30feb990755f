//! From hash words to the cells and fingerprints of a key, written from `docs/design.md` and not from the filter's code.

use twiceshy::hash::HashKey;

/// The number of a cell, counted table by table.
pub(super) type Cell = u32;

/// The cell and the fingerprint of a key in each of K tables of single cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hashed<const K: usize> {
    pub(super) cells: [Cell; K],
    pub(super) prints: [u32; K],
}

impl<const K: usize> Hashed<K> {
    /// For cells of at most 12 bits: two tables share a word, the second with its halves exchanged, and the fingerprints
    /// are slices of 16 bits of the word after those, the first from the lowest bits.
    pub(super) fn of(hash: HashKey, key: &[u8], buckets: u64, values: u64) -> Hashed<K> {
        let words = hash.words(key);
        let cell = |table: usize| {
            let word = words.word(table as u64 / 2).rotate_left(32 * (table as u32 % 2));
            (table as u64 * buckets) as Cell + ((u128::from(word) * u128::from(buckets)) >> 64) as Cell
        };
        let slices = words.word(K.div_ceil(2) as u64);
        let print = |table: usize| ((((slices >> (16 * table)) & 0xFFFF) * values) >> 16) as u32;
        Hashed { cells: std::array::from_fn(cell), prints: std::array::from_fn(print) }
    }

    /// `true` if the two have the same cell and the same fingerprint in a table.
    pub(super) fn meets(&self, other: &Hashed<K>, table: usize) -> bool {
        self.cells[table] == other.cells[table] && self.prints[table] == other.prints[table]
    }

    /// Cell and fingerprint in a table as one number: the paper's h_β.
    pub(super) fn under(&self, table: usize) -> u64 {
        u64::from(self.cells[table]) << 32 | u64::from(self.prints[table])
    }
}
