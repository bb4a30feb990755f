//! The components of a cuckoo graph, taken as undirected: the chance that the next insertion meets a bad configuration.
//!
//! In a component with a cycle every cell is occupied and every directed path leads to the cycle (002, Proposition 1). So an
//! insertion fails if both cells of its key are in such components, case 3(c), whatever moved in the table before. The share
//! of pairs of cells for which that holds is an exact chance where counting failures would need millions of tables.

/// Components of a table with two halves of single cells, key by key.
#[derive(Clone, Debug)]
pub struct Components {
    /// The next cell on the way to the component's root, itself for a root.
    parents: Vec<u32>,
    roots: Vec<Component>,
    /// The cells of each half in components with a cycle.
    cyclic: [u64; 2],
}

#[derive(Clone, Copy, Debug)]
struct Component {
    cells: [u64; 2],
    has_cycle: bool,
}

impl Components {
    /// The components of an empty table with two halves of this many cells.
    pub fn new(half: u32) -> Components {
        let root = |cell| Component { cells: [u64::from(cell < half), u64::from(cell >= half)], has_cycle: false };
        Components { parents: (0..2 * half).collect(), roots: (0..2 * half).map(root).collect(), cyclic: [0, 0] }
    }

    fn root(&mut self, mut cell: u32) -> u32 {
        while self.parents[cell as usize] != cell {
            let next = self.parents[cell as usize];
            self.parents[cell as usize] = self.parents[next as usize];
            cell = next;
        }
        cell
    }

    /// `true` if no table can hold another key with these cells.
    pub fn is_bad(&mut self, cells: [u32; 2]) -> bool {
        cells.into_iter().all(|cell| {
            let root = self.root(cell);
            self.roots[root as usize].has_cycle
        })
    }

    /// Adds a key with these cells.
    pub fn insert(&mut self, cells: [u32; 2]) {
        let [kept, gone] = cells.map(|cell| self.root(cell));
        let [mut one, other] = [kept, gone].map(|root| self.roots[root as usize]);
        let has_cycle = kept == gone || one.has_cycle || other.has_cycle;
        for (component, is_counted) in [(one, true), (other, kept != gone)] {
            if has_cycle && is_counted && !component.has_cycle {
                self.cyclic.iter_mut().zip(component.cells).for_each(|(sum, cells)| *sum += cells);
            }
        }
        if kept != gone {
            one.cells.iter_mut().zip(other.cells).for_each(|(sum, cells)| *sum += cells);
            self.parents[gone as usize] = kept;
        }
        self.roots[kept as usize] = Component { has_cycle, ..one };
    }

    /// The chance that the cells of another key are both in components with a cycle.
    pub fn chance(&self) -> f64 {
        let half = self.parents.len() as f64 / 2.0;
        self.cyclic.iter().map(|cells| *cells as f64 / half).product()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::cuckoo_graph::{CuckooGraph, Failure, Fate};
    use crate::workload::rng::Rng;

    #[test]
    fn components_with_a_cycle_are_those_that_the_directed_graph_calls_bad() {
        let rng = &mut Rng::new(5);
        let half = 20;
        let mut bad = 0;
        for _ in 0..200 {
            let (mut graph, mut components) = (CuckooGraph::new(2 * half), Components::new(half as u32));
            // Past a load of one half, where bad configurations are frequent.
            for _ in 0..half + half / 4 {
                let both: Vec<[u32; 2]> =
                    (0..half as u32).flat_map(|a| (0..half as u32).map(move |b| [a, b + half as u32])).collect();
                let is_bad = |cells: &[u32; 2]| graph.fate(*cells, 1_000) == Fate::Fails(Failure::BadConfiguration);
                let share = both.iter().filter(|cells| is_bad(cells)).count() as f64 / both.len() as f64;
                assert!((components.chance() - share).abs() < 1e-12);
                let cells = both[rng.below(both.len() as u64) as usize];
                assert_eq!(components.is_bad(cells), is_bad(&cells));
                let Fate::Succeeds(_) = graph.fate(cells, 1_000) else {
                    bad += 1;
                    break;
                };
                graph.insert(cells, &walk(&graph, cells));
                components.insert(cells);
            }
        }
        assert!(bad > 20, "{bad}");
    }

    /// Algorithm 2, on the graph.
    fn walk(graph: &CuckooGraph, cells: [u32; 2]) -> Vec<u32> {
        if graph.trail(cells[1]) == crate::models::cuckoo_graph::Trail::Ends(0) {
            return vec![cells[1]];
        }
        let mut path = vec![cells[0]];
        loop {
            let keys = graph.keys_along(&path);
            if keys.len() == path.len() {
                return path;
            }
            let displaced = graph.cells_of(keys[path.len()]).unwrap_or(cells);
            let at = path[path.len() - 1];
            path.push(if displaced[0] == at { displaced[1] } else { displaced[0] });
        }
    }
}
