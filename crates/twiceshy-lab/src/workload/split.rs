//! Which keys are stored and which are asked for: the two ways of the papers, and a log of misses.

use super::distribution::{Distribution, Queries};
use super::firehose::{Firehose, FirehoseNumbers};
use super::keys::Keys;
use super::trace::{Trace, TraceQueries};
use super::trace_error::TraceError;
use crate::open::{Drawn, KeyStream};
use std::fmt;

/// A stream of queries and the keys that are stored for it.
///
/// Either the stored keys never occur in the stream, or they are its first distinct keys. The former holds for
/// generated streams: 003 section 4.1, and 004 section 6.1 with its FireHose data, where the stream determines |A|, and
/// |S| is |A| over the ratio. The latter holds for recordings: 003 section 4.2, 000 section 4.
#[derive(Clone, Debug)]
pub enum Split {
    /// Generated keys, separate from the stored ones.
    Apart(Apart),
    /// A recording, whose first distinct keys are stored.
    First(Box<Trace>),
    /// A recording none of whose keys is stored, and the number of other keys that are.
    Misses(Box<Trace>, u64),
    /// The keys of a workload from outside.
    Drawn(Box<Drawn>),
}

/// A generated stream of key numbers, and the number of stored keys.
#[derive(Clone, Debug)]
pub struct Apart {
    numbers_of: Numbers,
    stored: u64,
    distinct: u64,
    numbers: u64,
    queries: u64,
}

#[derive(Clone, Copy, Debug)]
enum Numbers {
    ByChance(Distribution),
    /// With a fixed seed: all trials read the same stream.
    Firehose(Firehose, u64),
}

impl Apart {
    /// `queries` draws from `absent` keys, next to `stored` other keys; `None` if there is no absent key.
    pub fn by_chance(distribution: Distribution, stored: u64, absent: u64, queries: u64) -> Option<Self> {
        let numbers_of = Numbers::ByChance(distribution);
        (absent > 0).then_some(Self { numbers_of, stored, distinct: absent, numbers: absent, queries })
    }

    /// The first `queries` of a FireHose stream, next to |A| / ratio other keys; `None` if that is less than one key.
    ///
    /// Reads the stream once to count its distinct keys.
    pub fn firehose(firehose: Firehose, queries: u64, ratio: f64, seed: u64) -> Option<Self> {
        let census = firehose.census(queries, seed);
        let stored = (census.distinct as f64 / ratio).round() as u64;
        let numbers_of = Numbers::Firehose(firehose, seed);
        (stored > 0).then_some(Self { numbers_of, stored, distinct: census.distinct, numbers: census.numbers, queries })
    }
}

impl Split {
    /// The number of stored keys.
    pub fn stored(&self) -> u64 {
        match self {
            Self::Apart(apart) => apart.stored,
            Self::First(trace) => trace.stored().len() as u64,
            Self::Misses(_, stored) => *stored,
            Self::Drawn(drawn) => drawn.stored().len() as u64,
        }
    }

    /// What looks wrong in the trace, if it is one: see [`Trace::warnings`].
    pub fn warnings(&self) -> &[String] {
        match self {
            Self::Apart(_) | Self::Drawn(_) => &[],
            Self::First(trace) | Self::Misses(trace, _) => trace.warnings(),
        }
    }

    /// The number of distinct keys to ask for. A random stream may leave some of them out. 0 for a workload from outside,
    /// which does not say.
    pub fn distinct_absent(&self) -> u64 {
        match self {
            Self::Apart(apart) => apart.distinct,
            Self::First(trace) | Self::Misses(trace, _) => trace.distinct_absent() as u64,
            Self::Drawn(_) => 0,
        }
    }

    /// The most queries. For a recording, requests for stored keys count too. 0 for a workload from outside.
    pub fn requests(&self) -> u64 {
        match self {
            Self::Apart(apart) => apart.queries,
            Self::First(trace) | Self::Misses(trace, _) => trace.requests(),
            Self::Drawn(_) => 0,
        }
    }

    /// The upper bound of query numbers; `None` if keys are told apart by their bytes only.
    pub fn numbers(&self) -> Option<u64> {
        match self {
            Self::Apart(apart) => Some(apart.numbers),
            Self::First(_) | Self::Misses(..) | Self::Drawn(_) => None,
        }
    }

