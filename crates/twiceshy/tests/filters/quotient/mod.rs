//! The quotient family: what it promises beyond what every filter with a remote does.

mod adapting;
mod extensions;
mod mixed;
mod never_guess;
mod remote_use;
mod side_table;

use twiceshy::AdaptiveFilter;
use twiceshy::filter::Filter;
use twiceshy::hash::HashKey;
use twiceshy::quotient::{Options, RankSelectFilter, Rule, RuleSpec};
use twiceshy::remote::{ByHash, Remote};

/// A filter of the quotient family with its keys.
type Pair<Rule, R = ByHash> = AdaptiveFilter<RankSelectFilter<Rule>, R>;

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// A filter of these options that holds the keys from 0 on, up to this load.
fn filled<S: RuleSpec, R: Remote>(options: &Options<S>, load: f64, hash: HashKey, remote: R) -> Pair<S::Rule, R> {
    let mut pair = options.build(hash, remote).expect("options that can be");
    let keys = (pair.filter().cells() as f64 * load).round() as u64;
    for number in 0..keys {
        pair.insert(&key(number)).expect("a load that fits");
    }
    pair
}

/// The quotient that a key has: the run that it shares with others.
fn quotient<R: Rule>(filter: &RankSelectFilter<R>, key: &[u8]) -> u64 {
    let word = filter.hash_key().words(key).word(0);
    ((u128::from(word) * u128::from(filter.cells())) >> 64) as u64
}

/// The reads of the remote that a reset needs: an extension leaves remainders as they are, so its block needs no keys.
fn reads_a_reset<R: Rule>() -> u64 {
    u64::from(!std::any::type_name::<R>().ends_with("Extensions"))
}

/// A string of numbers from a seed.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        HashKey::fixed(99).words(&self.0.to_le_bytes()).word(0)
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}
