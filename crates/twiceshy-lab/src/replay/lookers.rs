//! Which absent keys look at which buckets of a cuckoo filter.

use super::stream::Keyed;
use twiceshy::cuckoo::Shape;
use twiceshy::filter::Backed;
use twiceshy::hash::HashKey;
use twiceshy::remote::{CellId, Order};

/// The absent keys that look at each bucket, for all filters of one shape and hash key.
pub(super) struct Lookers {
    shape: Shape,
    hash: HashKey,
    /// The keys of a bucket are `keys[starts[bucket]..starts[bucket + 1]]`.
    starts: Vec<u32>,
    keys: Vec<u32>,
}

impl Lookers {
    /// The lookers of a filter's buckets among absent keys `0..absent`.
    pub(super) fn new(filter: &dyn Backed, shape: Shape, keyed: &Keyed<'_>, absent: u32) -> Lookers {
        let buckets = (u64::from(shape.tables()) * shape.buckets()) as usize;
        let tables = usize::from(shape.tables());
        let mut looked_at: Vec<u32> = Vec::with_capacity(absent as usize * tables);
        let mut starts = vec![0u32; buckets + 1];
        for number in 0..absent {
            let (_, words) = filter.entries(keyed.absent(number).bytes());
            for (Order(table), word) in words.iter() {
                let bucket = u64::from(table) * shape.buckets() + shape.bucket(word);
                looked_at.push(bucket as u32);
                starts[bucket as usize + 1] += 1;
            }
        }
        for bucket in 0..buckets {
            starts[bucket + 1] += starts[bucket];
        }
        let (mut next, mut keys) = (starts.clone(), vec![0; looked_at.len()]);
        for (number, buckets) in looked_at.chunks(tables).enumerate() {
            for bucket in buckets {
                let at = &mut next[*bucket as usize];
                keys[*at as usize] = number as u32;
                *at += 1;
            }
        }
        Lookers { shape, hash: filter.layout().1.hash, starts, keys }
    }

    /// `true` if they are the lookers of this filter too.
    pub(super) fn fit(&self, filter: &dyn Backed, shape: Shape) -> bool {
        self.shape == shape && self.hash == filter.layout().1.hash
    }

    /// The keys that look at the bucket of a cell.
    pub(super) fn at(&self, CellId(cell): CellId) -> &[u32] {
        let bucket = (cell / u64::from(self.shape.cells_per_bucket())) as usize;
        &self.keys[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}