    /// Fixes the bytes of the keys: generated keys follow from the seed, so that each trial can have others; recorded
    /// keys stay as they are. `None` if there are more keys than eight bytes can name.
    pub fn keyed(&self, seed: u64) -> Option<Keyed<'_>> {
        match self {
            Self::Apart(apart) => Some(Keyed::Apart(apart, Keys::new(apart.stored, apart.numbers, seed)?)),
            Self::First(trace) => Some(Keyed::First(trace)),
            Self::Misses(trace, stored) => Some(Keyed::Misses(trace, Keys::new(*stored, 0, seed)?)),
            Self::Drawn(drawn) => Some(Keyed::Drawn(drawn)),
        }
    }
}

/// A [`Split`] with the bytes of its keys.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the variants of `Split`")]
pub enum Keyed<'a> {
    Apart(&'a Apart, Keys),
    First(&'a Trace),
    Misses(&'a Trace, Keys),
    Drawn(&'a Drawn),
}

impl Keyed<'_> {
    /// Passes every stored key to `put`, until it returns an error.
    pub fn each_stored<E>(&self, put: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match self {
            Self::Apart(_, keys) | Self::Misses(_, keys) => keys.stored_keys().try_for_each(|key| put(&key)),
            Self::First(trace) => trace.stored().iter().try_for_each(put),
            Self::Drawn(drawn) => drawn.stored().iter().try_for_each(put),
        }
    }

    /// The queries from the start. The seed affects random streams only.
    pub fn queries(&self, seed: u64) -> Result<SplitQueries<'_>, TraceError> {
        let (apart, keys) = match self {
            Self::Apart(apart, keys) => (apart, keys),
            Self::First(trace) | Self::Misses(trace, _) => {
                return Ok(SplitQueries(Kind::First(Box::new(trace.queries()?))));
            }
            Self::Drawn(drawn) => {
                let asked = Asked { drawn, stream: drawn.queries(), key: Vec::new(), any: false };
                return Ok(SplitQueries(Kind::Drawn(asked)));
            }
        };
        let numbers = match apart.numbers_of {
            // Never 0, see `by_chance`.
            Numbers::ByChance(distribution) => std::num::NonZeroU64::new(apart.numbers)
                .map_or(Stream::None, |absent| Stream::ByChance(Box::new(distribution.queries(absent, seed)))),
            Numbers::Firehose(firehose, seed) => Stream::Firehose(firehose.numbers(seed)),
        };
        Ok(SplitQueries(Kind::Apart { keys, numbers, left: apart.queries, key: [0; 8] }))
    }

    /// The generated keys, if there are any.
    pub fn into_keys(self) -> Option<Keys> {
        match self {
            Self::Apart(_, keys) => Some(keys),
            Self::First(_) | Self::Misses(..) | Self::Drawn(_) => None,
        }
    }
}

/// The queries of a [`Split`].
#[derive(Debug)]
pub struct SplitQueries<'a>(Kind<'a>);

#[derive(Debug)]
enum Kind<'a> {
    Apart { keys: &'a Keys, numbers: Stream, left: u64, key: [u8; 8] },
    First(Box<TraceQueries<'a>>),
    Drawn(Asked<'a>),
}

/// The queries of a workload from outside.
struct Asked<'a> {
    drawn: &'a Drawn,
    stream: KeyStream<'a>,
    key: Vec<u8>,
    /// `true` after the first query.
    any: bool,
}

impl Asked<'_> {
    fn next_key(&mut self) -> Result<Option<&[u8]>, TraceError> {
        let failed = |why: String| TraceError::Foreign { name: self.drawn.name(), why };
        let key = self.stream.next().transpose().map_err(|why| failed(why.to_string()))?;
        if key.is_none() && !self.any {
            return Err(failed("it asks for no key that is not stored".into()));
        }
        self.any = true;
        Ok(key.map(|key| {
            self.key = key;
            &self.key[..]
        }))
    }
}

impl fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Asked({})", self.drawn.name())
    }
}

