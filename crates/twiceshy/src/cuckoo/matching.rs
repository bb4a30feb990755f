//! A matching that gives every key its own cell.

use super::local::Located;
use crate::error::PlanError;
use crate::remote::{CellId, Key};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::rc::Rc;

/// Keys, the cells that each may be in, and the cell that each has been given.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    keys: Vec<(Rc<Located>, Vec<CellId>)>,
    index: HashMap<Key, usize>,
    known: HashSet<CellId>,
    /// Cells whose keys are all among `keys`.
    closed: HashSet<CellId>,
    /// The key that a cell was given to.
    taken: HashMap<CellId, usize>,
}

impl Parts {
    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn knows(&self, key: &[u8]) -> bool {
        self.index.contains_key(key)
    }

    pub(crate) fn is_new(&self, cell: CellId) -> bool {
        !self.known.contains(&cell)
    }

    pub(crate) fn add(&mut self, key: Rc<Located>, cells: Vec<CellId>) {
        self.known.extend(cells.iter().copied());
        self.index.insert(key.key.clone(), self.keys.len());
        self.keys.push((key, cells));
    }

    /// Says that every key that may be in this cell has been added.
    pub(crate) fn close(&mut self, cell: CellId) {
        self.closed.insert(cell);
    }

    /// The pairs that can be decided without the rest of the graph: a key with one cell left goes there, and a closed cell
    /// takes the only key that it has left. A pair takes its key and cell out of the graph, which may settle more. `None` if
    /// a key has no cell left.
    ///
    /// If the whole graph has a matching that leaves out no key, it has one with all these pairs: `owners.rs` shows it for
    /// one pair, and what is left after a pair is such a graph again.
    pub(crate) fn settled(&self) -> Option<Vec<(Rc<Located>, CellId)>> {
        let mut given: BTreeMap<usize, CellId> = BTreeMap::new();
        let mut used: HashSet<CellId> = HashSet::new();
        loop {
            let before = given.len();
            // The only key that a cell has left, or `None` if it has several.
            let mut sole: BTreeMap<CellId, Option<usize>> = BTreeMap::new();
            for (key, (_, cells)) in self.keys.iter().enumerate() {
                if given.contains_key(&key) {
                    continue;
                }
                let left: Vec<CellId> = cells.iter().copied().filter(|cell| !used.contains(cell)).collect();
                match left.as_slice() {
                    [] => return None,
                    [only] => {
                        given.insert(key, *only);
                        used.insert(*only);
                    }
                    _ => left.iter().for_each(|cell| {
                        sole.entry(*cell).and_modify(|key| *key = None).or_insert(Some(key));
                    }),
                }
            }
            for (cell, key) in sole {
                if let Some(key) = key
                    && self.closed.contains(&cell)
                    && !given.contains_key(&key)
                    && used.insert(cell)
                {
                    given.insert(key, cell);
                }
            }
            if given.len() == before {
                return Some(given.into_iter().map(|(key, cell)| (self.keys[key].0.clone(), cell)).collect());
            }
        }
    }

    /// Gives every key its own cell; `false` if that is impossible.
    pub(crate) fn match_all(&mut self) -> bool {
        (0..self.keys.len()).all(|key| self.augment(key))
    }

    /// Finds `start` a cell by moving others, breadth-first over alternating paths.
    fn augment(&mut self, start: usize) -> bool {
        let mut came_from: HashMap<CellId, usize> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(key) = queue.pop_front() {
            for &cell in &self.keys[key].1 {
                if came_from.contains_key(&cell) {
                    continue;
                }
                came_from.insert(cell, key);
                match self.taken.get(&cell) {
                    Some(holder) => queue.push_back(*holder),
                    None => {
                        self.flip(cell, start, &came_from);
                        return true;
                    }
                }
            }
        }
        false
    }

    fn flip(&mut self, free: CellId, start: usize, came_from: &HashMap<CellId, usize>) {
        let mut cell = free;
        while let Some(&key) = came_from.get(&cell) {
            let before = self.keys[key].1.iter().find(|held| self.taken.get(held) == Some(&key)).copied();
            self.taken.insert(cell, key);
            match before {
                Some(left) if key != start => cell = left,
                _ => return,
            }
        }
    }

    /// The key that a cell was given to.
    pub(crate) fn owner(&self, cell: CellId) -> Option<Rc<Located>> {
        self.taken.get(&cell).map(|key| self.keys[*key].0.clone())
    }

