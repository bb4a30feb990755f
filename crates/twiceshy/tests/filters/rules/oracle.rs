//! The oracle's table: whole keys in a vector of cells.

use twiceshy::hash::HashKey;

/// A key or query. Its bytes are those of the number.
pub(crate) type Number = u32;

/// The number of a cell, counted table by table and bucket by bucket.
pub(crate) type Cell = usize;

pub(crate) fn bytes(number: Number) -> [u8; 4] {
    number.to_le_bytes()
}

/// A key in a cell, and the number of the fingerprint function that it is stored under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) key: Number,
    pub(crate) function: usize,
}

/// What all cells hold.
pub(crate) type Cells = Vec<Option<Held>>;

/// How a filter numbers the fingerprint functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Functions {
    /// Cuckooing: the function of the table.
    OfTable,
    /// Cuckooing with a shared fingerprint: one function for all.
    One,
    /// Swapping: the function of the cell's place in its bucket.
    OfPlace,
    /// Cyclic: the selector, which a key takes along when it moves. A new key has selector 0.
    Carried,
}

/// d tables of b buckets of c cells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) tables: usize,
    pub(crate) buckets: usize,
    pub(crate) per_bucket: usize,
    /// Bits of a cell.
    pub(crate) width: u32,
}

impl Shape {
    pub(crate) fn cells(&self) -> usize {
        self.tables * self.buckets * self.per_bucket
    }

    pub(crate) fn table(&self, cell: Cell) -> usize {
        cell / self.per_bucket / self.buckets
    }

    /// The place of a cell in its bucket.
    pub(crate) fn place(&self, cell: Cell) -> usize {
        cell % self.per_bucket
    }

    /// All cells of the bucket that a cell is in.
    pub(crate) fn bucket_around(&self, cell: Cell) -> impl Iterator<Item = Cell> + use<> {
        let first = cell - self.place(cell);
        first..first + self.per_bucket
    }
}

/// What the hash words of a number lead to.
struct Hashed {
    /// Its bucket in each table.
    buckets: Vec<usize>,
    /// Its fingerprint under each function.
    prints: Vec<u64>,
}

/// The oracle.
pub(crate) struct Oracle {
    pub(crate) shape: Shape,
    numbering: Functions,
    functions: usize,
    hashed: Vec<Hashed>,
    pub(crate) cells: Cells,
}

impl Oracle {
    /// An empty table for the numbers below `universe`. `ranges` says how many fingerprints each function takes.
    pub(crate) fn new(shape: Shape, functions: Functions, ranges: &[u64], hash: HashKey, universe: Number) -> Oracle {
        let hashed = (0..universe).map(|number| hashed(&shape, ranges, hash, number)).collect();
        Oracle { shape, numbering: functions, functions: ranges.len(), hashed, cells: vec![None; shape.cells()] }
    }

    pub(crate) fn universe(&self) -> Number {
        self.hashed.len() as Number
    }

    /// The number of fingerprint functions.
    pub(crate) fn functions(&self) -> usize {
        self.functions
    }

    /// The cells of a number in one of its tables.
    pub(crate) fn cells_in(&self, number: Number, table: usize) -> std::ops::Range<Cell> {
        let bucket = self.hashed[number as usize].buckets[table];
        let first = (table * self.shape.buckets + bucket) * self.shape.per_bucket;
        first..first + self.shape.per_bucket
    }

    /// All cells of a number, table by table.
    pub(crate) fn cells_of(&self, number: Number) -> Vec<Cell> {
        (0..self.shape.tables).flat_map(|table| self.cells_in(number, table)).collect()
    }

    pub(crate) fn print(&self, number: Number, function: usize) -> u64 {
        self.hashed[number as usize].prints[function]
    }

    /// The key as it is stored if it comes into this cell.
    pub(crate) fn arriving(&self, cell: Cell, held: Held) -> Held {
        let function = match self.numbering {
            Functions::OfTable => self.shape.table(cell),
            Functions::One => 0,
            Functions::OfPlace => self.shape.place(cell),
            Functions::Carried => held.function,
        };
        Held { function, ..held }
    }

    /// `true` if the cell holds a key whose stored fingerprint is the query's.
    pub(crate) fn collides(&self, cells: &Cells, cell: Cell, query: Number) -> bool {
        cells[cell].is_some_and(|held| self.print(held.key, held.function) == self.print(query, held.function))
    }

    /// The cells that a look-up of a number matches.
    pub(crate) fn matches(&self, cells: &Cells, number: Number) -> Vec<Cell> {
        self.cells_of(number).into_iter().filter(|cell| self.collides(cells, *cell, number)).collect()
    }

    pub(crate) fn cell_of(&self, key: Number) -> Option<Cell> {
        let holds = |cell: &Cell| self.cells[*cell].is_some_and(|held| held.key == key);
        self.cells_of(key).into_iter().find(holds)
    }

    pub(crate) fn keys(&self) -> Vec<Number> {
        self.cells.iter().flatten().map(|held| held.key).collect()
    }
}

/// From hash words to buckets and fingerprints, as `docs/design.md` describes it. Two tables share a word, the second with
/// its halves exchanged. Fingerprints come from the words after those: four from a word if cells have at most 12 bits,
/// two up to 24 bits, else one, the first from the lowest bits. A number of r bits becomes one below n by n/2^r.
fn hashed(shape: &Shape, ranges: &[u64], hash: HashKey, number: Number) -> Hashed {
    let bytes = bytes(number);
    let word = |index: usize| hash.words(&bytes).word(index as u64);
    let scale = |number: u64, bits: u32, below: u64| ((u128::from(number) * u128::from(below)) >> bits) as u64;
    let bucket = |table: usize| {
        let word = if table.is_multiple_of(2) { word(table / 2) } else { word(table / 2).rotate_left(32) };
        scale(word, 64, shape.buckets as u64) as usize
    };
    let in_a_word = if shape.width <= 12 { 4 } else { 2 };
    let bits = 64 / in_a_word as u32;
    let print = |(function, range): (usize, &u64)| {
        let word = word(shape.tables.div_ceil(2) + function / in_a_word);
        let slice = (word >> ((function % in_a_word) as u32 * bits)) & ((1 << bits) - 1);
        scale(slice, bits, *range)
    };
    Hashed { buckets: (0..shape.tables).map(bucket).collect(), prints: ranges.iter().enumerate().map(print).collect() }
}
