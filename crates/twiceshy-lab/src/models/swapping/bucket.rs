//! One bucket whose keys swap cells.

use crate::models::sampling::{pick, poisson, positive_poisson, running_sums, wait};
use crate::workload::rng::Rng;

/// Draws buckets with `stored` stored keys that start with a collision.
pub(super) struct Sampler {
    stored: usize,
    cells: usize,
    values: u64,
    /// Absent keys that collide in the initial order, on average.
    colliding: f64,
    /// The others.
    other: f64,
    /// Running sums of the probabilities that a cell is the first in which a key collides in the initial order.
    first: Vec<f64>,
}

impl Sampler {
    pub(super) fn new(stored: usize, cells: usize, values: u64, keys_per_bucket: f64) -> Self {
        let chance = 1.0 / values as f64;
        let first = running_sums((0..stored).map(|cell| chance * (1.0 - chance).powi(cell as i32)));
        let collides = first.last().copied().unwrap_or(0.0);
        let (colliding, other) = (keys_per_bucket * collides, keys_per_bucket * (1.0 - collides));
        Self { stored, cells, values, colliding, other, first }
    }

    /// The probability that a bucket starts with a collision.
    pub(super) fn chance(&self) -> f64 {
        -(-self.colliding).exp_m1()
    }

    /// A bucket with at least one key. Stored key i starts in cell i.
    pub(super) fn bucket(&self, rng: &mut Rng) -> Bucket {
        let fingerprints = (0..self.stored * self.cells).map(|_| rng.below(self.values)).collect();
        let keys = (0..self.cells).collect();
        let mut bucket = Bucket { keys, stored: self.stored, collisions: vec![0; self.stored * self.cells] };
        let fingerprints = Fingerprints { stored: fingerprints, cells: self.cells, values: self.values };
        for _ in 0..positive_poisson(rng, self.colliding) {
            let first = pick(rng, &self.first);
            for cell in 0..self.cells {
                let value = match cell {
                    cell if cell < first => fingerprints.apart(cell, rng),
                    cell if cell == first => fingerprints.of(cell, cell),
                    _ => rng.below(self.values),
                };
                bucket.collide(&fingerprints, cell, value);
            }
        }
        for _ in 0..poisson(rng, self.other) {
            for cell in 0..self.cells {
                let value = if cell < self.stored { fingerprints.apart(cell, rng) } else { rng.below(self.values) };
                bucket.collide(&fingerprints, cell, value);
            }
        }
        bucket
    }
}

/// The fingerprint of each stored key for each cell, at `key · cells + cell`.
struct Fingerprints {
    stored: Vec<u64>,
    cells: usize,
    values: u64,
}

impl Fingerprints {
    fn of(&self, key: usize, cell: usize) -> u64 {
        self.stored[key * self.cells + cell]
    }

    /// A random value other than that of the key that starts in the cell; there must be another.
    fn apart(&self, cell: usize, rng: &mut Rng) -> u64 {
        let value = rng.below(self.values - 1);
        value + u64::from(value >= self.of(cell, cell))
    }
}

/// A bucket that starts with a collision.
pub(super) struct Bucket {
    /// For each cell, the number of the key in it; numbers from `stored` on stand for an empty cell.
    keys: Vec<usize>,
    stored: usize,
    /// `Z(key, cell)`, at `key · cells + cell`.
    collisions: Vec<u64>,
}

impl Bucket {
    /// Adds an absent key with this fingerprint for a cell.
    fn collide(&mut self, fingerprints: &Fingerprints, cell: usize, value: u64) {
        for key in (0..self.stored).filter(|key| fingerprints.of(*key, cell) == value) {
            self.collisions[key * fingerprints.cells + cell] += 1;
        }
    }

    /// The absent keys that collide with the key in a cell.
    fn colliding(&self, cell: usize) -> u64 {
        self.collisions.get(self.keys[cell] * self.keys.len() + cell).copied().unwrap_or(0)
    }

    /// The false positives while each absent key is asked for `per_key` times on average.
    pub(super) fn false_positives(mut self, per_key: f64, rng: &mut Rng) -> f64 {
        let (mut count, mut time) = (0u64, 0.0);
        loop {
            let wrong: u64 = (0..self.keys.len()).map(|cell| self.colliding(cell)).sum();
            if wrong == 0 {
                return count as f64;
            }
            time += wait(rng) / wrong as f64;
            if time > per_key {
                return count as f64;
            }
            count += 1;
            self.swap(self.cell_of(rng.below(wrong)), rng);
        }
    }

    /// The cell of one of the current collisions.
    fn cell_of(&self, mut collision: u64) -> usize {
        let last = self.keys.len() - 1;
        for cell in 0..last {
            match collision.checked_sub(self.colliding(cell)) {
                Some(rest) => collision = rest,
                None => return cell,
            }
        }
        last
    }

    /// Swaps the key of a cell with the contents of a random other cell.
    fn swap(&mut self, cell: usize, rng: &mut Rng) {
        let other = rng.below(self.keys.len() as u64 - 1) as usize;
        self.keys.swap(cell, other + usize::from(other >= cell));
    }
}
