//! The breadth-first search of a filter whose fingerprints tell their buckets: bucket by bucket, without a key.
//!
//! It finds the path that [`breadth_first`](super::search::breadth_first) finds, in the same order. There a node is a cell,
//! and cells that were seen are in a hash set. Here a node is a bucket, all its cells are looked at with one load, and as long
//! as few buckets were seen they are compared one by one.

use super::shape::{Bucket, Shape};
use crate::remote::MAX_ORDERS;
use std::collections::HashSet;

/// A table of fingerprints, as the search sees it.
pub(super) trait Fingerprints {
    /// The shape of the tables.
    fn shape(&self) -> Shape;

    /// The first free cell of a bucket: its number in the bucket.
    fn free_cell(&self, table: u8, bucket: Bucket) -> Option<u8>;

    /// The bucket in another table for the fingerprint in a cell.
    fn other_bucket(&self, table: u8, bucket: Bucket, cell: u8, other: u8) -> Bucket;

    /// Requests the memory of a bucket.
    fn prefetch(&self, table: u8, bucket: Bucket);
}

/// A cell of a path: table, bucket, and number in the bucket.
pub(super) type Step = (u8, Bucket, u8);

/// A bucket that was reached.
#[derive(Clone, Copy)]
struct Node {
    table: u8,
    bucket: Bucket,
    /// The node whose fingerprint may move here, and its cell there.
    from: u32,
    cell: u8,
}

/// A node that begins a path.
const START: u32 = u32::MAX;

/// The shortest path from a cell of these buckets, which must be full, to a free one; `None` if it is not found within
/// `budget` cells.
pub(super) fn search(table: &impl Fingerprints, buckets: &[Bucket], budget: u32) -> Option<Vec<Step>> {
    // Two tables need a small list of buckets, which is cleared for each node.
    match buckets.len() {
        2 => search_in::<2>(table, buckets, budget),
        _ => search_in::<MAX_ORDERS>(table, buckets, budget),
    }
}

fn search_in<const TABLES: usize>(table: &impl Fingerprints, buckets: &[Bucket], budget: u32) -> Option<Vec<Step>> {
    let shape = table.shape();
    let mut nodes: Vec<Node> = Vec::with_capacity(64);
    nodes.extend((0..).zip(buckets).map(|(table, bucket)| Node { table, bucket: *bucket, from: START, cell: 0 }));
    let (mut left, mut seen) = (budget, Seen::default());
    for at in 0.. {
        let Node { table: own, bucket, .. } = *nodes.get(at)?;
        let others = || (0..shape.tables()).filter(move |other| *other != own);
        let mut next = [[Bucket(0); TABLES]; 8];
        for cell in 0..shape.cells_per_bucket() {
            for other in others() {
                let bucket = table.other_bucket(own, bucket, cell, other);
                table.prefetch(other, bucket);
                next[usize::from(cell)][usize::from(other)] = bucket;
            }
        }
        for cell in 0..shape.cells_per_bucket() {
            left = left.checked_sub(1)?;
            for other in others() {
                let bucket = next[usize::from(cell)][usize::from(other)];
                if !seen.is_new(&nodes, other, bucket) {
                    continue;
                }
                let reached = Node { table: other, bucket, from: at as u32, cell };
                if let Some(free) = table.free_cell(other, bucket) {
                    return Some(path(&nodes, reached, free));
                }
                nodes.push(reached);
            }
        }
    }
    None
}

/// The buckets that were reached, once they are many.
#[derive(Default)]
struct Seen(HashSet<(u8, u64)>);

impl Seen {
    /// With more nodes than this, hashing a bucket costs less than comparing it with all of them.
    const FEW: usize = 48;

    /// `true` for a bucket that is not among the nodes. It must become one, unless the search ends.
    fn is_new(&mut self, nodes: &[Node], table: u8, bucket: Bucket) -> bool {
        if nodes.len() <= Seen::FEW {
            return !nodes.iter().any(|node| node.bucket == bucket && node.table == table);
        }
        if self.0.is_empty() {
            self.0.extend(nodes.iter().map(|node| (node.table, node.bucket.0)));
        }
        self.0.insert((table, bucket.0))
    }
}

/// The cells from the beginning of a path to a free cell in its last bucket.
fn path(nodes: &[Node], last: Node, free: u8) -> Vec<Step> {
    let mut steps = vec![(last.table, last.bucket, free)];
    let mut reached = last;
    while let Some(node) = nodes.get(reached.from as usize) {
        steps.push((node.table, node.bucket, reached.cell));
        reached = *node;
    }
    steps.reverse();
    steps
}
