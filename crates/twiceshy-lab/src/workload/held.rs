//! A stream of requests in memory, as numbers of keys.
//!
//! Making or reading a stream takes longer than asking a filter, and a comparison asks for the same stream at many ratios
//! and of many filters. So it is made once, and held: four bytes a request.

use super::firehose::Firehose;
use super::key_set::KeySet;
use super::recording::Recording;
use super::trace::stored_keys;
use super::trace_error::TraceError;
use crate::open::Drawn;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A stream of requests. Keys of a recording are numbered in the order of their first request, so that those stored for any
/// ratio are a prefix.
#[derive(Clone, Debug, Default)]
pub struct Held {
    /// The keys of a recording; empty for a generated stream, whose keys follow from their numbers.
    keys: KeySet,
    requests: Vec<u32>,
    distinct: u64,
    numbers: u64,
    warnings: Vec<String>,
}

/// How many generated streams are held. Two threads that measure different ones need two.
const HELD_AT_ONCE: usize = 3;

/// The generated streams that were asked for last, by name. A stream's own lock is held while it is made, so that others who
/// ask for it wait.
static LATEST: Mutex<VecDeque<(String, Arc<Slot>)>> = Mutex::new(VecDeque::new());

type Slot = Mutex<Option<Arc<Held>>>;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    /// Reads a recording.
    pub fn read(recording: &Recording) -> Result<Held, TraceError> {
        if let Recording::Flows(flows, seed) = recording {
            let mut packets = flows.requests(*seed);
            let (mut ranks, mut held) = (vec![u32::MAX; flows.flows() as usize], Held::default());
            held.requests.reserve_exact(flows.packets() as usize);
            while let Some(flow) = packets.next_flow() {
                let rank = &mut ranks[flow as usize];
                if *rank == u32::MAX {
                    *rank = held.keys.number(&packets.key_of(flow)) as u32;
                }
                held.requests.push(*rank);
            }
            return Ok(held.counted());
        }
        let (mut read, mut held) = (recording.open()?, Held::default());
        while read.advance()? {
            let number = held.keys.number(read.key());
            // 2^32 distinct keys would not fit into memory.
            held.requests.push(number as u32);
        }
        held.warnings = read.warnings();
        Ok(held.counted())
    }

    /// Reads the queries of a workload from outside.
    pub(crate) fn drawn(drawn: &Drawn) -> Result<Held, TraceError> {
        let failed = |why: String| TraceError::Foreign { name: drawn.name(), why };
        let mut held = Held::default();
        for key in drawn.queries() {
            let key = key.map_err(|why| failed(why.to_string()))?;
            held.requests.push(held.keys.number(&key) as u32);
        }
        if held.requests.is_empty() {
            return Err(failed("it asks for no key that is not stored".into()));
        }
        Ok(held.counted())
    }

    fn counted(mut self) -> Held {
        self.distinct = self.keys.len() as u64;
        self.numbers = self.distinct;
        self
    }

    /// The first `queries` of a FireHose stream.
    pub fn firehose(firehose: Firehose, queries: u64, seed: u64) -> Held {
        let requests: Vec<u32> = firehose.numbers(seed).take(queries as usize).map(|number| number as u32).collect();
        let numbers = requests.iter().max().map_or(0, |last| u64::from(*last) + 1);
        let mut asked = vec![false; numbers as usize];
        requests.iter().for_each(|number| asked[*number as usize] = true);
        let distinct = asked.iter().filter(|asked| **asked).count() as u64;
        Held { keys: KeySet::default(), requests, distinct, numbers, warnings: Vec::new() }
    }

    /// A generated stream that is a function of its `name`, made by `make` unless it is still held.
    pub fn generated(name: String, make: impl FnOnce() -> Result<Held, TraceError>) -> Result<Arc<Held>, TraceError> {
        let slot = slot(name);
        let mut held = locked(&slot);
        match &*held {
            Some(held) => Ok(held.clone()),
            None => Ok(held.insert(Arc::new(make()?)).clone()),
        }
    }

    /// The number of distinct keys.
    pub fn distinct(&self) -> u64 {
        self.distinct
    }

    /// The upper bound of the keys' numbers.
    pub fn numbers(&self) -> u64 {
        self.numbers
    }

    /// The requests, as numbers of keys.
    pub fn requests(&self) -> &[u32] {
        &self.requests
    }

    /// The keys of a recording, by number.
    pub fn keys(&self) -> &KeySet {
        &self.keys
    }

    /// What looks wrong in a recording.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// How many of a recording's first keys are stored at a ratio A/S.
    pub fn stored_first(&self, recording: &Recording, ratio: f64) -> Result<u64, TraceError> {
        if !(ratio.is_finite() && ratio > 0.0) {
            return Err(TraceError::Ratio { ratio });
        }
        Ok(stored_keys(|| recording.name(), self.keys.len(), ratio)? as u64)
    }
}

fn slot(name: String) -> Arc<Slot> {
    let mut latest = locked(&LATEST);
    if let Some((_, slot)) = latest.iter().find(|(known, _)| *known == name) {
        return slot.clone();
    }
    let slot = Arc::new(Slot::default());
    latest.push_back((name, slot.clone()));
    if latest.len() > HELD_AT_ONCE {
        latest.pop_front();
    }
    slot
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::firehose::life::PowExp;
    use crate::workload::trace::Trace;

    #[test]
    fn a_held_recording_asks_for_what_a_trace_asks_for() {
        let recording = Recording::Flows("chicago-a/200".parse().expect("flows"), 3);
        let held = Held::read(&recording).expect("flows");
        for ratio in [0.5, 4.0, 90.0] {
            let trace = Trace::of(recording.clone(), ratio).expect("flows");
            let stored = held.stored_first(&recording, ratio).expect("a ratio") as usize;
            assert!(held.keys().iter().take(stored).eq(trace.stored().iter()));
            let mut queries = trace.queries().expect("flows");
            for number in held.requests().iter().filter(|number| **number as usize >= stored) {
                assert_eq!(queries.next_key().expect("flows"), held.keys().get(*number as usize));
            }
            assert_eq!(queries.next_key().expect("the end"), None);
        }
        assert!(held.stored_first(&recording, f64::NAN).is_err());
    }

    #[test]
    fn a_held_firehose_stream_has_the_census_of_the_stream() {
        for firehose in [Firehose::ActiveSet(PowExp::DEFAULT), Firehose::PowerLaw] {
            let (held, census) = (Held::firehose(firehose, 30_000, 4), firehose.census(30_000, 4));
            assert_eq!(held.distinct(), census.distinct);
            assert!(held.numbers() <= census.numbers);
            assert!(held.requests().iter().map(|number| u64::from(*number)).eq(firehose.numbers(4).take(30_000)));
        }
    }

    #[test]
    fn a_stream_is_made_once_while_it_is_held() {
        let named = |name: &str, requests: Vec<u32>| {
            Held::generated(name.into(), || Ok(Held { requests, ..Held::default() })).expect("a stream")
        };
        assert_eq!(named("held test, one", vec![1]).requests(), [1]);
        assert_eq!(named("held test, one", vec![2]).requests(), [1], "held");
        (0..HELD_AT_ONCE).for_each(|number| _ = named(&format!("held test, other {number}"), vec![3]));
        assert_eq!(named("held test, one", vec![4]).requests(), [4], "made again");
    }
}
