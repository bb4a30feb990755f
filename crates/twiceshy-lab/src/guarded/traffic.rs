//! The traffic: queries for absent keys.

use crate::workload::zipf::Exponent;
use crate::workload::{Distribution, Queries};
use serde::Serialize;
use std::fmt;
use std::iter::{Skip, StepBy};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

/// Absent keys per stored key.
const ABSENT_PER_KEY: u64 = 10;

/// A kind of traffic. All queries are for absent keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Uniform over ten absent keys per stored key.
    Uniform,
    /// The same keys, the k-th most popular with probability proportional to 1/k.
    Zipf,
    /// An attacker who looks for slow keys and repeats them nine times in ten.
    Hunt,
    /// An attacker who has found many slow keys beforehand, and now asks for them in turn.
    Replay,
}

impl Traffic {
    /// All of them.
    pub const ALL: [Traffic; 4] = [Traffic::Uniform, Traffic::Zipf, Traffic::Hunt, Traffic::Replay];
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Traffic::Uniform => "uniform",
            Traffic::Zipf => "Zipf",
            Traffic::Hunt => "hunt",
            Traffic::Replay => "replay",
        })
    }
}

/// One thread's share of the traffic: the numbers of absent keys.
pub(crate) enum Stream {
    Drawn(StepBy<Skip<Queries>>),
    Hunt(Hunter),
    /// A list, the position in it, and the step to the next.
    Replay(Arc<[u64]>, usize, usize),
}

/// What clients know about the store.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The number of stored keys.
    pub(crate) stored: NonZeroU64,
    /// A look-up that takes this long has reached the store.
    pub(crate) slow: Duration,
    /// Absent keys that were slow before.
    pub(crate) were_slow: Arc<[u64]>,
}

impl Stream {
    /// The share of thread `own` of `threads`.
    pub(crate) fn new(traffic: Traffic, seed: u64, own: usize, threads: usize, known: &Known) -> Stream {
        let absent = known.stored.saturating_mul(NonZeroU64::new(ABSENT_PER_KEY).unwrap_or(NonZeroU64::MIN));
        let drawn = |law: Distribution| Stream::Drawn(law.queries(absent, seed).skip(own).step_by(threads));
        match (traffic, Exponent::new(1.0)) {
            (Traffic::Zipf, Ok(exponent)) => drawn(Distribution::Zipf(exponent)),
            (Traffic::Hunt, _) => {
                // New keys, different for each thread.
                let fresh = fresh(seed) + (own as u64 + 1) * (1 << 40);
                Stream::Hunt(Hunter { fresh, slow: known.slow, found: Vec::new(), at: 0, asked: 0 })
            }
            (Traffic::Replay, _) => Stream::Replay(Arc::clone(&known.were_slow), own, threads),
            _ => drawn(Distribution::Uniform),
        }
    }

    /// The number of the next key, above those of the stored keys.
    pub(crate) fn next(&mut self, stored: u64) -> u64 {
        match self {
            Stream::Drawn(queries) => stored + queries.next().unwrap_or(0),
            Stream::Hunt(hunter) => hunter.next(),
            Stream::Replay(list, at, step) => {
                *at = (*at + *step) % list.len().max(1);
                list.get(*at).copied().unwrap_or(stored)
            }
        }
    }

    /// Reports how long the last look-up took.
    pub(crate) fn answered(&mut self, took: Duration) {
        if let Stream::Hunt(hunter) = self {
            hunter.answered(took);
        }
    }
}

/// The first of the numbers used by hunters only, above all stored and drawn ones.
fn fresh(seed: u64) -> u64 {
    (1 << 62) + (seed % (1 << 16)) * (1 << 44)
}

/// Asks for absent keys until enough of them were slow. `asks` returns `true` if the store was reached.
pub(crate) fn gather<E>(
    count: usize,
    seed: u64,
    mut asks: impl FnMut(u64) -> Result<bool, E>,
) -> Result<Arc<[u64]>, E> {
    let mut slow = Vec::with_capacity(count);
    let mut number = fresh(seed);
    while slow.len() < count {
        number += 1;
        if asks(number)? {
            slow.push(number);
        }
    }
    Ok(slow.into())
}

/// How many keys a hunter repeats before it looks for another.
const AGAIN: u64 = 9;

/// The most keys that a hunter remembers.
const REMEMBERED: usize = 100_000;

/// Looks for slow keys and repeats them while they are slow.
pub(crate) struct Hunter {
    fresh: u64,
    slow: Duration,
    found: Vec<u64>,
    at: usize,
    asked: u64,
}

impl Hunter {
    fn repeats(&self) -> bool {
        !self.found.is_empty() && !self.asked.is_multiple_of(AGAIN + 1)
    }

    fn next(&mut self) -> u64 {
        if self.repeats() {
            self.at = (self.at + 1) % self.found.len();
            self.found[self.at]
        } else {
            self.fresh += 1;
            self.fresh
        }
    }

    fn answered(&mut self, took: Duration) {
        let slow = took >= self.slow;
        match (self.repeats(), slow) {
            (true, false) => drop(self.found.swap_remove(self.at)),
            (false, true) if self.found.len() < REMEMBERED => self.found.push(self.fresh),
            _ => {}
        }
        self.asked += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(stored: u64, slow: Duration) -> Known {
        Known { stored: NonZeroU64::new(stored).expect("not 0"), slow, were_slow: Arc::new([]) }
    }

    /// Runs a hunter with every 50th new key slow; slow keys stay slow if `lasts`. Returns the share of slow answers.
    fn slow_share(lasts: bool) -> f64 {
        let (slow, fast) = (Duration::from_micros(50), Duration::from_nanos(100));
        let mut stream = Stream::new(Traffic::Hunt, 1, 0, 1, &known(1, slow));
        let mut seen = std::collections::HashSet::new();
        let (mut count, asked) = (0, 100_000);
        for _ in 0..asked {
            let number = stream.next(1);
            let is_slow = number.is_multiple_of(50) && (seen.insert(number) || lasts);
            count += u32::from(is_slow);
            stream.answered(if is_slow { slow } else { fast });
        }
        f64::from(count) / f64::from(asked)
    }

    #[test]
    fn a_hunter_finds_many_slow_answers_only_if_keys_stay_slow() {
        assert!((0.89..0.91).contains(&slow_share(true)), "{}", slow_share(true));
        assert!((0.015..0.02).contains(&slow_share(false)), "{}", slow_share(false));
    }

    #[test]
    fn threads_share_one_stream() {
        let take = |own, threads, count: usize| -> Vec<u64> {
            let mut stream = Stream::new(Traffic::Zipf, 7, own, threads, &known(1_000, Duration::ZERO));
            (0..count).map(|_| stream.next(1_000)).collect()
        };
        let (all, even, odd) = (take(0, 1, 200), take(0, 2, 100), take(1, 2, 100));
        let interleaved: Vec<u64> = even.into_iter().zip(odd).flat_map(|(one, other)| [one, other]).collect();
        assert_eq!(all, interleaved);
        assert!(all.iter().all(|number| (1_000..11_000).contains(number)));
    }
}
