//! Uniform queries, replayed by their false positives.
//!
//! When every absent key is as likely to be asked for, the queries between two false positives are a coin tossed again and
//! again: with F of A keys wrong now, the next false positive comes after a geometric number of queries with success
//! probability F/A, and is any of the F with equal chance. So a stream of a thousand million queries is replayed by its
//! false positives alone. This holds for filters that change only on a false positive.
//!
//! Whether an absent key collides with a stored one depends only on the function under which the stored key's fingerprint is
//! kept now: its selector in Cyclic, its cell in Swapping. So all [collisions](Collisions) under all functions are counted
//! beforehand, with the fingerprints of the real, filled filter, and the filter's state is a function for each stored key.
//! What an adaptation does to it is the paper's [rule](Way), which the library's tests hold the filters to; a test here
//! replays a run on the real filter, query by query.

mod collisions;
mod lively;

pub use collisions::Collisions;

use crate::workload::rng::Rng;
use collisions::Query;
use lively::Lively;

/// What a filter does about a false positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Every colliding key takes its next function (003 section 3.1, 000 section 2.4).
    Next,
    /// The first colliding key swaps with a random other cell of its bucket, empty or not (003 section 3.3).
    Swap,
}

/// A filter under uniform queries.
pub struct Uniform<'a> {
    collisions: &'a Collisions,
    way: Way,
    /// The function of each stored key. Keys are named by the cell that they had at first.
    function_of: Vec<u8>,
    /// For Swapping, the key in each cell.
    key_in: Vec<u32>,
    lively: Lively,
}

impl<'a> Uniform<'a> {
    /// The filter as it is filled.
    pub fn new(collisions: &'a Collisions, way: Way) -> Uniform<'a> {
        let (cells, functions) = (collisions.cells(), collisions.functions());
        let at_first = |cell: usize| if way == Way::Swap { (cell % functions) as u8 } else { 0 };
        let function_of: Vec<u8> = (0..cells).map(at_first).collect();
        let key_in = if way == Way::Swap { (0..cells as u32).collect() } else { Vec::new() };
        let mut lively = Lively::new(cells);
        for (key, function) in function_of.iter().enumerate() {
            lively.set(key as u32, collisions.of(key as u32, *function).len() as u32);
        }
        Uniform { collisions, way, function_of, key_in, lively }
    }

    /// The number of false positives among the first queries for `absent` keys, at each of these numbers of queries, which
    /// rise.
    pub fn false_positives(&mut self, absent: u64, queries: &[u64], rng: &mut Rng) -> Vec<u64> {
        self.replay(absent, queries, rng, |_| ())
    }

    /// The same. `seen` gets every query that is wrong.
    fn replay(&mut self, absent: u64, queries: &[u64], rng: &mut Rng, mut seen: impl FnMut(Query)) -> Vec<u64> {
        let (mut asked, mut wrong, mut counts) = (0u64, 0u64, Vec::new());
        while counts.len() < queries.len() {
            // A key that collides with m stored keys is drawn m times as often as another, and taken once in m times.
            let weight = self.lively.weight();
            let (skipped, drawn) = if 2 * weight > absent {
                // So many that hardly any query would be skipped.
                let drawn = rng.below(absent);
                let is_there = drawn < self.collisions.keys() as u64;
                (0, is_there.then(|| self.with_colliding(self.collisions.query(drawn as u32))))
            } else {
                let skipped = skipped(weight as f64 / absent as f64, rng);
                (skipped, (weight > 0).then(|| self.draw(rng)))
            };
            asked = asked.saturating_add(skipped).saturating_add(1);
            while counts.len() < queries.len() && asked > queries[counts.len()] {
                counts.push(wrong);
            }
            let Some((query, colliding)) = drawn.filter(|_| counts.len() < queries.len()) else { continue };
            let many = colliding.len() as u64;
            if many > 0 && (2 * weight > absent || many == 1 || rng.below(many) == 0) {
                wrong += 1;
                seen(query);
                self.adapt(&colliding, rng);
            }
        }
        counts
    }

    /// A query that collides with a stored key, with a chance in proportion to the number of those; and all of those.
    fn draw(&self, rng: &mut Rng) -> (Query, Few) {
        let key = self.lively.draw(rng);
        let queries = self.collisions.of(key, self.function_of[key as usize]);
        let query = queries[rng.below(queries.len() as u64) as usize];
        if query.is_alone() { (query, Few::one(key)) } else { self.with_colliding(query) }
    }

    /// A query, with the stored keys that it collides with now.
    fn with_colliding(&self, query: Query) -> (Query, Few) {
        let mut few = Few::default();
        for (key, function) in self.collisions.with(query) {
            if self.function_of[key as usize] == function {
                few.push(key);
            }
        }
        (query, few)
    }

    fn adapt(&mut self, colliding: &Few, rng: &mut Rng) {
        let functions = self.collisions.functions();
        match self.way {
            Way::Next => {
                for key in colliding.as_slice() {
                    let next = (usize::from(self.function_of[*key as usize]) + 1) % functions;
                    self.put(*key, next as u8);
                }
            }
            Way::Swap => {
                let cell_of =
                    |key: &u32| *key as usize / functions * functions + usize::from(self.function_of[*key as usize]);
                let Some(cell) = colliding.as_slice().iter().map(cell_of).min() else { return };
                let (at, chosen) = (cell % functions, rng.below(functions as u64 - 1) as usize);
                let other = cell - at + chosen + usize::from(chosen >= at);
                self.key_in.swap(cell, other);
                for cell in [cell, other] {
                    self.put(self.key_in[cell], (cell % functions) as u8);
                }
            }
        }
    }

    /// Keeps a key under a function.
    fn put(&mut self, key: u32, function: u8) {
        self.function_of[key as usize] = function;
        self.lively.set(key, self.collisions.of(key, function).len() as u32);
    }
}

/// The few keys that a query collides with: at most as many as a look-up compares cells.
#[derive(Default)]
struct Few {
    keys: [u32; 16],
    len: usize,
}

impl Few {
    fn one(key: u32) -> Few {
        let mut few = Few::default();
        few.push(key);
        few
    }

