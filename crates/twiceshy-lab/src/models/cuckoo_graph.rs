//! The cuckoo graph of 002 section 2.1: what Proposition 1 and Lemma 1 say about the walk of an insertion.
//!
//! A vertex is a cell of a table with two halves of single cells. A stored key is an edge from the cell that holds it to its
//! other cell. The graph is made from cells alone and knows nothing of the table's own search, so that it can be compared
//! with it.

use std::collections::HashMap;

/// The graph of a table. Keys are numbered in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct CuckooGraph {
    /// The key in each cell.
    held: Vec<Option<u32>>,
    /// Both cells of each key.
    cells: Vec<[u32; 2]>,
}

/// The directed path from a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trail {
    /// It has this many edges and ends in a free cell.
    Ends(u64),
    /// It runs into a cycle of `cycle` edges after `tail` edges.
    Cycles {
        /// The edges before the cycle.
        tail: u64,
        /// The edges of the cycle.
        cycle: u64,
    },
}

/// What Proposition 1 says about the insertion of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It succeeds after visiting this many cells.
    Succeeds(u64),
    /// It fails, for this reason.
    Fails(Failure),
}

/// The cases of Proposition 1, item 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// (a): the path from the first cell is longer than `Max`.
    LongPath,
    /// (b): the path from the first cell has a cycle, and the way back to the key and on along the path from its second cell
    /// is longer than `Max`.
    LongReturn,
    /// (c): the paths from both cells have a cycle, a *bad configuration*.
    BadConfiguration,
}

impl CuckooGraph {
    /// The graph of an empty table with this many cells.
    pub fn new(cells: usize) -> CuckooGraph {
        CuckooGraph { held: vec![None; cells], cells: Vec::new() }
    }

    /// Both cells of a key.
    pub fn cells_of(&self, key: u32) -> Option<[u32; 2]> {
        self.cells.get(key as usize).copied()
    }

    /// The cell that holds a key.
    pub fn cell_of(&self, key: u32) -> Option<u32> {
        self.cells.get(key as usize)?.iter().copied().find(|cell| self.held[*cell as usize] == Some(key))
    }

    /// The end of the edge that leads from a cell; `None` if the cell is free.
    fn next(&self, cell: u32) -> Option<u32> {
        let [first, second] = self.cells[self.held[cell as usize]? as usize];
        Some(if cell == first { second } else { first })
    }

    /// The directed path from a cell.
    pub fn trail(&self, from: u32) -> Trail {
        let mut seen: HashMap<u32, u64> = HashMap::new();
        let mut at = from;
        for length in 0.. {
            if let Some(tail) = seen.insert(at, length) {
                return Trail::Cycles { tail, cycle: length - tail };
            }
            match self.next(at) {
                Some(next) => at = next,
                None => return Trail::Ends(length),
            }
        }
        unreachable!("a path visits every cell once at most before it repeats one")
    }

    /// Proposition 1, item 3, for a key with these cells.
    ///
    /// A path of L edges is walked in L + 1 visits. A path with a tail of t edges and a cycle of c visits t + c cells, returns
    /// over the first cell of the cycle along the tail, t + 1 visits, and goes on with the path from the second cell.
    pub fn fate(&self, [first, second]: [u32; 2], max: u64) -> Fate {
        let from_second = match self.trail(second) {
            Trail::Ends(0) => return Fate::Succeeds(1),
            trail => trail,
        };
        match (self.trail(first), from_second) {
            (Trail::Ends(length), _) if length > max => Fate::Fails(Failure::LongPath),
            (Trail::Ends(length), _) => Fate::Succeeds(length + 1),
            (Trail::Cycles { .. }, Trail::Cycles { .. }) => Fate::Fails(Failure::BadConfiguration),
            (Trail::Cycles { tail, cycle }, Trail::Ends(length)) => {
                let back = 2 * tail + cycle + 1;
                if back + length > max { Fate::Fails(Failure::LongReturn) } else { Fate::Succeeds(back + length + 1) }
            }
        }
    }

    /// The keys that a walk holds, in order: the new key, numbered as the next one, and those that it displaces. A walk that
    /// does not end holds one key more than it has cells.
    pub fn keys_along(&self, walk: &[u32]) -> Vec<u32> {
        let mut moved: HashMap<u32, u32> = HashMap::new();
        let mut keys = vec![self.cells.len() as u32];
        for cell in walk {
            let hold = keys[keys.len() - 1];
            keys.extend(moved.insert(*cell, hold).or(self.held[*cell as usize]));
        }
        keys
    }

    /// Adds a key with these cells by a walk that ends.
    pub fn insert(&mut self, cells: [u32; 2], walk: &[u32]) {
        let mut hold = Some(self.cells.len() as u32);
        self.cells.push(cells);
        walk.iter().for_each(|cell| std::mem::swap(&mut self.held[*cell as usize], &mut hold));
    }
}

/// Lemma 1 for the keys of a walk: the smallest share, over all prefixes, of the prefix that is one run of distinct keys
/// beginning with the new key. The lemma says at least 1/3 as long as no bad configuration was met, so prefixes end where a
/// second cycle closes.
pub fn least_distinct_share(keys: &[u32]) -> f64 {
    let Some(new) = keys.first() else { return 1.0 };
    let second = keys.iter().skip(1).position(|key| key == new).map(|at| at + 1);
    let first_run = distinct_run(keys);
    let (start, second_run) = second.map_or((keys.len(), 0), |at| (at, distinct_run(&keys[at..])));
    let end = if second.is_some() { start + second_run } else { keys.len() };
    let share = |length: usize| {
        let longest = first_run.min(length).max(second_run.min(length.saturating_sub(start)));
        longest as f64 / length as f64
    };
    (1..=end).map(share).fold(1.0, f64::min)
}

