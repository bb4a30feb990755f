//! A sample of the traffic: which keys are stored and which are asked for, in every trial.

use super::scale::{FEWEST_STORED, MOST_QUERIES, MOST_REQUESTS, MOST_STORED, Recorded, Scale};
use super::spread::TRIALS;
use super::{AdviseError, Settings};
use crate::open::Draw;
use crate::replay::DEFAULT_PER_KEY;
use crate::workload::key_set::KeySet;
use crate::workload::keys::Keys;
use crate::workload::recording::Recording;
use crate::workload::rng::{Rng, scramble};
use crate::workload::split::{Apart, Keyed, Split};
use crate::workload::trace::Trace;
use crate::workload::{Distribution, Workload};
use std::sync::Arc;

/// A/S if it is not given.
pub const DEFAULT_RATIO: f64 = 10.0;

/// The queries of an endless generator.
const GENERATED: u64 = 2_000_000;

/// The traffic, cut down to what can be measured in seconds.
pub(super) struct Sample {
    /// One for each hash key.
    pub(super) trials: Vec<Trial>,
    /// A/S.
    pub(super) ratio: f64,
    /// The queries of the whole traffic, and the distinct keys among them.
    pub(super) queries: u64,
    pub(super) distinct: u64,
    /// The mean length of a key that is asked for.
    pub(super) key_bytes: f64,
    /// The standard deviation of a plain filter's rate between hash keys, if that rate is 1: it has each distinct key
    /// wrong or right every time.
    pub(super) unevenness: f64,
    /// `true` if the trace is longer than what was read.
    pub(super) is_cut: bool,
    /// What looks wrong in the trace.
    pub(super) warnings: Vec<String>,
}

/// The keys and queries of one trial.
pub(super) struct Trial {
    pub(super) stored: Vec<Box<[u8]>>,
    /// The keys that queries refer to. Those of the other trials may be among them.
    pub(super) keys: Arc<KeySet>,
    pub(super) queries: Arc<Vec<u32>>,
    /// The distinct keys among the queries.
    pub(super) distinct: u64,
    /// Decides the hash key.
    pub(super) seed: u64,
}

/// A stream that was read.
struct Stream {
    keys: Arc<KeySet>,
    queries: Arc<Vec<u32>>,
    is_cut: bool,
}

impl Stream {
    fn of(keyed: &Keyed<'_>, seed: u64) -> Result<Stream, AdviseError> {
        let (mut keys, mut queries, mut asked) = (KeySet::default(), Vec::new(), keyed.queries(seed)?);
        let is_cut = loop {
            let Some((_, key)) = asked.next_query()? else { break false };
            if queries.len() as u64 == MOST_REQUESTS {
                break true;
            }
            let number = keys.number_of(key).unwrap_or_else(|| {
                keys.insert(key);
                keys.len() - 1
            });
            queries.push(number as u32);
        };
        Ok(Stream { keys: Arc::new(keys), queries: Arc::new(queries), is_cut })
    }

    /// Asks for some copies of every key in turn.
    fn copied(&self, copies: usize) -> Stream {
        if copies == 1 {
            return Stream { keys: Arc::clone(&self.keys), queries: Arc::clone(&self.queries), is_cut: self.is_cut };
        }
        let mut keys = KeySet::default();
        for key in self.keys.iter() {
            (0..copies).for_each(|copy| {
                keys.insert(&copy_of(key, copy));
            });
        }
        let copies_of = |number: u32| (0..copies).map(move |copy| (number as usize * copies + copy) as u32);
        let queries = self.queries.iter().copied().flat_map(copies_of).collect();
        Stream { keys: Arc::new(keys), queries: Arc::new(queries), is_cut: self.is_cut }
    }

    /// How often each key is asked for.
    fn counts(&self) -> Vec<u32> {
        counts(self.keys.len(), &self.queries)
    }
}

/// A copy of a key. Copies of distinct keys are distinct, since the ending is as long in all of them.
fn copy_of(key: &[u8], copy: usize) -> Vec<u8> {
    [key, &(copy as u32).to_le_bytes()].concat()
}

/// How often each of `keys` keys is asked for.
pub(super) fn counts(keys: usize, queries: &[u32]) -> Vec<u32> {
    let mut counts = vec![0; keys];
    queries.iter().for_each(|number| counts[*number as usize] += 1);
    counts
}

