//! Uniform queries without the ones that change nothing.
//!
//! When every absent key is as likely to be asked for, the queries between two false positives are a coin tossed again and
//! again: with F of A keys wrong now, the next false positive comes after a geometric number of queries with success
//! probability F/A, and is any of the F with equal chance. So a stream of a thousand million queries is replayed by its
//! false positives alone: each is a real look-up and a real adaptation, and what lies between is skipped by its exact law.
//! This holds for filters that change only on a false positive.
//!
//! Whose answer an adaptation may have changed is known from the buckets: the keys that look at a bucket where the query
//! matched. That is right for a filter that adapts within those buckets, as Cyclic and Swapping do; not for Cuckooing. No
//! other bucket ever changes, so only those of the keys that are wrong at the beginning need to be watched.

use crate::workload::rng::Rng;
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::Shape;
use twiceshy::filter::Backed;
use twiceshy::remote::{Order, Remote};

/// The keys that are wrong now, each found in constant time.
struct Wrong {
    keys: Vec<u32>,
    /// One more than the position in `keys`; 0 where the key is not wrong.
    position: Vec<u32>,
}

impl Wrong {
    fn set(&mut self, key: u32, wrong: bool) {
        let at = self.position[key as usize];
        match (wrong, at) {
            (true, 0) => {
                self.keys.push(key);
                self.position[key as usize] = self.keys.len() as u32;
            }
            (false, 1..) => {
                self.keys.swap_remove(at as usize - 1);
                self.position[key as usize] = 0;
                if let Some(moved) = self.keys.get(at as usize - 1) {
                    self.position[*moved as usize] = at;
                }
            }
            _ => {}
        }
    }
}

/// The absent keys that look at each of the watched buckets.
struct Lookers {
    shape: Shape,
    /// For each bucket its number among the watched ones, or `NOT_WATCHED`.
    watched: Vec<u32>,
    keys: Vec<Vec<u32>>,
}

const NOT_WATCHED: u32 = u32::MAX;

impl Lookers {
    /// Watches the buckets that the wrong keys match in.
    fn new(filter: &(impl Backed + ?Sized), shape: Shape, absent: &impl Fn(u32) -> [u8; 8], wrong: &Wrong) -> Lookers {
        let buckets = u64::from(shape.tables()) * shape.buckets();
        let mut lookers = Lookers { shape, watched: vec![NOT_WATCHED; buckets as usize], keys: Vec::new() };
        for key in &wrong.keys {
            for bucket in lookers.matching(filter, &absent(*key)) {
                if lookers.watched[bucket] == NOT_WATCHED {
                    lookers.watched[bucket] = lookers.keys.len() as u32;
                    lookers.keys.push(Vec::new());
                }
            }
        }
        for key in 0..wrong.position.len() as u32 {
            let (_, words) = filter.entries(&absent(key));
            for (Order(table), word) in words.iter() {
                let bucket = (u64::from(table) * shape.buckets() + shape.bucket(word)) as usize;
                if lookers.watched[bucket] != NOT_WATCHED {
                    lookers.keys[lookers.watched[bucket] as usize].push(key);
                }
            }
        }
        lookers
    }

    /// The buckets in which a query matches now.
    fn matching(&self, filter: &(impl Backed + ?Sized), query: &[u8]) -> Vec<usize> {
        let cells_per_bucket = u64::from(self.shape.cells_per_bucket());
        filter.lookup(query).into_iter().map(|place| (place.cell.0 / cells_per_bucket) as usize).collect()
    }

    fn at(&self, bucket: usize) -> &[u32] {
        self.keys.get(self.watched[bucket] as usize).map_or(&[], Vec::as_slice)
    }
}

/// The number of false positives among `queries` uniform queries for `count` absent keys, adapting on each. `None` where an
/// adaptation fails. The filter is one over tables of this shape.
pub fn false_positives<F: Backed + ?Sized, R: Remote>(
    filter: &mut AdaptiveFilter<F, R>,
    shape: Shape,
    count: u32,
    absent: impl Fn(u32) -> [u8; 8],
    queries: u64,
    rng: &mut Rng,
) -> Option<u64> {
    let mut wrong = Wrong { keys: Vec::new(), position: vec![0; count as usize] };
    for key in 0..count {
        wrong.set(key, filter.contains(&absent(key)));
    }
    let lookers = Lookers::new(filter.filter(), shape, &absent, &wrong);
    let (mut asked, mut seen) = (0u64, 0u64);
    loop {
        let share = wrong.keys.len() as f64 / f64::from(count);
        asked = asked.saturating_add(skipped(share, rng)).saturating_add(1);
        if share == 0.0 || asked > queries {
            return Some(seen);
        }
        seen += 1;
        let query = absent(wrong.keys[rng.below(wrong.keys.len() as u64) as usize]);
        let changed = lookers.matching(filter.filter(), &query);
        filter.was_wrong(&query).ok()?;
        for bucket in changed {
            for key in lookers.at(bucket) {
                wrong.set(*key, filter.contains(&absent(*key)));
            }
        }
    }
}

/// How many queries go by before one that succeeds with probability `share`.
fn skipped(share: f64, rng: &mut Rng) -> u64 {
    if share >= 1.0 {
        return 0;
    }
    // unit() is in [0, 1): its distance from 1 is in (0, 1].
    ((1.0 - rng.unit()).ln() / (-share).ln_1p()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Distribution;
    use crate::workload::keys::Keys;
    use std::num::NonZeroU64;
    use twiceshy::cuckoo::CyclicFilter;
    use twiceshy::hash::HashKey;
    use twiceshy::remote::ByHash;

    fn filled(seed: u64) -> (AdaptiveFilter<CyclicFilter>, Keys) {
        let keys = Keys::new(900, 9_000, seed).unwrap();
        let mut filter = CyclicFilter::with_cells(1000, 8).build(HashKey::fixed(seed), ByHash::new()).unwrap();
        keys.stored_keys().for_each(|key| assert!(filter.insert(&key).is_ok()));
        (filter, keys)
    }

    #[test]
    fn skipping_gives_as_many_false_positives_as_asking_every_query() {
        let (mut skipped, mut asked) = (0.0, 0.0);
        let (mut skipped_squares, mut asked_squares) = (0.0, 0.0);
        let (trials, queries) = (40, 200_000);
        for seed in 0..trials {
            let (mut filter, keys) = filled(seed);
            let absent = |key: u32| keys.absent(key.into());
            let rng = &mut Rng::new(seed);
            let shape = filter.filter().shape();
            let count = false_positives(&mut filter, shape, 9_000, absent, queries, rng).unwrap() as f64;
            (skipped, skipped_squares) = (skipped + count, skipped_squares + count * count);
            let (mut filter, keys) = filled(seed);
            let mut count = 0.0;
            for number in Distribution::Uniform.queries(NonZeroU64::new(9_000).unwrap(), seed).take(queries as usize) {
                let query = keys.absent(number);
                if filter.contains(&query) {
                    count += 1.0;
                    filter.was_wrong(&query).unwrap();
                }
            }
            (asked, asked_squares) = (asked + count, asked_squares + count * count);
        }
        let n = trials as f64;
        let variance = |sum: f64, squares: f64| (squares / n - (sum / n).powi(2)) / n;
        let error = (variance(skipped, skipped_squares) + variance(asked, asked_squares)).sqrt();
        assert!(asked / n > 1000.0);
        assert!((skipped - asked).abs() / n < 4.0 * error, "{} against {}, ±{error}", skipped / n, asked / n);
    }
}
