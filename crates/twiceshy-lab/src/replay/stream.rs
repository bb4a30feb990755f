//! The stream of a comparison, and the keys that are stored for it.

use super::ReplayError;
use super::comparison::{Comparison, Recorded};
use super::prepare::{foreign, nothing_to_store, too_many_queries, too_many_stored};
use crate::open::{Draw, Drawn};
use crate::workload::Workload;
use crate::workload::held::Held;
use crate::workload::keys::Keys;
use crate::workload::recording::Recording;
use std::sync::Arc;

/// A held stream at a ratio.
pub(super) struct Stream {
    pub(super) held: Arc<Held>,
    /// The number of stored keys.
    pub(super) stored: u64,
    which: Which,
}

/// Which keys are stored.
enum Which {
    /// The first of the stream.
    First,
    /// Others, none of which the stream asks for.
    Others,
    /// Those that a workload from outside names.
    Given(Box<Drawn>),
}

impl Stream {
    /// The stream of a comparison's trial. A recording is read once for all trials; the streams generated last are held too.
    pub(super) fn of(comparison: &Comparison, seed: u64, recorded: &Recorded) -> Result<Stream, ReplayError> {
        let ratio = comparison.ratio;
        let file = |recording: &Recording| match recorded.0.get() {
            Some(held) => Ok(held.clone()),
            None => {
                let held = Arc::new(Held::read(recording)?);
                Ok::<_, ReplayError>(recorded.0.get_or_init(|| held).clone())
            }
        };
        match &comparison.workload {
            Workload::Generated(_) => {
                let why = "random keys follow from the size of one filter: choose a stream that has its own keys";
                Err(ReplayError::Setting(why.into()))
            }
            Workload::Trace(path) => {
                let recording = Recording::File(path.clone());
                let held = file(&recording)?;
                Ok(Stream { stored: held.stored_first(&recording, ratio)?, held, which: Which::First })
            }
            Workload::Start(path, most) => {
                let recording = Recording::Start(path.clone(), *most);
                let held = file(&recording)?;
                Ok(Stream { stored: held.stored_first(&recording, ratio)?, held, which: Which::First })
            }
            Workload::Foreign(traffic) => {
                let drawn = traffic.drawn(Draw { ratio, seed }).map_err(|why| foreign(traffic.to_string(), &why))?;
                let (held, stored) = (Held::drawn(&drawn)?, drawn.stored().len() as u64);
                Ok(Stream { held: Arc::new(held), stored, which: Which::Given(Box::new(drawn)) })
            }
            Workload::Flows(flows) => {
                let recording = Recording::Flows(*flows, seed);
                let held = Held::generated(format!("{recording:?}"), || Held::read(&recording))?;
                Ok(Stream { stored: held.stored_first(&recording, ratio)?, held, which: Which::First })
            }
            Workload::Misses(path) => {
                let held = file(&Recording::File(path.clone()))?;
                let stored = too_many_stored((held.distinct() as f64 / ratio).round().max(1.0))?;
                Ok(Stream { held, stored, which: Which::Others })
            }
            Workload::Firehose(firehose) => {
                let queries = too_many_queries(comparison.queries.unwrap_or(firehose.default_queries()))?;
                let name = format!("{firehose:?}, {queries} queries, seed {seed}");
                let held = Held::generated(name, || Ok(Held::firehose(*firehose, queries, seed)))?;
                let stored = (held.distinct() as f64 / ratio).round() as u64;
                if stored == 0 {
                    return Err(nothing_to_store(ratio, queries));
                }
                Ok(Stream { held, stored, which: Which::Others })
            }
        }
    }

    /// The upper bound of the numbers of absent keys.
    pub(super) fn absent(&self) -> u64 {
        match self.which {
            Which::First => self.held.numbers() - self.stored,
            Which::Others | Which::Given(_) => self.held.numbers(),
        }
    }

    /// The stream with the bytes of its keys. Generated keys follow from the seed.
    pub(super) fn keyed(&self, seed: u64) -> Result<Keyed<'_>, ReplayError> {
        let too_many = || ReplayError::Setting("too many keys for 64-bit numbers: use fewer".into());
        let keys = Keys::new(self.stored, self.absent(), seed).ok_or_else(too_many)?;
        Ok(Keyed { stream: self, keys })
    }
}

/// A stream with the bytes of its keys.
pub(super) struct Keyed<'a> {
    stream: &'a Stream,
    keys: Keys,
}

/// The bytes of a key: those of a recording, or generated ones.
pub(super) enum Bytes<'a> {
    Recorded(&'a [u8]),
    Generated([u8; 8]),
}

impl Bytes<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Bytes::Recorded(key) => key,
            Bytes::Generated(key) => key,
        }
    }
}

impl Keyed<'_> {
    /// Passes every stored key to `put`, until it returns an error.
    pub(super) fn each_stored<E>(&self, put: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        match &self.stream.which {
            Which::Given(drawn) => drawn.stored().iter().try_for_each(put),
            Which::First => self.stream.held.keys().iter().take(self.stream.stored as usize).try_for_each(put),
            Which::Others => self.keys.stored_keys().try_for_each(|key| put(&key)),
        }
    }

    /// The queries, as numbers of absent keys.
    pub(super) fn queries(&self) -> impl Iterator<Item = u32> {
        let first = if matches!(self.stream.which, Which::First) { self.stream.stored as u32 } else { 0 };
        self.stream.held.requests().iter().filter_map(move |number| number.checked_sub(first))
    }

    /// The bytes of an absent key.
    pub(super) fn absent(&self, number: u32) -> Bytes<'_> {
        let number = u64::from(number);
        let recorded = match self.stream.which {
            Which::First => self.stream.held.keys().get((self.stream.stored + number) as usize),
            Which::Others | Which::Given(_) => self.stream.held.keys().get(number as usize),
        };
        recorded.map_or_else(|| Bytes::Generated(self.keys.absent(number)), Bytes::Recorded)
    }
}
