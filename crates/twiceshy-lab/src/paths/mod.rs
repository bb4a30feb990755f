//! The proofs of 000, followed query by query. Theorem 1 ([`Stream`]): paths, loops, costly queries and the potential.
//! Theorem 12 ([`Birthday`]): which keys are suspected.
//!
//! A real [`CuckooingFilter`] answers. Beside it a shadow in plain vectors follows its configurations from C_0, which
//! it reads from the filter's mirror. A query is a false positive only if the filter says so, and after each one the
//! shadow's keys must be where the filter has put them.
//!
//! *Two collisions.* The paper assumes, without loss of generality, that a query collides in one table, and takes one
//! that collides in both for two. So does this module: a *fix* is one collision of one query, and a fix, not a query, has
//! a path and a cost.

mod birthday;
mod hashed;
mod lemmas;
mod shadow;

pub use birthday::{Birthday, Suspects};
pub use lemmas::Lemmas;

use crate::experiment::TaskError;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use lemmas::{Fix, Initial};
use shadow::{Hashed, Shadow, Stored};
use twiceshy::AdaptiveFilter;
use twiceshy::cuckoo::{CuckooingFilter, Moves};
use twiceshy::hash::HashKey;
use twiceshy::remote::Mirror;

/// A walk ends long before. With two tables it visits a cell three times at most.
const STEPS: u32 = 1 << 20;

/// How many hash keys are tried.
const HASH_KEYS: u64 = 1000;

/// A filter and its queries.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// n, the stored keys.
    pub keys: u64,
    /// N, the cells of each of the two tables.
    pub cells: u64,
    /// Bits of a cell, at most 12.
    pub bits: u32,
    /// |Q|, the distinct queries.
    pub support: u64,
    /// How often each is asked.
    pub times: u64,
    /// `true` if the filter is told of its mistakes, as it should be.
    pub hears: bool,
}

type Filter = AdaptiveFilter<CuckooingFilter, Mirror>;

impl Stream {
    /// ε of 000 section 3: the probability that two fingerprints are equal.
    pub fn epsilon(&self) -> f64 {
        1.0 / self.values() as f64
    }

