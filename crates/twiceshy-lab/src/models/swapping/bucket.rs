//! One bucket, its keys changing places.

use crate::models::sampling::{poisson, positive_poisson, wait};
use crate::workload::rng::Rng;

/// A bucket with a collision at the beginning.
pub(super) struct Bucket {
    /// For each cell the number of the key in it; numbers from `stored` on stand for nobody.
    keys: Vec<usize>,
    stored: usize,
    /// `Z(key, cell)`, at `key · cells + cell`, where it is known.
    collisions: Vec<Option<u64>>,
    mean: f64,
}

impl Bucket {
    /// A bucket of `cells` cells, `stored` of them taken, one or more; each pair of a key and a cell has a Poisson number
    /// of colliding keys with this mean, and the pairs of the beginning have one or more together.
    pub(super) fn new(stored: usize, cells: usize, mean: f64, rng: &mut Rng) -> Self {
        let mut collisions = vec![None; stored * cells];
        (0..stored).for_each(|key| collisions[key * cells + key] = Some(0));
        // The sum is Poisson, and each collision is with any of the keys.
        for _ in 0..positive_poisson(rng, mean * stored as f64) {
            let key = rng.below(stored as u64) as usize;
            collisions[key * cells + key] = collisions[key * cells + key].map(|count| count + 1);
        }
        Self { keys: (0..cells).collect(), stored, collisions, mean }
    }

    /// The absent keys that collide with the key in a cell.
    fn colliding(&mut self, cell: usize, rng: &mut Rng) -> u64 {
        let key = self.keys[cell];
        if key >= self.stored {
            return 0;
        }
        let mean = self.mean;
        *self.collisions[key * self.keys.len() + cell].get_or_insert_with(|| poisson(rng, mean))
    }

    /// The false positives while each absent key is asked for `per_key` times on average.
    pub(super) fn false_positives(mut self, per_key: f64, rng: &mut Rng) -> f64 {
        let (mut count, mut time) = (0u64, 0.0);
        loop {
            let wrong: u64 = (0..self.keys.len()).map(|cell| self.colliding(cell, rng)).sum();
            if wrong == 0 {
                return count as f64;
            }
            time += wait(rng) / wrong as f64;
            if time > per_key {
                return count as f64;
            }
            count += 1;
            let cell = self.cell_of(rng.below(wrong), rng);
            self.swap(cell, rng);
        }
    }

    /// The cell of one of the collisions at hand.
    fn cell_of(&mut self, mut collision: u64, rng: &mut Rng) -> usize {
        let last = self.keys.len() - 1;
        for cell in 0..last {
            match collision.checked_sub(self.colliding(cell, rng)) {
                Some(rest) => collision = rest,
                None => return cell,
            }
        }
        last
    }

    /// The key of a cell and whatever is in another one, any with equal chance, change places.
    fn swap(&mut self, cell: usize, rng: &mut Rng) {
        let other = rng.below(self.keys.len() as u64 - 1) as usize;
        self.keys.swap(cell, other + usize::from(other >= cell));
    }
}