impl Sample {
    pub(super) fn of(settings: &Settings) -> Result<Sample, AdviseError> {
        match &settings.workload {
            Workload::Generated(distribution) => generated(settings, *distribution),
            Workload::Misses(path) => {
                let trace = Box::new(Trace::misses(Recording::File(path.clone()))?);
                let distinct = trace.distinct_absent() as f64;
                let stored = settings.ratio.map_or(settings.keys as f64, |ratio| (distinct / ratio).round().max(1.0));
                recorded(settings, &Split::Misses(trace, stored as u64))
            }
            Workload::Trace(path) => {
                recorded(settings, &Split::First(Box::new(Trace::open(path, settings.ratio.unwrap_or(DEFAULT_RATIO))?)))
            }
            Workload::Start(path, most) => {
                let recording = Recording::Start(path.clone(), *most);
                let trace = Trace::of(recording, settings.ratio.unwrap_or(DEFAULT_RATIO))?;
                recorded(settings, &Split::First(Box::new(trace)))
            }
            Workload::Foreign(traffic) => {
                let draw = Draw { ratio: settings.ratio.unwrap_or(DEFAULT_RATIO), seed: settings.seed };
                let drawn =
                    traffic.drawn(draw).map_err(|why| refuse(&format!("the workload {traffic} failed: {why}")))?;
                recorded(settings, &Split::Drawn(Box::new(drawn)))
            }
            Workload::Flows(flows) => {
                let recording = Recording::Flows(*flows, settings.seed);
                let trace = Trace::of(recording, settings.ratio.unwrap_or(DEFAULT_RATIO))?;
                recorded(settings, &Split::First(Box::new(trace)))
            }
            Workload::Firehose(firehose) => {
                let ratio = settings.ratio.unwrap_or(DEFAULT_RATIO);
                let split = Apart::firehose(*firehose, GENERATED, ratio, settings.seed);
                let split = split.ok_or_else(|| refuse("A/S leaves no key to store: lower --ratio"))?;
                recorded(settings, &Split::Apart(split))
            }
        }
    }
}

fn refuse(why: &str) -> AdviseError {
    AdviseError::Setting(why.into())
}

/// Every trial has its own keys and queries.
fn generated(settings: &Settings, distribution: Distribution) -> Result<Sample, AdviseError> {
    let ratio = settings.ratio.unwrap_or(DEFAULT_RATIO);
    let per_key = settings.per_key.unwrap_or(DEFAULT_PER_KEY) as f64;
    let most = (MOST_QUERIES / (ratio * per_key)).clamp(FEWEST_STORED, MOST_STORED);
    let stored = (settings.keys as f64).min(most);
    let (absent, queries) = ((stored * ratio).round(), (stored * ratio).round() * per_key);
    if absent < 1.0 || absent > f64::from(u32::MAX) || queries > MOST_REQUESTS as f64 {
        return Err(refuse("too few or too many queries: --ratio times --per-key must be above 0, and up to 4,000"));
    }
    let split = Apart::by_chance(distribution, stored as u64, absent as u64, queries as u64);
    let split = Split::Apart(split.ok_or_else(|| refuse("there is no absent key to ask for: raise --ratio"))?);
    let (mut trials, mut first) = (Vec::new(), None);
    for number in 0..TRIALS {
        let mut rng = Rng::stream(settings.seed, number as u64);
        let keyed = keyed(&split, rng.word())?;
        let stream = Stream::of(&keyed, rng.word())?;
        let all = Scale { stored: stored as u64, copies: 1, share: 1.0 };
        trials.push(Trial::of(&keyed, &stream, &all, rng.word())?);
        first.get_or_insert(stream);
    }
    let first = first.ok_or_else(|| refuse("no trials"))?;
    Ok(summed(trials, &first, ratio))
}

