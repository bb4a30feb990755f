//! How often a filter that was never told of a mistake is wrong: within four standard deviations of the formula, on both
//! sides.
//!
//! Given a table, the answers to fresh queries are independent, and the table itself enters through its load alone, but
//! for terms of the order of 1/v²; so the number of false positives is binomial to good accuracy.

mod broom;
mod cuckoo;
mod quotient;

use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;

/// Each configuration is measured under this many hash keys.
const HASH_KEYS: u64 = 10;
/// Queries for each configuration, over all its hash keys.
const MANY: u64 = 10_000_000;
const SOME: u64 = 1_000_000;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// The hash keys of a configuration, each its own. Both hash functions take turns.
fn hash_keys(name: &str) -> impl Iterator<Item = HashKey> {
    let seed = HashKey::fixed(0).words(name.as_bytes()).word(0);
    (0..HASH_KEYS).map(move |turn| {
        let key = HashKey::fixed(seed.wrapping_add(turn));
        if turn % 2 == 0 { key } else { key.for_trusted_keys() }
    })
}

/// What was seen against what a formula says, summed over filters.
#[derive(Default)]
struct Tally {
    queries: u64,
    seen: u64,
    expected: f64,
    variance: f64,
}

impl Tally {
    /// Asks a filter for keys that it does not hold.
    fn ask(&mut self, filter: &impl Filter, queries: u64, rate: f64) {
        // Stored keys are below 2^32.
        let absent = (1 << 40)..(1 << 40) + queries;
        self.seen += absent.filter(|number| filter.contains(&key(*number))).count() as u64;
        self.queries += queries;
        self.expected += queries as f64 * rate;
        self.variance += queries as f64 * rate * (1.0 - rate);
    }

    /// Allows for a rate that is itself drawn, once for all these queries.
    fn allow(&mut self, variance_of_rate: f64, queries: u64) {
        self.variance += (queries as f64).powi(2) * variance_of_rate;
    }

    /// How many standard deviations the count is away.
    fn deviations(&self) -> f64 {
        (self.seen as f64 - self.expected) / self.variance.sqrt()
    }

    fn report(&self, name: &str) -> f64 {
        let (measured, predicted) = (self.seen as f64, self.expected);
        let queries = self.queries as f64;
        let z = self.deviations();
        println!("{name:<34} {:.4e} measured, {:.4e} predicted, {z:+.2} sd", measured / queries, predicted / queries);
        z
    }
}