#[derive(Debug)]
enum Stream {
    None,
    ByChance(Box<Queries>),
    Firehose(FirehoseNumbers),
}

impl SplitQueries<'_> {
    /// The next query, with its number if keys have one (see [`Split::numbers`]) and 0 otherwise; `None` at the end.
    pub fn next_query(&mut self) -> Result<Option<(u64, &[u8])>, TraceError> {
        match &mut self.0 {
            Kind::First(queries) => Ok(queries.next_key()?.map(|key| (0, key))),
            Kind::Drawn(asked) => Ok(asked.next_key()?.map(|key| (0, key))),
            Kind::Apart { left: 0, .. } => Ok(None),
            Kind::Apart { keys, numbers, left, key } => {
                *left -= 1;
                let number = match numbers {
                    Stream::None => None,
                    Stream::ByChance(queries) => queries.next(),
                    Stream::Firehose(numbers) => numbers.next(),
                };
                Ok(number.map(|number| {
                    *key = keys.absent(number);
                    (number, &key[..])
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::firehose::life::PowExp;
    use std::collections::HashSet;

    const ACTIVE_SET: Firehose = Firehose::ActiveSet(PowExp::DEFAULT);

    fn stored(keyed: &Keyed<'_>) -> HashSet<Vec<u8>> {
        let mut stored = HashSet::new();
        let all: Result<(), ()> = keyed.each_stored(&mut |key| {
            stored.insert(key.to_vec());
            Ok(())
        });
        assert_eq!(all, Ok(()));
        stored
    }

    fn asked(keyed: &Keyed<'_>, seed: u64) -> Vec<Vec<u8>> {
        let mut queries = keyed.queries(seed).expect("nothing to open");
        let mut asked = Vec::new();
        while let Some((_, key)) = queries.next_query().expect("nothing to read") {
            asked.push(key.to_vec());
        }
        asked
    }

    #[test]
    fn a_firehose_stream_has_the_same_absent_keys_at_every_ratio_and_never_asks_for_a_stored_one() {
        for (firehose, queries) in [(ACTIVE_SET, 150_000), (Firehose::PowerLaw, 50_000)] {
            let mut absent = HashSet::new();
            for ratio in [1.0, 8.0, 100.0] {
                let split = Split::Apart(Apart::firehose(firehose, queries, ratio, 3).expect("a key to store"));
                let keyed = split.keyed(7).expect("few keys");
                let (stored, asked) = (stored(&keyed), asked(&keyed, 1));
                assert_eq!(asked.len() as u64, queries);
                let asked: HashSet<Vec<u8>> = asked.into_iter().collect();
                assert_eq!(asked.len() as u64, split.distinct_absent(), "{firehose}");
                assert!(asked.is_disjoint(&stored));
                assert_eq!(stored.len() as u64, split.stored());
                assert!((asked.len() as f64 / ratio - stored.len() as f64).abs() <= 0.5, "{firehose} {ratio}");
                absent.insert(split.distinct_absent());
            }
            assert_eq!(absent.len(), 1);
        }
    }

    #[test]
    fn trials_read_the_same_firehose_stream_under_other_keys() {
        let split = Split::Apart(Apart::firehose(ACTIVE_SET, 5_000, 10.0, 3).expect("a key to store"));
        let numbers = |key_seed, seed| {
            let keyed = split.keyed(key_seed).expect("few keys");
            let mut queries = keyed.queries(seed).expect("nothing to open");
            let mut numbers = Vec::new();
            while let Some((number, _)) = queries.next_query().expect("nothing to read") {
                numbers.push(number);
            }
            (numbers, asked(&keyed, seed))
        };
        let (first, second) = (numbers(1, 10), numbers(2, 20));
        assert_eq!(first.0, second.0);
        assert_ne!(first.1, second.1);
    }

    #[test]
    fn a_ratio_that_leaves_nothing_to_store_is_refused() {
        assert!(Apart::firehose(ACTIVE_SET, 100, 300.0, 1).is_none());
        assert!(Apart::firehose(ACTIVE_SET, 0, 1.0, 1).is_none());
        assert!(Apart::by_chance(Distribution::Uniform, 10, 0, 5).is_none());
    }
}