/// All trials have the same keys and queries, copies of them, or random shares of them.
fn recorded(settings: &Settings, split: &Split) -> Result<Sample, AdviseError> {
    let mut rng = Rng::stream(settings.seed, 0);
    let seed = rng.word();
    let whole = Stream::of(&keyed(split, seed)?, rng.word())?;
    let recorded = Recorded {
        stored: split.stored(),
        made_up: matches!(split, Split::Misses(..)),
        distinct: whole.keys.len() as u64,
        queries: whole.queries.len() as u64,
    };
    let scale = Scale::of(&recorded, settings.keys).map_err(AdviseError::Setting)?;
    let stream = whole.copied(scale.copies as usize);
    let mut trials = Vec::new();
    for number in 0..TRIALS {
        let mut rng = Rng::stream(settings.seed, number as u64 + 1);
        // Recorded keys have their own bytes. Others may differ between trials, but the stream has one form of them.
        let own = if recorded.made_up {
            Keyed::Misses(misses(split)?, Keys::new(scale.stored, 0, rng.word()).ok_or_else(many)?)
        } else {
            keyed(split, seed)?
        };
        trials.push(Trial::of(&own, &stream, &scale, rng.word())?);
    }
    let ratio = recorded.distinct as f64 / recorded.stored as f64;
    Ok(Sample { warnings: split.warnings().to_vec(), ..summed(trials, &whole, ratio) })
}

fn misses(split: &Split) -> Result<&Trace, AdviseError> {
    match split {
        Split::Misses(trace, _) => Ok(trace),
        _ => Err(refuse("the traffic is not a trace of misses")),
    }
}

fn keyed(split: &Split, seed: u64) -> Result<Keyed<'_>, AdviseError> {
    split.keyed(seed).ok_or_else(many)
}

fn many() -> AdviseError {
    refuse("too many keys for 64-bit numbers: use fewer")
}

fn summed(trials: Vec<Trial>, stream: &Stream, ratio: f64) -> Sample {
    let counts = stream.counts();
    let queries = stream.queries.len() as u64;
    let squares: f64 = counts.iter().map(|count| f64::from(*count).powi(2)).sum();
    let bytes: usize = stream.keys.iter().map(<[u8]>::len).sum();
    Sample {
        trials,
        ratio,
        queries,
        distinct: stream.keys.len() as u64,
        key_bytes: bytes as f64 / stream.keys.len().max(1) as f64,
        unevenness: squares.sqrt() / queries.max(1) as f64,
        is_cut: stream.is_cut,
        warnings: Vec::new(),
    }
}

impl Trial {
    /// Stores the keys, or one in `share` of them, or copies of them; and asks for as many of the stream, which has its
    /// copies already.
    fn of(keyed: &Keyed<'_>, stream: &Stream, scale: &Scale, seed: u64) -> Result<Trial, AdviseError> {
        let Scale { share, copies, .. } = *scale;
        let limit = (u64::MAX as f64 / share) as u64;
        let is_in = |number: u64| share <= 1.0 || scramble(number ^ seed) < limit;
        let (mut stored, mut number) = (Vec::new(), 0u64);
        let synthetic = matches!(keyed, Keyed::Misses(..));
        keyed.each_stored(&mut |key| {
            number += 1;
            match () {
                () if synthetic => stored.push(key.into()),
                () if copies > 1 => stored.extend((0..copies as usize).map(|copy| copy_of(key, copy).into())),
                () if is_in(!number) => stored.push(key.into()),
                () => {}
            }
            Ok::<(), AdviseError>(())
        })?;
        if share <= 1.0 {
            let distinct = stream.keys.len() as u64;
            return Ok(Trial {
                stored,
                keys: Arc::clone(&stream.keys),
                queries: Arc::clone(&stream.queries),
                distinct,
                seed,
            });
        }
        let chosen: Vec<bool> = (0..stream.keys.len() as u64).map(is_in).collect();
        let queries: Vec<u32> = stream.queries.iter().copied().filter(|number| chosen[*number as usize]).collect();
        let distinct = chosen.iter().filter(|chosen| **chosen).count() as u64;
        if distinct == 0 || stored.is_empty() {
            return Err(refuse(
                "the trace has too few distinct keys for this number of stored keys: use a longer trace",
            ));
        }
        Ok(Trial { stored, keys: Arc::clone(&stream.keys), queries: Arc::new(queries), distinct, seed })
    }

    /// The distinct keys of the queries, with the number of times that each is asked for.
    pub(super) fn counted(&self) -> impl Iterator<Item = (&[u8], u32)> {
        let counts = counts(self.keys.len(), &self.queries);
        self.keys.iter().zip(counts).filter(|(_, count)| *count > 0)
    }
}
