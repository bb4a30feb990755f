//! Workloads from outside: the keys to store and the queries.

use crate::workload::distribution::Distribution;
use crate::workload::key_set::KeySet;
use crate::workload::keys::Keys;
use crate::workload::rng::Rng;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Keys, one after the other. An error ends the run.
pub type KeyStream<'a> = Box<dyn Iterator<Item = Result<Vec<u8>, TrafficError>> + 'a>;

/// Why a workload cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TrafficError(String);

impl TrafficError {
    /// An error with this cause.
    pub fn new(why: impl fmt::Display) -> TrafficError {
        TrafficError(why.to_string())
    }
}

/// What a trial asks of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Draw {
    /// The wanted A/S: distinct absent keys over stored keys.
    pub ratio: f64,
    /// The seed of the trial.
    pub seed: u64,
}

/// A workload: the keys that are stored and the stream of queries.
pub trait Traffic: Send + Sync {
    /// Its name in tables and pictures.
    fn name(&self) -> String;

    /// The keys to store.
    ///
    /// **Contract.** At least one, and the same keys each time for the same draw. A key that comes twice is stored once.
    /// They are held in memory.
    fn stored(&self, draw: Draw) -> KeyStream<'_>;

    /// The queries, in order.
    ///
    /// **Contract.** The same each time for the same draw, with about [`Draw::ratio`] distinct absent keys for each
    /// stored one. A query for a stored key is skipped, as in the papers. They are read as they are asked, and only the
    /// distinct ones are held in memory.
    fn queries(&self, draw: Draw) -> KeyStream<'_>;
}

/// A workload from outside, as a [`Workload`](crate::workload::Workload) holds it.
#[derive(Clone)]
pub struct ForeignTraffic(Arc<dyn Traffic>);

impl ForeignTraffic {
    /// Wraps a workload.
    pub fn new(traffic: impl Traffic + 'static) -> ForeignTraffic {
        ForeignTraffic(Arc::new(traffic))
    }

    /// The keys of one trial.
    pub(crate) fn drawn(&self, draw: Draw) -> Result<Drawn, TrafficError> {
        let mut stored = KeySet::default();
        for key in self.0.stored(draw) {
            stored.insert(&key?);
        }
        if stored.is_empty() {
            return Err(TrafficError::new("it has no key to store: give at least one"));
        }
        Ok(Drawn { traffic: self.clone(), draw, stored })
    }
}

impl PartialEq for ForeignTraffic {
    fn eq(&self, other: &ForeignTraffic) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for ForeignTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ForeignTraffic({})", self.0.name())
    }
}

impl fmt::Display for ForeignTraffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.name())
    }
}

/// A foreign workload in one trial.
#[derive(Clone, Debug)]
pub struct Drawn {
    traffic: ForeignTraffic,
    draw: Draw,
    stored: KeySet,
}

impl Drawn {
    pub(crate) fn name(&self) -> String {
        self.traffic.to_string()
    }

    /// The keys to store.
    pub(crate) fn stored(&self) -> &KeySet {
        &self.stored
    }

    /// The queries for keys that are not stored.
    pub(crate) fn queries(&self) -> KeyStream<'_> {
        let absent = |key: &Result<Vec<u8>, _>| key.as_ref().map_or(true, |key| !self.stored.contains(key));
        Box::new(self.traffic.0.queries(self.draw).filter(absent))
    }
}

/// Queries that are drawn uniformly from the absent keys (003 section 4.1), beside a fixed number of stored keys. Every
/// trial has its own keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uniform {
    /// The stored keys.
    pub keys: u64,
    /// The queries for each absent key, on average.
    pub per_key: u64,
}

impl Uniform {
    fn drawn(self, draw: Draw) -> Result<(Keys, NonZeroU64), TrafficError> {
        let absent = NonZeroU64::new((self.keys as f64 * draw.ratio).round() as u64);
        let absent = absent.ok_or_else(|| TrafficError::new("there is no absent key to ask for: raise A/S"))?;
        let keys = Keys::new(self.keys, absent.get(), draw.seed);
        Ok((keys.ok_or_else(|| TrafficError::new("too many keys: lower A/S"))?, absent))
    }
}

impl Traffic for Uniform {
    fn name(&self) -> String {
        "uniform queries".into()
    }

    fn stored(&self, draw: Draw) -> KeyStream<'_> {
        match self.drawn(draw) {
            Ok((keys, _)) => Box::new((0..self.keys).map(move |number| Ok(keys.stored(number).to_vec()))),
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }

    fn queries(&self, draw: Draw) -> KeyStream<'_> {
        match self.drawn(draw) {
            Ok((keys, absent)) => {
                let queries = absent.get().saturating_mul(self.per_key);
                let numbers = Distribution::Uniform.queries(absent, Rng::stream(draw.seed, 1).word());
                let all = numbers.take(usize::try_from(queries).unwrap_or(usize::MAX));
                Box::new(all.map(move |number| Ok(keys.absent(number).to_vec())))
            }
            Err(error) => Box::new(std::iter::once(Err(error))),
        }
    }
}
