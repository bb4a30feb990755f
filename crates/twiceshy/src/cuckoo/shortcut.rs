//! Placing a new key without a matching: the usual insertion.
//!
//! [`place`](super::placing::place) can deal with every table and remote. Its planner keeps maps of owners and of drafted
//! cells, which an insertion seldom needs: most keys find a free cell at once, and most others need a short path on which
//! every cell has one possible owner. This is the same search, in the same order, with two short lists. It finds the same
//! cells, and asks the remote about the same ones. Where it meets anything else, it leaves the key to `place`.

use super::edit::{Counted, Edit};
use super::fingerprint::{Function, Rule};
use super::local::{EMPTY, Local};
use super::owners::PartSizes;
use super::placing::Placed;
use super::planner::Finished;
use super::search::Search;
use super::shape::{Bucket, Buckets, Spot};
use crate::error::PlanError;
use crate::hash::Words;
use crate::remote::{CellId, Keys};

/// The most cells whose owner is looked up. Beyond, maps are faster than lists.
const FEW: usize = 64;

/// A cell that was reached.
#[derive(Clone, Copy)]
struct Node {
    cell: CellId,
    spot: Spot,
    bucket: Bucket,
    /// The node whose key may move here; [`START`] for the cells of the new key.
    from: u32,
}

const START: u32 = u32::MAX;

/// A key that may move: where its bytes end in the list of all bytes, and its first hash word.
#[derive(Clone, Copy)]
struct Moving {
    end: usize,
    word: u64,
}

/// Plans a cell for a key that is not in the table's set, as [`place`](super::placing::place) does. `None` if that needs a
/// matching, another search, more cells than this one looks at, or a look into the key's memory.
pub(super) fn place_by_lists<R: Rule>(
    local: &Local<R>,
    rng: u64,
    key: &[u8],
    search: Search,
    keys: &dyn Keys,
) -> Result<Option<Placed>, PlanError> {
    let mut has_memory = false;
    if R::LISTS {
        keys.mistaken_for(key, &mut |_| has_memory = true);
    }
    if has_memory {
        return Ok(None);
    }
    let words = local.hash.words(key);
    let buckets = local.shape.buckets_of(&words);
    // Both searches begin with the key's own cells, in this order.
    for table in 0..local.shape.tables() {
        let first = local.shape.first_cell(table, buckets[usize::from(table)]).0;
        for number in 0..local.shape.cells_per_bucket() {
            let cell = CellId(first + u64::from(number));
            if local.get(cell) == EMPTY {
                let spot = local.shape.spot_in(table, CellId(first), number);
                let value = arriving(local, words, spot, Function(0));
                return Ok(Some(placed(rng, vec![(cell, value)], Vec::new(), cell, 1)));
            }
        }
    }
    let Search::BreadthFirst { cells: budget } = search else { return Ok(None) };
    // By hash, the cells of a bucket share one read, which only the planner remembers. Overlapping buckets are reached in parts.
    if local.shape.overlaps() || !keys.knows_cells() && local.shape.cells_per_bucket() > 1 {
        return Ok(None);
    }
    let mut lists = Lists {
        local,
        nodes: Vec::with_capacity(64),
        moving: Vec::with_capacity(16),
        bytes: Vec::new(),
        reached: [0; 8],
    };
    lists.reach(&buckets, None, START);
    for at in 0..FEW.min(budget as usize) {
        let Some(node) = lists.nodes.get(at).copied() else { break };
        let Some(home) = lists.owner(node, keys)? else { return Ok(None) };
        if lists.reach(&home, Some(node.spot.table), at as u32) {
            return Ok(Some(lists.plan(key, rng)));
        }
    }
    Ok(None)
}

/// The value of a key that arrives at a spot.
fn arriving<R: Rule>(local: &Local<R>, words: Words<'_>, spot: Spot, carried: Function) -> u32 {
    local.value_of(words, local.rule.arriving(spot, carried))
}

