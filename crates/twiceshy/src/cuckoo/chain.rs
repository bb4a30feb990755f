//! The search of the remembering filter: a chain of moves that ends in a free cell, or in the cell that the first key left.
//!
//! A chain may not put a key where a query of its memory matches it. What costs is to read which key is in a cell. So cells whose
//! owners are known are followed first, breadth-first. Of the others the one is read next that most likely leads to a free cell: L
//! shows where these are, and a key of a window moves to the next cell with probability one half.

use super::exceptions::most;
use super::fingerprint::Rule;
use super::local::{EMPTY, Local, Located};
use super::planner::Planner;
use super::remembering::Remembering;
use super::search::{Path, Tables};
use crate::error::PlanError;
use crate::remote::CellId;
use std::collections::{HashSet, VecDeque};

/// The reads of R that a chain may cost while the list of exceptions is empty. With a fuller list it may cost more: an entry that is
/// saved then is worth more.
const FEW_READS: f64 = 2.0;

/// The most reads, however full the list is.
const MOST_READS: f64 = 64.0;

/// A query that was not fixed before is searched for with few reads, but for one time in so many.
const RARELY: u64 = 8;

/// The reads of a mirror of cells: it is in memory, knows one cell at a time, and does not allow exceptions.
const OF_A_MIRROR: u32 = 1024;

/// How many cells on each side are looked at for a free one.
const FAR: u64 = 4;

/// What each move before it takes from a cell's chance.
const PER_MOVE: f64 = 0.02;

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chain {
    Found,
    None,
}

/// A cell that was reached.
#[derive(Clone, Copy)]
struct Node {
    cell: CellId,
    /// The node whose key may move here.
    from: Option<usize>,
    moves: u32,
}

/// How many times R may be read for a chain that moves this key.
fn reads(planner: &mut Planner<'_, Remembering>, key: &Located, query: &Located) -> u32 {
    let local = planner.local;
    if planner.owners.keys.knows_cells() {
        return OF_A_MIRROR;
    }
    let mut is_known = false;
    planner.owners.keys.mistaken_for(&key.key, &mut |known| is_known |= *known == *query.key);
    if is_known && planner.rng.below(RARELY) > 0 {
        return FEW_READS as u32;
    }
    let left = 1.0 - local.exceptions.len() as f64 / most(&local.shape) as f64;
    (FEW_READS / left.max(0.1).powi(2)).min(MOST_READS) as u32
}

/// Plans to move the key in a cell, which collides with the query, along the best chain.
pub(super) fn fix(planner: &mut Planner<'_, Remembering>, query: &Located, cell: CellId) -> Result<Chain, PlanError> {
    let Some(occupant) = planner.occupant(cell)? else { return Ok(Chain::None) };
    // An orphan is gone by now.
    let Some(colliding) = occupant else { return Ok(Chain::Found) };
    let more = reads(planner, &colliding.located, query);
    let most_reads = planner.owners.reads + more;
    let start = Node { cell, from: None, moves: 0 };
    let mut search = Search {
        query,
        nodes: vec![start],
        seen: HashSet::from([cell]),
        known: VecDeque::from([0]),
        unknown: Vec::new(),
    };
    while let Some(at) = search.next(planner, most_reads) {
        if let Some(path) = search.follow(planner, at)? {
            // The cell that the first key leaves is free for the last.
            planner.clear(cell);
            planner.follow(&path, colliding)?;
            return Ok(Chain::Found);
        }
    }
    Ok(Chain::None)
}

struct Search<'q> {
    query: &'q Located,
    nodes: Vec<Node>,
    seen: HashSet<CellId>,
    /// Nodes whose owners need no read, in the order in which they were reached.
    known: VecDeque<usize>,
    unknown: Vec<usize>,
}

impl Search<'_> {
    /// The node to follow next; `None` at the end.
    fn next(&mut self, planner: &Planner<'_, Remembering>, most_reads: u32) -> Option<usize> {
        if self.known.is_empty() {
            let (nodes, known) = (&self.nodes, &mut self.known);
            self.unknown.retain(|at| {
                let is_read = planner.owners.has_read(nodes[*at].cell);
                known.extend(is_read.then_some(*at));
                !is_read
            });
        }
        if let Some(at) = self.known.pop_front() {
            return Some(at);
        }
        if planner.owners.reads >= most_reads {
            return None;
        }
        let chance = |at: &usize| self.chance(planner.local, self.nodes[*at]);
        // The first of equals was reached first.
        let best = (0..self.unknown.len())
            .rev()
            .max_by(|one, other| chance(&self.unknown[*one]).total_cmp(&chance(&self.unknown[*other])))?;
        Some(self.unknown.remove(best))
    }

    /// How likely the key of a cell can move towards a free one, step by step.
    fn chance(&self, local: &Local<Remembering>, node: Node) -> f64 {
        let near = local.shape.around(node.cell, FAR);
        let towards = |cells: &mut dyn Iterator<Item = u64>| {
            let mut chance = 1.0;
            for cell in cells.map(CellId) {
                chance *= 0.5;
                if local.get(cell) == EMPTY {
                    return chance;
                }
                if self.seen.contains(&cell) {
                    break;
                }
            }
            0.0
        };
        let at = node.cell.0;
        let sides = towards(&mut (at + 1..=near.end().0)) + towards(&mut (near.start().0..at).rev());
        sides - PER_MOVE * f64::from(node.moves)
    }

    /// Reaches the cells that the key of a node may move to. Returns the path of a chain if one of them is free.
    fn follow(&mut self, planner: &mut Planner<'_, Remembering>, at: usize) -> Result<Option<Path>, PlanError> {
        let node = self.nodes[at];
        let occupant = match planner.occupant(node.cell)? {
            Some(Some(occupant)) => occupant,
            // An orphan: the cell is free.
            Some(None) => return Ok(Some(self.path(at, None))),
            // Unknown: not to be moved.
            None => return Ok(None),
        };
        for next in planner.local.shape.cells_of(occupant.buckets()) {
            if next == node.cell || self.is_barred(planner, &occupant.located, next) {
                continue;
            }
            // A cycle: the last key takes the first one's cell.
            if next == self.nodes[0].cell && at != 0 {
                return Ok(Some(self.path(at, Some(next))));
            }
            if !self.seen.insert(next) {
                continue;
            }
            if planner.is_free(next)? {
                return Ok(Some(self.path(at, Some(next))));
            }
            self.nodes.push(Node { cell: next, from: Some(at), moves: node.moves + 1 });
            self.unknown.push(self.nodes.len() - 1);
        }
        Ok(None)
    }

    /// `true` if the query, or one in the key's memory, would match the key in this cell.
    fn is_barred(&self, planner: &Planner<'_, Remembering>, key: &Located, cell: CellId) -> bool {
        let (local, query) = (planner.local, self.query);
        let function = local.rule.function(local.shape.spot(cell), EMPTY);
        let clashes = local.shape.cells_of(&query.buckets).any(|own| own == cell)
            && local.value(&key.key, function) == local.value(&query.key, function);
        clashes || planner.recalls(key, cell)
    }

    /// The cells from the first move on to a node, and one more.
    fn path(&self, at: usize, last: Option<CellId>) -> Path {
        let mut cells: Vec<CellId> = last.into_iter().collect();
        let mut node = self.nodes[at];
        while let Some(from) = node.from {
            cells.push(node.cell);
            node = self.nodes[from];
        }
        cells.reverse();
        Path(cells)
    }
}
