//! The oracle beside the filter: which key is in which cell, in plain vectors.

use super::hashed::Cell;

/// A key of two tables.
pub(super) type Hashed = super::hashed::Hashed<2>;

/// The number of a stored key.
pub(super) type Stored = u32;

/// What fixing one collision moves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// x_(i_1), x_(i_2), …: the moved keys, in order.
    pub(super) moved: Vec<Stored>,
    /// The cell of the first, then the cell that each of them moves to.
    pub(super) cells: Vec<Cell>,
    /// What the cells held before, in the order in which they changed.
    before: Vec<(Cell, Option<Stored>)>,
}

impl Path {
    /// `true` if a key is moved twice.
    pub(super) fn loops(&self) -> bool {
        let mut sorted = self.moved.clone();
        sorted.sort_unstable();
        sorted.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// `true` if the first key ends where it began.
    pub(super) fn leads_back(&self) -> bool {
        self.cells.len() > 1 && self.cells.first() == self.cells.last() && self.moved.first() == self.moved.last()
    }

    /// Its cells, each once.
    pub(super) fn distinct(&self) -> Vec<Cell> {
        let mut cells = self.cells.clone();
        cells.sort_unstable();
        cells.dedup();
        cells
    }
}

/// A configuration C_t, and the one that it began with, C_0.
#[derive(Clone, Debug)]
pub(super) struct Shadow {
    keys: Vec<Hashed>,
    cells: Vec<Option<Stored>>,
    /// The cell of each key now.
    place: Vec<Cell>,
    /// Its cell in C_0.
    home: Vec<Cell>,
}

impl Shadow {
    /// The configuration with these keys in these cells.
    pub(super) fn new(keys: Vec<Hashed>, home: Vec<Cell>, cells: usize) -> Shadow {
        let mut held = vec![None; cells];
        for (key, cell) in home.iter().enumerate() {
            held[*cell as usize] = Some(key as Stored);
        }
        Shadow { keys, cells: held, place: home.clone(), home }
    }

    /// The cell of a key.
    pub(super) fn place(&self, key: Stored) -> Cell {
        self.place[key as usize]
    }

    /// `true` if a key is where it was in C_0.
    pub(super) fn is_at_home(&self, key: Stored) -> bool {
        self.place[key as usize] == self.home[key as usize]
    }

    /// The cells in which a query collides with a key, and that key.
    pub(super) fn collisions(&self, query: &Hashed) -> Vec<(Cell, Stored)> {
        let at = |table: usize| {
            let cell = query.cells[table];
            let key = self.cells[cell as usize]?;
            self.keys[key as usize].meets(query, table).then_some((cell, key))
        };
        (0..2).filter_map(at).collect()
    }

    /// The key in a cell, if it collides with a query.
    pub(super) fn colliding(&self, query: &Hashed, cell: Cell) -> Option<Stored> {
        self.collisions(query).into_iter().find_map(|(at, key)| (at == cell).then_some(key))
    }

    /// `true` if a key agrees with a query in both tables: then no move helps.
    pub(super) fn is_hopeless(&self, query: &Hashed, key: Stored) -> bool {
        (0..2).all(|table| self.keys[key as usize].meets(query, table))
    }

    /// 000 section 2.3 with k = 2 and b = 1: the key in a cell moves to its other cell, and so does each key that it
    /// displaces, until a cell was free.
    pub(super) fn fix(&mut self, from: Cell) -> Path {
        let mut path = Path::default();
        path.cells.push(from);
        let mut moving = self.put(from, None, &mut path);
        while let Some(key) = moving {
            let [first, second] = self.keys[key as usize].cells;
            // It leaves the cell that was taken from it last, and its place still says which that is.
            let to = if self.place(key) == first { second } else { first };
            path.moved.push(key);
            path.cells.push(to);
            moving = self.put(to, Some(key), &mut path);
        }
        path
    }

    /// The path that a fix would take, without the fix.
    pub(super) fn path(&mut self, from: Cell) -> Path {
        let path = self.fix(from);
        for (cell, held) in path.before.iter().rev() {
            self.cells[*cell as usize] = *held;
            if let Some(key) = held {
                self.place[*key as usize] = *cell;
            }
        }
        path
    }

    /// Puts a key into a cell, and returns the one that was there.
    fn put(&mut self, cell: Cell, key: Option<Stored>, path: &mut Path) -> Option<Stored> {
        let before = std::mem::replace(&mut self.cells[cell as usize], key);
        path.before.push((cell, before));
        if let Some(key) = key {
            self.place[key as usize] = cell;
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with these cells in two tables of four, each in its first cell, or in its second if it says so.
    fn shadow(keys: &[([Cell; 2], usize)]) -> Shadow {
        let hashed = keys.iter().map(|(cells, _)| Hashed { cells: *cells, prints: [0, 0] }).collect();
        Shadow::new(hashed, keys.iter().map(|(cells, at)| cells[*at]).collect(), 8)
    }

    #[test]
    fn a_path_ends_in_a_free_cell_and_one_that_is_not_taken_changes_nothing() {
        let mut chain = shadow(&[([0, 4], 0), ([1, 4], 1), ([1, 5], 0)]);
        let before = (chain.cells.clone(), chain.place.clone());
        let path = chain.path(0);
        assert_eq!((path.moved.as_slice(), path.cells.as_slice()), (&[0, 1, 2][..], &[0, 4, 1, 5][..]));
        assert!(!path.loops());
        assert_eq!((chain.cells.clone(), chain.place.clone()), before);
        chain.fix(0);
        assert_eq!(chain.place, [4, 1, 5]);
        assert!((0..3).all(|key| !chain.is_at_home(key)));
    }

    #[test]
    fn a_key_on_a_branch_of_a_full_cycle_comes_back() {
        // Cells 1, 4, 2, 5 are a cycle of four keys; key 0 hangs on it at cell 4.
        let mut full = shadow(&[([0, 4], 0), ([1, 4], 1), ([2, 4], 0), ([2, 5], 1), ([1, 5], 0)]);
        let path = full.fix(0);
        assert!(path.loops() && path.leads_back(), "{path:?}");
        assert_eq!((path.moved.first(), path.moved.last()), (Some(&0), Some(&0)));
        assert_eq!(full.place(0), 0);
    }

    #[test]
    fn a_key_on_a_full_cycle_moves_round_it_once() {
        let mut full = shadow(&[([1, 4], 1), ([2, 4], 0), ([2, 5], 1), ([1, 5], 0)]);
        let path = full.fix(1);
        assert!(!path.loops() && !path.leads_back(), "{path:?}");
        assert_eq!((path.moved.len(), path.cells.last()), (4, Some(&1)));
    }
}
