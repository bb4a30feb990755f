//! Replays a workload against a filter: fill it, ask for absent keys, adapt on every false positive, and count.

mod afterwards;
mod asking;
mod baseline;
mod comparison;
mod drive;
mod layout;
mod lookers;
mod memory;
mod names;
mod noting;
mod options;
mod prepare;
mod report;
mod spec;
mod stream;
mod subject;
mod sum;
mod table_counts;
mod tally;
mod work;

pub use afterwards::{Afterwards, Relearned};
pub use comparison::{Comparison, Recorded};
pub(crate) use layout::Layout;
pub use memory::Memory;
pub(crate) use memory::{cells_for, widest_within};
pub use names::FilterName;
pub(crate) use options::{AnyFilter, AnyRemote, Make, has_room, told};
pub use report::{Phase, Report};
pub use spec::{FilterSpec, Insertion, MovesName, RemoteName};
pub use table_counts::{TableCount, TableCounts};

use crate::workload::Workload;
use crate::workload::trace_error::TraceError;
use twiceshy::error::OptionsError;
use twiceshy::memory::Limits;

/// The input of [`run`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// The filter and its options.
    pub filter: FilterSpec,
    /// The filter's cells. For recorded and FireHose streams, which have their own keys, they follow from the load.
    pub cells: Option<u64>,
    /// Keys over cells.
    pub load: f64,
    /// A/S: distinct absent keys over stored keys.
    pub ratio: f64,
    /// Queries per distinct absent key, on average; for uniform and Zipf queries only.
    pub per_key: Option<u64>,
    /// Queries per trial, instead of `per_key`; not for recorded streams, which have their own. For FireHose streams,
    /// `None` means as many as in 004.
    pub queries: Option<u64>,
    /// The number of trials, each under another hash key, and with other keys unless they are recorded. Recorded and
    /// FireHose streams are the same in all trials.
    pub trials: u32,
    /// The random seed.
    pub seed: u64,
    /// Which absent key is asked for next.
    pub workload: Workload,
    /// `true` to time look-ups in a separate pass at the end.
    pub timed: bool,
    /// How many trials run in parallel.
    pub jobs: usize,
    /// How many mistakes are remembered.
    pub memory: Option<Limits>,
    /// What happens to the filter after the queries.
    pub then: Option<Afterwards>,
}

/// The progress of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Queries asked so far, over all trials.
    pub queries: u64,
    /// The total number of queries.
    pub of: u64,
}

/// Why a replay could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// An invalid setting.
    #[error("{0}")]
    Setting(String),
    /// Invalid options of the filter.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The trace cannot be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The keys do not fit.
    #[error(
        "{keys} keys do not fit into {cells} cells of this shape under any of {tries} hash keys: lower --load \
         (the shape is planned for {design:.2})"
    )]
    Full {
        /// The keys to be stored.
        keys: u64,
        /// The cells of the filter.
        cells: u64,
        /// The hash keys that were tried.
        tries: u32,
        /// The load that tables of this shape are planned for.
        design: f64,
    },
    /// A filter from outside refuses to be made, filled or taught.
    #[error("the filter {filter} failed: {why}")]
    Rival {
        /// Its name.
        filter: String,
        /// What it says.
        why: String,
    },
    /// A filter from outside has no room for the keys.
    #[error(
        "the filter {filter} has no room for {keys} keys in {bits} bits under any of {tries} seeds: give it more bits a key, or \
         let it use its memory better"
    )]
    NoRoom {
        /// Its name.
        filter: String,
        /// The keys to be stored.
        keys: u64,
        /// The bits that it was given.
        bits: u64,
        /// The seeds that were tried.
        tries: u32,
    },
    /// A filter calls a stored key absent.
    #[error("the filter {filter} lies: {when} it calls the stored key {key} absent")]
    FalseNegative {
        /// Its name.
        filter: String,
        /// "after filling" or "after its queries".
        when: &'static str,
        /// The key, escaped.
        key: String,
    },
    /// The filter and its remote disagree: a bug.
    #[error("the filter and its remote disagree, which is a bug: {0}")]
    Seam(String),
}

impl From<twiceshy::Error> for ReplayError {
    fn from(error: twiceshy::Error) -> ReplayError {
        match error {
            twiceshy::Error::Options(error) => ReplayError::Options(error),
            error => ReplayError::Seam(error.to_string()),
        }
    }
}

/// Runs all trials and adds them up. `progress` is called from time to time, from any thread.
pub fn run(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    settings.check()?;
    drive::drive(settings, progress)
}

impl Settings {
    /// A trial of nothing in particular, to be filled in.
    pub(crate) fn empty() -> Settings {
        Settings {
            filter: FilterSpec::new(twiceshy::Kind::FullKey, 8),
            cells: None,
            load: 0.95,
            ratio: 1.0,
            per_key: None,
            queries: None,
            trials: 1,
            seed: 0,
            workload: Workload::Generated(crate::workload::Distribution::Uniform),
            timed: false,
            jobs: 1,
            memory: None,
            then: None,
        }
    }

    fn check(&self) -> Result<(), ReplayError> {
        let refuse = |why: String| Err(ReplayError::Setting(why));
        if !(self.load > 0.0 && self.load <= 1.0) {
            return refuse(format!("the load must be above 0 and up to 1, such as 0.95, not {}", self.load));
        }
        if !(self.ratio > 0.0 && self.ratio.is_finite()) {
            return refuse(format!("the ratio A/S must be above 0, such as 10, not {}", self.ratio));
        }
        if self.trials == 0 {
            return refuse("the number of trials must be at least 1, not 0".into());
        }
        if self.then.is_some() && (self.filter.partial_key || !matches!(self.filter.name, FilterName::Ours(_))) {
            return refuse("--then needs a filter that knows its keys: leave it out".into());
        }
        let zero = |given: Option<u64>| given == Some(0);
        if zero(self.cells) {
            return refuse("the number of cells must be at least 8, not 0".into());
        }
        if zero(self.per_key) || zero(self.queries) {
            return refuse("the number of queries must be at least 1, not 0".into());
        }
        if self.per_key.is_some() && self.queries.is_some() {
            return refuse("--per-key and --queries both set the number of queries: leave one of them out".into());
        }
        let (what, own_queries) = match self.workload {
            Workload::Generated(_) => return Ok(()),
            Workload::Firehose(_) => ("a FireHose stream", false),
            Workload::Flows(_) => ("a stream of synthetic flows", true),
            Workload::Trace(_) | Workload::Start(..) | Workload::Misses(_) => ("a trace", true),
            Workload::Foreign(_) => ("a workload from outside", true),
        };
        if self.cells.is_some() {
            let why = "has its own number of keys: leave --cells out, the table is sized by --load";
            return refuse(format!("{what} {why}"));
        }
        if own_queries && (self.per_key.is_some() || self.queries.is_some()) {
            return refuse(format!("{what} has its own queries: leave --per-key and --queries out"));
        }
        if self.per_key.is_some() {
            return refuse(format!("{what} has its own repetitions: leave --per-key out, and give --queries"));
        }
        Ok(())
    }
}

/// The default number of cells.
pub const DEFAULT_CELLS: u64 = 16_384;

/// The default number of queries per key.
pub const DEFAULT_PER_KEY: u64 = 100;