/// How many keys come before the first that repeats one.
fn distinct_run(keys: &[u32]) -> usize {
    let mut seen = std::collections::HashSet::new();
    keys.iter().take_while(|key| seen.insert(**key)).count()
}

/// What Proposition 1, items 1 and 2, are about: the edges as a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Degrees {
    /// The most edges that lead from a vertex.
    pub most_outgoing: u64,
    /// The most independent cycles that are reached from a vertex.
    pub most_cycles: u64,
}

/// Counts outgoing edges and reachable cycles of any directed graph, without taking it for a cuckoo graph. Cycles are
/// counted from `starts`: of the vertices and edges that a start reaches, edges − vertices + 1.
pub fn degrees(vertices: usize, edges: &[(u32, u32)], starts: impl Iterator<Item = u32>) -> Degrees {
    let mut outgoing: Vec<Vec<u32>> = vec![Vec::new(); vertices];
    edges.iter().for_each(|(from, to)| outgoing[*from as usize].push(*to));
    let cycles = |start: u32| {
        let mut reached = std::collections::HashSet::from([start]);
        let (mut waiting, mut used) = (vec![start], 0);
        while let Some(at) = waiting.pop() {
            used += outgoing[at as usize].len();
            waiting.extend(outgoing[at as usize].iter().copied().filter(|next| reached.insert(*next)));
        }
        (used + 1 - reached.len()) as u64
    };
    Degrees {
        most_outgoing: outgoing.iter().map(|own| own.len() as u64).max().unwrap_or(0),
        most_cycles: starts.map(cycles).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys with these cells, each in the first of them.
    fn graph(cells: usize, keys: &[[u32; 2]]) -> CuckooGraph {
        let mut graph = CuckooGraph::new(cells);
        for key in keys {
            assert!(graph.held[key[0] as usize].is_none());
            graph.insert(*key, &key[..1]);
        }
        graph
    }

    #[test]
    fn a_path_that_ends_is_walked_once() {
        // 0 → 4 → 1 → 5, free; and 6 → 2, free.
        let graph = graph(8, &[[0, 4], [4, 1], [1, 5], [6, 2]]);
        assert_eq!((graph.trail(0), graph.trail(6), graph.trail(3)), (Trail::Ends(3), Trail::Ends(1), Trail::Ends(0)));
        assert_eq!(graph.fate([0, 6], 3), Fate::Succeeds(4));
        assert_eq!(graph.fate([0, 6], 2), Fate::Fails(Failure::LongPath));
        assert_eq!(graph.fate([0, 5], 0), Fate::Succeeds(1), "the second cell is free");
        assert_eq!(graph.keys_along(&[0, 4, 1, 5]), [4, 0, 1, 2]);
        assert_eq!(least_distinct_share(&[4, 0, 1, 2]), 1.0);
    }

    #[test]
    fn a_cycle_is_left_over_the_tail_and_both_together_are_a_bad_configuration() {
        // 0 → 4 → 1 → 5 → 1: a tail of two edges, a cycle of two. 6 → 2 → 7 → 3 → 7: the same; without the last, a path.
        let cyclic = [[0, 4], [4, 1], [1, 5], [5, 1]];
        let one = graph(8, &[&cyclic[..], &[[6, 2], [2, 7]]].concat());
        assert_eq!(one.trail(0), Trail::Cycles { tail: 2, cycle: 2 });
        // 0 4 1 5, back over 1 4 0, then 6 2 7.
        assert_eq!(one.fate([0, 6], 9), Fate::Succeeds(10));
        assert_eq!(one.fate([0, 6], 8), Fate::Fails(Failure::LongReturn));
        let walk = [0, 4, 1, 5, 1, 4, 0, 6, 2, 7];
        let keys = one.keys_along(&walk);
        assert_eq!(keys, [6, 0, 1, 2, 3, 1, 0, 6, 4, 5]);
        // Of all ten, the first five are distinct.
        assert_eq!(least_distinct_share(&keys), 0.5);
        let two = graph(8, &[&cyclic[..], &[[6, 2], [2, 7], [7, 3], [3, 7]]].concat());
        assert_eq!(two.fate([0, 6], 1_000), Fate::Fails(Failure::BadConfiguration));
    }

    #[test]
    fn a_run_that_is_too_short_is_noticed() {
        // The new key 9, then one key again and again: no third of it is distinct.
        assert!(least_distinct_share(&[9, 1, 1, 1, 1, 1, 1]) < 1.0 / 3.0);
    }

    #[test]
    fn two_cycles_and_two_outgoing_edges_are_counted_as_such() {
        let tree = degrees(4, &[(0, 1), (1, 2)], 0..4);
        assert_eq!(tree, Degrees { most_outgoing: 1, most_cycles: 0 });
        let eight = degrees(4, &[(0, 1), (1, 0), (0, 2), (2, 0)], 0..1);
        assert_eq!(eight, Degrees { most_outgoing: 2, most_cycles: 2 });
    }
}
