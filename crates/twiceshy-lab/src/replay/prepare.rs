//! Turns settings into keys, queries and a table size.

use super::{DEFAULT_CELLS, DEFAULT_PER_KEY, ReplayError, Settings};
use crate::open::{Draw, TrafficError};
use crate::workload::recording::Recording;
use crate::workload::split::{Apart, Split};
use crate::workload::trace::Trace;
use crate::workload::trace_error::TraceError;
use crate::workload::{Distribution, Workload};

/// More queries than any run could finish.
const MOST_QUERIES: f64 = (1u64 << 50) as f64;

/// The keys and queries, and the cells of the filter.
pub(super) fn prepare(settings: &Settings) -> Result<(Split, u64), ReplayError> {
    if let Workload::Generated(distribution) = &settings.workload {
        return by_chance(settings, *distribution);
    }
    let split = of_stream(settings)?;
    let cells = settings.filter.layout().cells((split.stored() as f64 / settings.load).ceil() as u64)?;
    Ok((split, cells))
}

/// The keys and queries of a workload that has its own keys. They do not depend on the filter.
pub(super) fn of_stream(settings: &Settings) -> Result<Split, ReplayError> {
    Ok(match &settings.workload {
        Workload::Generated(_) => {
            let why = "random keys follow from the size of one filter: choose a stream that has its own keys";
            return Err(ReplayError::Setting(why.into()));
        }
        Workload::Trace(path) => Split::First(Box::new(Trace::open(path, settings.ratio)?)),
        Workload::Start(path, most) => {
            Split::First(Box::new(Trace::of(Recording::Start(path.clone(), *most), settings.ratio)?))
        }
        Workload::Foreign(traffic) => {
            let drawn = traffic.drawn(Draw { ratio: settings.ratio, seed: settings.seed });
            Split::Drawn(Box::new(drawn.map_err(|why| foreign(traffic.to_string(), &why))?))
        }
        Workload::Misses(path) => {
            let trace = Trace::misses(Recording::File(path.clone()))?;
            let stored = too_many_stored((trace.distinct_absent() as f64 / settings.ratio).round().max(1.0))?;
            Split::Misses(Box::new(trace), stored)
        }
        Workload::Flows(flows) => {
            Split::First(Box::new(Trace::of(Recording::Flows(*flows, settings.seed), settings.ratio)?))
        }
        Workload::Firehose(firehose) => {
            let queries = too_many_queries(settings.queries.unwrap_or(firehose.default_queries()))?;
            let split = Apart::firehose(*firehose, queries, settings.ratio, settings.seed);
            Split::Apart(split.ok_or_else(|| nothing_to_store(settings.ratio, queries))?)
        }
    })
}

/// The error of a workload from outside.
pub(super) fn foreign(name: String, why: &TrafficError) -> ReplayError {
    TraceError::Foreign { name, why: why.to_string() }.into()
}

/// The number of stored keys, unless there are too many.
pub(super) fn too_many_stored(stored: f64) -> Result<u64, ReplayError> {
    let why = "too many stored keys, more than 2^50: raise --ratio";
    if stored > MOST_QUERIES { Err(ReplayError::Setting(why.into())) } else { Ok(stored as u64) }
}

/// The number of queries, unless there are too many.
pub(super) fn too_many_queries(queries: u64) -> Result<u64, ReplayError> {
    let why = "too many queries, more than 2^50: lower --queries";
    if queries as f64 > MOST_QUERIES { Err(ReplayError::Setting(why.into())) } else { Ok(queries) }
}

/// The error for a stream of which nothing is left to store.
pub(super) fn nothing_to_store(ratio: f64, queries: u64) -> ReplayError {
    ReplayError::Setting(format!(
        "at A/S = {ratio} the distinct keys of {queries} queries leave nothing to store: lower --ratio or raise --queries"
    ))
}

/// Random keys: the filter's size determines the number of stored keys, and the ratio that of the others.
fn by_chance(settings: &Settings, distribution: Distribution) -> Result<(Split, u64), ReplayError> {
    let cells = settings.filter.layout().cells(settings.cells.unwrap_or(DEFAULT_CELLS))?;
    let keys = (settings.load * cells as f64).floor() as u64;
    let absent = (settings.ratio * keys as f64).round();
    if keys == 0 {
        let why = format!("a load of {} leaves no key in {cells} cells: raise --load or --cells", settings.load);
        return Err(ReplayError::Setting(why));
    }
    let queries = match settings.queries {
        Some(queries) => queries as f64,
        None => absent * settings.per_key.unwrap_or(DEFAULT_PER_KEY) as f64,
    };
    if queries.max(absent) > MOST_QUERIES {
        let why = "too many queries or keys, more than 2^50: lower --cells, --ratio, --per-key or --queries";
        return Err(ReplayError::Setting(why.into()));
    }
    let none = || {
        let why = format!("at A/S = {} there is no absent key to ask for: raise --ratio", settings.ratio);
        ReplayError::Setting(why)
    };
    let split = Apart::by_chance(distribution, keys, absent as u64, queries as u64).ok_or_else(none)?;
    Ok((Split::Apart(split), cells))
}