    fn values(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Asks each query `times` times, in another order each time, and says what the lemmas are about.
    pub fn follow(&self, rng: &mut Rng) -> Result<Lemmas, TaskError> {
        let keys = Keys::new(self.keys, self.support, rng.word()).ok_or_else(|| TaskError::new("too many keys"))?;
        let (mut filter, mut shadow, hash) = self.begun(&keys, rng)?;
        let asked: Vec<Hashed> = (0..self.support).map(|number| self.hashed(hash, &keys.absent(number))).collect();
        let initial = Initial::new(&mut shadow, &asked, 2 * self.cells as usize);
        let mut lemmas = Lemmas::begun(self, &initial);
        let mut fixes = Vec::new();
        let mut order: Vec<u32> = (0..self.support as u32).collect();
        for _ in 0..self.times {
            rng.shuffle(&mut order);
            for query in &order {
                let key = keys.absent(u64::from(*query));
                let is_wrong = filter.contains(&key);
                let collisions = shadow.collisions(&asked[*query as usize]);
                lemmas.strayed += u64::from(is_wrong == collisions.is_empty());
                if !is_wrong {
                    continue;
                }
                lemmas.false_positives += 1;
                if self.hears {
                    filter.was_wrong(&key).map_err(TaskError::new)?;
                }
                let first = fixes.len();
                for (cell, _) in collisions {
                    // Fixing the collision in the first table may have moved the key of the second.
                    if let Some(key) = shadow.colliding(&asked[*query as usize], cell) {
                        fixes.push(Fix::made(&mut shadow, &initial, *query, &asked[*query as usize], cell, key));
                    }
                }
                let moved = fixes[first..].iter().flat_map(|fix| &fix.path.moved);
                lemmas.strayed += moved.filter(|key| strays(&filter, &shadow, &keys, **key)).count() as u64;
            }
        }
        lemmas.conclude(self, &initial, &asked, &fixes);
        Ok(lemmas)
    }

    fn hashed(&self, hash: HashKey, key: &[u8]) -> Hashed {
        Hashed::of(hash, key, self.cells, self.values())
    }

    /// A filter that holds all keys, and its configuration C_0.
    fn begun(&self, keys: &Keys, rng: &mut Rng) -> Result<(Filter, Shadow, HashKey), TaskError> {
        let (filter, hash) = filled(2, self.cells, self.bits, keys, rng)?;
        let stored = keys.stored_keys().map(|key| self.hashed(hash, &key)).collect();
        let home: Option<Vec<u32>> = keys.stored_keys().map(|key| placed(&filter, &key)).collect();
        let home = home.ok_or_else(|| TaskError::new("a stored key has no cell"))?;
        Ok((filter, Shadow::new(stored, home, 2 * self.cells as usize), hash))
    }
}

/// A filter with tables of single cells that holds all keys. If a hash key leaves no room, another is used, like the
/// paper's rebuild.
fn filled(tables: u64, cells: u64, bits: u32, keys: &Keys, rng: &mut Rng) -> Result<(Filter, HashKey), TaskError> {
    let options = CuckooingFilter::with_cells(tables * cells, bits)
        .tables(tables)
        .cells_per_bucket(1)
        .moves(Moves::Walk { steps: STEPS });
    for _ in 0..HASH_KEYS {
        let hash = HashKey::fixed(rng.word());
        let mut filter = options.clone().build(hash, Mirror::new()).map_err(TaskError::new)?;
        if keys.stored_keys().all(|key| filter.insert(&key).is_ok()) {
            return Ok((filter, hash));
        }
    }
    Err(TaskError::new("no hash key of a thousand leaves room for all keys"))
}

/// The cell of a stored key, by the mirror.
fn placed(filter: &Filter, key: &[u8]) -> Option<u32> {
    Some(filter.remote().table()?.find(key)?.0 as u32)
}

/// `true` if the filter has put a key elsewhere than the paper's rule does.
fn strays(filter: &Filter, shadow: &Shadow, keys: &Keys, key: Stored) -> bool {
    placed(filter, &keys.stored(key.into())) != Some(shadow.place(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn followed(stream: Stream, seed: u64) -> Lemmas {
        stream.follow(&mut Rng::new(seed)).expect("room for all keys")
    }

    #[test]
    fn hashes_of_two_to_four_tables_are_those_of_the_filter() {
        fn agree<const K: usize>() {
            let (rng, cells) = (&mut Rng::new(K as u64), 600);
            let keys = Keys::new(500, 3000, 1).expect("few keys");
            let (filter, hash) = filled(K as u64, cells, 5, &keys, rng).expect("room");
            let hashed = |key: &[u8]| hashed::Hashed::<K>::of(hash, key, cells, 31);
            let mut held = vec![None; K * cells as usize];
            for key in keys.stored_keys() {
                let cell = placed(&filter, &key).expect("it is stored");
                let table = hashed(&key).cells.iter().position(|own| *own == cell).expect("one of its cells");
                held[cell as usize] = Some(hashed(&key).prints[table]);
            }
            let is_there = |query: &[u8]| {
                let own = hashed(query);
                (0..K).any(|table| held[own.cells[table] as usize] == Some(own.prints[table]))
            };
            let mut present = 0;
            for query in (0..3000).map(|number| keys.absent(number)) {
                assert_eq!(filter.contains(&query), is_there(&query));
                present += u64::from(is_there(&query));
            }
            assert!(present > 50);
        }
        agree::<2>();
        agree::<3>();
        agree::<4>();
    }

    /// 1,024 keys in two tables of as many cells, 4 bits.
    fn stream(times: u64) -> Stream {
        Stream { keys: 1024, cells: 1024, bits: 4, support: 1024 / times, times, hears: true }
    }

    #[test]
    fn the_shadow_stays_beside_a_filter_that_keeps_its_rule_and_no_other() {
        for times in [1, 16] {
            let sum = |hears: bool| {
                let mut sum = Lemmas::default();
                (0..8).for_each(|seed| sum.add(&followed(Stream { hears, ..stream(times) }, seed)));
                sum
            };
            let (right, deaf) = (sum(true), sum(false));
            assert_eq!(right.strayed, 0, "{right:?}");
            assert!(right.moved > right.fixes && right.fixes >= right.false_positives, "{right:?}");
            assert!(deaf.strayed > 0, "{deaf:?}");
        }
    }

    #[test]
    fn what_is_proved_about_every_path_holds_for_every_path() {
        let mut sum = Lemmas::default();
        for seed in 0..24 {
            sum.add(&followed(stream(4), seed));
        }
        assert_eq!((sum.broken_paths, sum.not_costly), (0, 0), "{sum:?}");
        assert_eq!(sum.dear, sum.dear_crossed, "{sum:?}");
        assert!(sum.not_initial > 20 && sum.criteria.iter().all(|count| *count > 20), "not at work: {sum:?}");
    }
}