    /// The cell that a key was given.
    pub(crate) fn cell_of(&self, key: &[u8]) -> Result<CellId, PlanError> {
        let index = self.index.get(key).ok_or(PlanError::Disagree)?;
        let own = |cell: &&CellId| self.taken.get(cell) == Some(index);
        self.keys[*index].1.iter().find(own).copied().ok_or(PlanError::Disagree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuckoo::shape::FIRST_BUCKETS;
    use crate::hash::mix;

    fn parts(edges: &[Vec<u64>]) -> Parts {
        let mut parts = Parts::default();
        for (key, cells) in edges.iter().enumerate() {
            let located = Located { key: (key as u64).to_le_bytes()[..].into(), buckets: FIRST_BUCKETS };
            parts.add(Rc::new(located), cells.iter().copied().map(CellId).collect());
        }
        parts
    }

    /// `true` if some choice of distinct cells exists. Tries them all.
    fn possible(edges: &[Vec<u64>], used: &mut Vec<u64>) -> bool {
        let Some(cells) = edges.get(used.len()) else { return true };
        cells.iter().any(|cell| {
            if used.contains(cell) {
                return false;
            }
            used.push(*cell);
            let found = possible(edges, used);
            used.pop();
            found
        })
    }

    #[test]
    fn a_matching_is_found_exactly_when_trying_all_choices_finds_one() {
        let (mut yes, mut no) = (0, 0);
        for seed in 0..3000u64 {
            let mut random = (0..).map(|i| mix(seed << 20 | i));
            let mut next = |bound: u64| random.next().unwrap_or(0) % bound;
            let keys = 1 + next(6);
            let edges: Vec<Vec<u64>> = (0..keys)
                .map(|_| {
                    let mut cells: Vec<u64> = (0..1 + next(3)).map(|_| next(keys + 1)).collect();
                    cells.sort_unstable();
                    cells.dedup();
                    cells
                })
                .collect();
            let mut parts = parts(&edges);
            let found = parts.match_all();
            assert_eq!(found, possible(&edges, &mut Vec::new()), "{edges:?}");
            if found {
                yes += 1;
                for (key, cells) in edges.iter().enumerate() {
                    let cell = parts.cell_of(&(key as u64).to_le_bytes()).unwrap();
                    assert!(cells.contains(&cell.0));
                    assert_eq!(*parts.owner(cell).unwrap().key, (key as u64).to_le_bytes());
                }
            } else {
                no += 1;
            }
        }
        assert!(yes > 500 && no > 500, "{yes} and {no}");
    }

    /// Random graphs, of which only some keys are known. A cell is closed if all its keys are.
    #[test]
    fn what_is_settled_in_a_piece_of_a_graph_leaves_room_for_every_other_key() {
        let (mut settled, mut left_open, mut impossible) = (0, 0, 0);
        for seed in 0..3000u64 {
            let mut random = (0..).map(|i| mix(seed << 20 | i));
            let mut next = |bound: u64| random.next().unwrap_or(0) % bound;
            let keys = 2 + next(6);
            let edges: Vec<Vec<u64>> = (0..keys)
                .map(|_| {
                    let mut cells: Vec<u64> = (0..1 + next(3)).map(|_| next(keys + 1)).collect();
                    cells.sort_unstable();
                    cells.dedup();
                    cells
                })
                .collect();
            let known = 1 + next(keys) as usize;
            let mut part = parts(&edges[..known]);
            for cell in 0..=keys {
                if edges[known..].iter().all(|cells| !cells.contains(&cell)) {
                    part.close(CellId(cell));
                }
            }
            let can_be = possible(&edges, &mut Vec::new());
            let Some(pairs) = part.settled() else {
                assert!(!can_be, "{edges:?}");
                impossible += 1;
                continue;
            };
            let mut fixed = edges.clone();
            for (key, CellId(cell)) in &pairs {
                let key = (0..keys).find(|number| *key.key == number.to_le_bytes()).unwrap() as usize;
                assert!(edges[key].contains(cell));
                fixed[key] = vec![*cell];
            }
            assert_eq!(possible(&fixed, &mut Vec::new()), can_be, "{edges:?}, {known} known, {pairs:?}");
            settled += pairs.len();
            left_open += known - pairs.len();
        }
        assert!(settled > 3000 && left_open > 500 && impossible > 50, "{settled}, {left_open}, {impossible}");
    }
}