    fn push(&mut self, key: u32) {
        // A look-up compares eight cells at most.
        if let Some(free) = self.keys.get_mut(self.len) {
            *free = key;
            self.len += 1;
        }
    }

    fn len(&self) -> usize {
        self.len
    }

    fn as_slice(&self) -> &[u32] {
        &self.keys[..self.len]
    }
}

/// How many queries go by before one that succeeds with probability `share`.
fn skipped(share: f64, rng: &mut Rng) -> u64 {
    // unit() is in [0, 1): its distance from 1 is in (0, 1]. Without any success the number is infinite.
    ((1.0 - rng.unit()).ln() / (-share).ln_1p()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Distribution;
    use crate::workload::keys::Keys;
    use std::num::NonZeroU64;
    use twiceshy::AdaptiveFilter;
    use twiceshy::cuckoo::{CyclicFilter, FullKeyCuckoo, Rule, Selectors, SwappingFilter};
    use twiceshy::hash::HashKey;
    use twiceshy::memory::Limits;
    use twiceshy::remote::Mirror;

    type Filled<R> = AdaptiveFilter<FullKeyCuckoo<R>, Mirror>;

    const ABSENT: u32 = 9_000;

    fn keys(seed: u64) -> Keys {
        Keys::new(900, ABSENT.into(), seed).expect("few keys")
    }

    fn fill<R: Rule>(mut filter: Filled<R>, seed: u64) -> Filled<R> {
        filter.limit_memory(Limits::OFF);
        keys(seed).stored_keys().for_each(|key| assert!(filter.insert(&key).is_ok()));
        filter
    }

    fn cyclic(seed: u64) -> Filled<twiceshy::cuckoo::Cyclic> {
        let options = CyclicFilter::with_cells(1000, 8).selectors(Selectors::Equal { bits: 2 });
        fill(options.build(HashKey::fixed(seed), Mirror::new()).expect("a filter"), seed)
    }

    fn swapping(seed: u64) -> Filled<twiceshy::cuckoo::Swapping> {
        fill(SwappingFilter::with_cells(1000, 8).build(HashKey::fixed(seed), Mirror::new()).expect("a filter"), seed)
    }

    fn counted<R: Rule>(filter: &Filled<R>, functions: u8, seed: u64) -> (Collisions, Vec<u32>) {
        counted_of(filter, functions, seed, ABSENT)
    }

    fn counted_of<R: Rule>(filter: &Filled<R>, functions: u8, seed: u64, absent: u32) -> (Collisions, Vec<u32>) {
        let (keys, mut numbers) = (keys(seed), Vec::new());
        let table = filter.remote().table().expect("a table");
        let collisions = Collisions::counted(
            filter.filter(),
            table,
            functions,
            absent,
            |number| keys.absent(number.into()),
            |number| {
                numbers.push(number);
            },
        );
        (collisions, numbers)
    }

    #[test]
    fn the_real_cyclic_filter_makes_the_mistakes_of_a_replay_and_no_others() {
        for seed in 0..5 {
            let mut filter = cyclic(seed);
            let (collisions, numbers) = counted(&filter, 4, seed);
            let mut asked = Vec::new();
            let mut uniform = Uniform::new(&collisions, Way::Next);
            let counts = uniform.replay(ABSENT.into(), &[50_000, 100_000], &mut Rng::new(seed), |query| {
                asked.push(collisions.number_of(query))
            });
            assert!(counts[0] > 500 && counts[1] as usize == asked.len(), "{counts:?}");
            let key = |number: u32| keys(seed).absent(number.into());
            for query in asked {
                let query = key(numbers[query as usize]);
                assert!(filter.contains(&query));
                filter.was_wrong(&query).expect("an adaptation");
            }
            let mut wrong = vec![false; ABSENT as usize];
            for query in 0..collisions.keys() as u32 {
                wrong[numbers[query as usize] as usize] = uniform.with_colliding(collisions.query(query)).1.len() > 0;
            }
            assert!((0..ABSENT).all(|number| filter.contains(&key(number)) == wrong[number as usize]));
        }
    }

    #[test]
    fn the_first_of_many_absent_keys_are_replayed_as_if_there_were_no_others() {
        let (few, queries) = (ABSENT / 3, [20_000, 40_000]);
        for seed in 0..5 {
            let (one, other) = (cyclic(seed), swapping(seed));
            let both = |absent| [counted_of(&one, 4, seed, absent), counted_of(&other, 4, seed, absent)];
            for ((of_all, numbers), (alone, way)) in
                both(ABSENT).iter().zip(both(few).iter().zip([Way::Next, Way::Swap]))
            {
                let first = of_all.of_first(numbers.partition_point(|number| *number < few));
                let replayed = |collisions: &Collisions| {
                    Uniform::new(collisions, way).false_positives(few.into(), &queries, &mut Rng::new(seed))
                };
                let counts = replayed(&first);
                assert!(counts[1] > 50 && counts == replayed(&alone.0), "{counts:?}");
            }
        }
    }

    /// The mean and its variance.
    fn summed(counts: &[f64]) -> (f64, f64) {
        let (n, sum) = (counts.len() as f64, counts.iter().sum::<f64>());
        let mean = sum / n;
        (mean, counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / n / n)
    }

    fn compare(replayed: &[f64], asked: &[f64]) {
        let ((replayed, one), (asked, other)) = (summed(replayed), summed(asked));
        assert!(asked > 300.0);
        assert!((replayed - asked).abs() < 4.0 * (one + other).sqrt(), "{replayed} against {asked}");
    }

    fn ask<R: Rule>(mut filter: Filled<R>, seed: u64, queries: u64) -> f64 {
        let (keys, mut count) = (keys(seed), 0.0);
        let all = Distribution::Uniform.queries(NonZeroU64::new(ABSENT.into()).expect("keys"), seed);
        for number in all.take(queries as usize) {
            let query = keys.absent(number);
            if filter.contains(&query) {
                count += 1.0;
                filter.was_wrong(&query).expect("an adaptation");
            }
        }
        count
    }

    #[test]
    fn a_replay_has_as_many_false_positives_as_asking_every_query() {
        let queries = 200_000;
        let replayed = |collisions: &Collisions, way, seed| {
            Uniform::new(collisions, way).false_positives(ABSENT.into(), &[queries], &mut Rng::new(seed))[0] as f64
        };
        let both: Vec<[(f64, f64); 2]> = (0..30)
            .map(|seed| {
                let (one, other) = (cyclic(seed), swapping(seed));
                let (next, swap) = (counted(&one, 4, seed).0, counted(&other, 4, seed).0);
                [
                    (replayed(&next, Way::Next, seed), ask(one, seed, queries)),
                    (replayed(&swap, Way::Swap, seed), ask(other, seed, queries)),
                ]
            })
            .collect();
        for filter in 0..2 {
            let of = |pick: fn(&(f64, f64)) -> f64| both.iter().map(|pair| pick(&pair[filter])).collect::<Vec<f64>>();
            compare(&of(|pair| pair.0), &of(|pair| pair.1));
        }
    }

    #[test]
    fn a_filter_that_is_wrong_about_most_keys_is_replayed_too() {
        let queries = 3_000;
        let narrow = |seed| {
            let options = CyclicFilter::with_cells(1000, 4).selectors(Selectors::Equal { bits: 2 });
            fill(options.build(HashKey::fixed(seed), Mirror::new()).expect("a filter"), seed)
        };
        let both: Vec<(f64, f64)> = (0..30)
            .map(|seed| {
                let filter = narrow(seed);
                let collisions = counted(&filter, 4, seed).0;
                let mut uniform = Uniform::new(&collisions, Way::Next);
                let replayed = uniform.false_positives(ABSENT.into(), &[queries], &mut Rng::new(seed))[0] as f64;
                (replayed, ask(filter, seed, queries))
            })
            .collect();
        let of = |pick: fn(&(f64, f64)) -> f64| both.iter().map(pick).collect::<Vec<f64>>();
        compare(&of(|pair| pair.0), &of(|pair| pair.1));
    }
}