fn placed(rng: u64, cells: Vec<(CellId, u32)>, moves: Vec<(CellId, CellId)>, cell: CellId, path: usize) -> Placed {
    let edit = Edit { cells, keys: 1, orphans: 0, rng, counted: Counted::Nothing, flipped: None };
    Placed { finished: Finished { edit, moves, sizes: PartSizes::default() }, cell, path }
}

struct Lists<'a, R> {
    local: &'a Local<R>,
    /// Cells in the order in which they were reached. The first ones have their key in `moving`.
    nodes: Vec<Node>,
    moving: Vec<Moving>,
    bytes: Vec<u8>,
    /// A bit for each bucket that was reached, by the end of its first cell's number. Saves most comparisons with nodes.
    reached: [u64; 8],
}

impl<R: Rule> Lists<'_, R> {
    /// Adds the cells of these buckets, up to the first free one. `true` if there is one.
    fn reach(&mut self, buckets: &Buckets, without: Option<u8>, from: u32) -> bool {
        let shape = self.local.shape;
        for table in (0..shape.tables()).filter(|table| Some(*table) != without) {
            let bucket = buckets[usize::from(table)];
            let first = shape.first_cell(table, bucket);
            // All cells of a bucket are reached at once.
            let bit = first.0 / u64::from(shape.cells_per_bucket()) % 512;
            let reached = &mut self.reached[bit as usize / 64];
            if *reached >> (bit % 64) & 1 == 1 && self.nodes.iter().any(|node| node.cell == first) {
                continue;
            }
            *reached |= 1 << (bit % 64);
            for cell in 0..shape.cells_per_bucket() {
                let node = Node { cell: CellId(first.0 + u64::from(cell)), spot: Spot { table, cell }, bucket, from };
                self.nodes.push(node);
                if self.local.get(node.cell) == EMPTY {
                    return true;
                }
            }
        }
        false
    }

    /// The buckets of the only key that the cell may belong to; `None` if there is not exactly one, or if it may have
    /// another cell.
    fn owner(&mut self, node: Node, keys: &dyn Keys) -> Result<Option<Buckets>, PlanError> {
        let (local, value, start) = (self.local, self.local.get(node.cell), self.bytes.len());
        let function = local.rule.function(node.spot, value);
        let place = local.shape.place_at(node.spot.table, node.bucket..=node.bucket, node.cell, local.generation);
        let (mut owners, mut owner) = (0, None);
        keys.candidates(&place, &mut |key| {
            let words = local.hash.words(key);
            let buckets = local.shape.buckets_of(&words);
            let here = buckets[usize::from(node.spot.table)] == node.bucket;
            if here && local.value_of(words, function) == value {
                owners += 1;
                self.bytes.truncate(start);
                self.bytes.extend_from_slice(key);
                owner = Some((buckets, words.word(0)));
            }
        })?;
        let Some((buckets, word)) = owner.filter(|_| owners == 1) else { return Ok(None) };
        // Two keys with the same word are not worth a closer look.
        if self.moving.iter().any(|moving| moving.word == word) {
            return Ok(None);
        }
        self.moving.push(Moving { end: self.bytes.len(), word });
        self.local.request(&buckets, local.shape.tables());
        Ok(Some(buckets))
    }

    /// The bytes of the key in a node.
    fn key(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.moving[before].end);
        &self.bytes[start..self.moving[at].end]
    }

    /// The plan for a path to the last node, which is free.
    fn plan(&self, key: &[u8], rng: u64) -> Placed {
        let (local, mut cells, mut moves) = (self.local, Vec::with_capacity(8), Vec::with_capacity(8));
        let (mut at, mut path) = (self.nodes.len() - 1, 0);
        loop {
            let node = self.nodes[at];
            let from = self.nodes.get(node.from as usize);
            let (key, carried) = match from {
                Some(from) => (self.key(node.from as usize), local.rule.function(from.spot, local.get(from.cell))),
                None => (key, Function(0)),
            };
            let value = arriving(local, local.hash.words(key), node.spot, carried);
            if value != local.get(node.cell) {
                cells.push((node.cell, value));
            }
            path += 1;
            let Some(from) = from else {
                // A plan lists its cells in their order.
                cells.sort_unstable();
                moves.sort_unstable_by_key(|(_, to)| *to);
                return placed(rng, cells, moves, node.cell, path);
            };
            moves.push((from.cell, node.cell));
            at = node.from as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::options::{Options, RuleSpec};
    use super::super::placing::place;
    use super::super::planner::Planner;
    use super::super::{CuckooingFilter, CyclicFilter, FullKeyFilter, SwappingFilter};
    use super::*;
    use crate::hash::{HashKey, mix};
    use crate::remote::{ByHash, Key, Mirror, Remote};

    /// Inserts keys until nearly full, with some removals and adaptations, and compares every plan with that of `place`.
    /// Returns how many plans with one cell, and how many with more, were compared.
    fn compare<S: RuleSpec>(options: &Options<S>, remote: impl Remote, seed: u64) -> [u64; 2] {
        let mut compared = [0; 2];
        let mut pair = options.build(HashKey::fixed(seed), remote).unwrap();
        let cells = pair.filter().shape().cells();
        for number in 0..cells {
            let key = Key::from(&mix(number << 8 | seed).to_le_bytes()[..]);
            let filter = pair.filter();
            let (local, rng, search) = (&filter.local, filter.rng.clone(), filter.search);
            if !local.contains(&key)
                && let Some(short) = place_by_lists(local, rng.state(), &key, search, pair.remote()).unwrap()
            {
                let long = place(Planner::new(local, pair.remote(), rng), &key, search).unwrap().unwrap();
                let parts = |placed: &Placed| {
                    let Finished { edit, moves, .. } = &placed.finished;
                    let counts = (edit.keys, edit.orphans, edit.rng);
                    (placed.cell, placed.path, edit.cells.clone(), moves.clone(), counts)
                };
                assert_eq!(parts(&short), parts(&long), "key {number} of {cells}");
                compared[usize::from(short.path > 1)] += 1;
            }
            let _ = pair.insert(&*key);
            if number % 16 == 0 {
                pair.take(&mix((number / 2) << 8 | seed).to_le_bytes()).unwrap();
            }
            let query = mix(number << 8 | seed | 1 << 63).to_le_bytes();
            if pair.contains(&query) {
                pair.was_wrong(&query).unwrap();
            }
        }
        pair.validate().unwrap();
        compared
    }

    #[test]
    fn lists_plan_what_a_matching_plans() {
        let [mut at_once, mut by_kicks] = [0; 2];
        for seed in 0..4 {
            for width in [3, 5, 8, 11, 13] {
                let walk = Search::RandomWalk { steps: 200 };
                let few = Search::BreadthFirst { cells: 9 };
                macro_rules! both {
                    ($($options:expr),*) => {$(
                        for [one, more] in [compare(&$options, ByHash::new(), seed), compare(&$options, Mirror::new(), seed)] {
                            at_once += one;
                            by_kicks += more;
                        }
                    )*};
                }
                both!(
                    FullKeyFilter::with_cells(300, width),
                    FullKeyFilter::with_cells(300, width).search(walk),
                    FullKeyFilter::with_cells(300, width).search(few),
                    FullKeyFilter::with_cells(300, width).tables(3).cells_per_bucket(2),
                    SwappingFilter::with_cells(300, width),
                    CuckooingFilter::with_cells(300, width),
                    CyclicFilter::with_cells(300, width)
                );
            }
        }
        assert!(at_once > 30_000 && by_kicks > 2_000, "{at_once} at once, {by_kicks} by kicks");
    }
}
