//! Replaying a workload against a filter: fill it, ask for absent keys, adapt on every false positive, and count.

mod baseline;
mod drive;
mod layout;
mod names;
mod options;
mod prepare;
mod report;
mod spec;
mod subject;
mod sum;
mod table_counts;
mod tally;
mod work;

pub(crate) use layout::Layout;
pub use names::FilterName;
pub(crate) use options::{AnyFilter, AnyRemote, Make, has_room, told};
pub use report::{Phase, Report};
pub use spec::{FilterSpec, Insertion, MovesName, RemoteName};
pub use table_counts::{TableCount, TableCounts};

use crate::workload::Workload;
use crate::workload::trace_error::TraceError;
use twiceshy::error::OptionsError;

/// What to replay.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The filter and its options.
    pub filter: FilterSpec,
    /// The cells of the filter; with recorded and FireHose streams, which bring their own keys, they follow from the load.
    pub cells: Option<u64>,
    /// Keys over cells.
    pub load: f64,
    /// A/S: distinct absent keys over stored keys.
    pub ratio: f64,
    /// Queries for each distinct absent key, on average; for uniform and Zipf queries only.
    pub per_key: Option<u64>,
    /// Queries in each trial, in place of `per_key`; not with recorded streams, which have their own. FireHose streams have
    /// as many as in 004 where this is `None`.
    pub queries: Option<u64>,
    /// How often, each time under another hash key, and under other keys unless they are recorded. Recorded and FireHose
    /// streams are the same in all trials.
    pub trials: u32,
    /// Where all randomness comes from.
    pub seed: u64,
    /// Which absent key is asked for next.
    pub workload: Workload,
    /// Whether look-ups are timed in a pass of their own in the end.
    pub timed: bool,
    /// How many trials run at once.
    pub jobs: usize,
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Queries asked so far, over all trials.
    pub queries: u64,
    /// Queries in all.
    pub of: u64,
}

/// Why a replay could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A setting that cannot work.
    #[error("{0}")]
    Setting(String),
    /// The filter's options cannot work.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The trace cannot be used.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The keys do not fit.
    #[error(
        "{keys} keys do not fit into {cells} cells of this shape under any of {tries} hash keys: lower --load \
         ({design:.2} is what the shape is good for)"
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
    /// The filter and its remote disagree: a bug.
    #[error("the filter and its remote failed together: {0}")]
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

/// Runs all trials and adds them up. `progress` is told now and then, from any thread.
pub fn run(settings: &Settings, progress: &(dyn Fn(Progress) + Sync)) -> Result<Report, ReplayError> {
    settings.check()?;
    drive::drive(settings, progress)
}

impl Settings {
    fn check(&self) -> Result<(), ReplayError> {
        let refuse = |why: String| Err(ReplayError::Setting(why));
        if !(self.load > 0.0 && self.load <= 1.0) {
            return refuse(format!("a load of {} is impossible: above 0 and up to 1, such as 0.95", self.load));
        }
        if !(self.ratio > 0.0 && self.ratio.is_finite()) {
            return refuse(format!("a ratio A/S of {} is impossible: a number above 0, such as 10", self.ratio));
        }
        if self.trials == 0 {
            return refuse("0 trials measure nothing: ask for at least 1".into());
        }
        let zero = |given: Option<u64>| given == Some(0);
        if zero(self.cells) {
            return refuse("0 cells hold nothing: ask for at least 8".into());
        }
        if zero(self.per_key) || zero(self.queries) {
            return refuse("0 queries ask nothing: ask for at least 1".into());
        }
        if self.per_key.is_some() && self.queries.is_some() {
            return refuse("--per-key and --queries both say how many queries: leave one of them out".into());
        }
        let (what, own_queries) = match self.workload {
            Workload::Generated(_) => return Ok(()),
            Workload::Firehose(_) => ("a FireHose stream", false),
            Workload::Flows(_) => ("a stream of synthetic flows", true),
            Workload::Trace(_) | Workload::Misses(_) => ("a trace", true),
        };
        if self.cells.is_some() {
            let why = "brings its own number of keys: leave --cells out, the table is sized from --load";
            return refuse(format!("{what} {why}"));
        }
        if own_queries && (self.per_key.is_some() || self.queries.is_some()) {
            return refuse(format!("{what} brings its own queries: leave --per-key and --queries out"));
        }
        if self.per_key.is_some() {
            return refuse(format!("{what} repeats its keys as it does: leave --per-key out, and give --queries"));
        }
        Ok(())
    }
}

/// The cells of a filter whose size nobody chose.
pub const DEFAULT_CELLS: u64 = 16_384;

/// The queries a key where nobody chose.
pub const DEFAULT_PER_KEY: u64 = 100;
