//! Uniform queries without the ones that change nothing.
//!
//! When every absent key is as likely to be asked for, the queries between two false positives are a coin tossed again and
//! again: with F of A keys wrong now, the next false positive comes after a geometric number of queries with success
//! probability F/A, and is any of the F with equal chance. So a stream of a thousand million queries is replayed by its
//! false positives alone: each is a real look-up and a real adaptation, and what lies between is skipped by its exact law.
//! This holds for filters that change only on a false positive.
//!
//! Whose answer an adaptation may have changed is known from the cells: the keys that share a cell with the query. That is
//! right for a filter that adapts within the query's own cells, as Cyclic and Swapping do; not for Cuckooing.

use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use twiceshy::cuckoo::{FullKeyCuckoo, Rule};
use twiceshy::filter::{Adaptive, Filter};
use twiceshy::remote::{CellId, Remote};

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

/// The absent keys that look at each cell.
struct Lookers {
    begin: Vec<u32>,
    keys: Vec<u32>,
}

impl Lookers {
    fn new<R: Rule>(filter: &FullKeyCuckoo<R>, keys: &Keys) -> Lookers {
        let mut begin = vec![0u32; filter.cells() as usize + 1];
        for number in 0..keys.absent_len() {
            filter.cells_of(&keys.absent(number)).for_each(|CellId(cell)| begin[cell as usize + 1] += 1);
        }
        for cell in 1..begin.len() {
            begin[cell] += begin[cell - 1];
        }
        let mut next = begin.clone();
        let mut lookers = vec![0u32; begin.last().map_or(0, |end| *end as usize)];
        for number in 0..keys.absent_len() {
            for CellId(cell) in filter.cells_of(&keys.absent(number)) {
                lookers[next[cell as usize] as usize] = number as u32;
                next[cell as usize] += 1;
            }
        }
        Lookers { begin, keys: lookers }
    }

    fn at(&self, CellId(cell): CellId) -> &[u32] {
        &self.keys[self.begin[cell as usize] as usize..self.begin[cell as usize + 1] as usize]
    }
}

/// The number of false positives among `queries` uniform queries for the absent keys, adapting on each. `None` where there
/// are more than 2^29 absent keys, or where an adaptation fails.
pub fn false_positives<R: Rule, Rem: Remote>(
    filter: &mut FullKeyCuckoo<R>,
    remote: &mut Rem,
    keys: &Keys,
    queries: u64,
    rng: &mut Rng,
) -> Option<u64>
where
    FullKeyCuckoo<R>: Adaptive,
{
    let absent = u32::try_from(keys.absent_len()).ok().filter(|absent| *absent <= 1 << 29)?;
    let lookers = Lookers::new(filter, keys);
    let mut wrong = Wrong { keys: Vec::new(), position: vec![0; absent as usize] };
    for key in 0..absent {
        wrong.set(key, filter.contains(&keys.absent(key.into())));
    }
    let (mut asked, mut count) = (0u64, 0u64);
    loop {
        let share = wrong.keys.len() as f64 / f64::from(absent);
        asked = asked.saturating_add(skipped(share, rng)).saturating_add(1);
        if share == 0.0 || asked > queries {
            return Some(count);
        }
        count += 1;
        let chosen = wrong.keys[rng.below(wrong.keys.len() as u64) as usize];
        let query = keys.absent(chosen.into());
        filter.adapt(&query, remote).ok()?;
        for cell in filter.cells_of(&query) {
            for key in lookers.at(cell) {
                wrong.set(*key, filter.contains(&keys.absent(u64::from(*key))));
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
    use std::num::NonZeroU64;
    use twiceshy::cuckoo::CyclicFilter;
    use twiceshy::filter::Backed;
    use twiceshy::hash::HashKey;
    use twiceshy::remote::ByHash;

    fn filled(seed: u64) -> (CyclicFilter, ByHash, Keys) {
        let keys = Keys::new(900, 9_000, seed).unwrap();
        let mut remote = ByHash::new();
        let mut filter = CyclicFilter::with_cells(1000, 8).build(HashKey::fixed(seed), &mut remote).unwrap();
        keys.stored_keys().for_each(|key| assert!(filter.insert(&key, &mut remote).is_ok()));
        (filter, remote, keys)
    }

    #[test]
    fn skipping_gives_as_many_false_positives_as_asking_every_query() {
        let (mut skipped, mut asked) = (0.0, 0.0);
        let (mut skipped_squares, mut asked_squares) = (0.0, 0.0);
        let (trials, queries) = (40, 200_000);
        for seed in 0..trials {
            let (mut filter, mut remote, keys) = filled(seed);
            let count = false_positives(&mut filter, &mut remote, &keys, queries, &mut Rng::new(seed)).unwrap() as f64;
            (skipped, skipped_squares) = (skipped + count, skipped_squares + count * count);
            let (mut filter, mut remote, keys) = filled(seed);
            let mut count = 0.0;
            for number in Distribution::Uniform.queries(NonZeroU64::new(9_000).unwrap(), seed).take(queries as usize) {
                let query = keys.absent(number);
                if filter.contains(&query) {
                    count += 1.0;
                    filter.adapt(&query, &mut remote).unwrap();
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
