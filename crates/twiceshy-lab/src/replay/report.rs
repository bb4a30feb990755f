//! The results of a replay.

use super::afterwards::Relearned;
use super::table_counts::TableCounts;
use serde::Serialize;

/// The cost of a part of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Phase {
    /// Insertions, or adaptations.
    pub operations: u64,
    /// Range reads of the remote.
    pub remote_reads: u64,
    /// Keys returned by those reads.
    pub remote_keys_read: u64,
    /// Entries written to the remote.
    pub remote_writes: u64,
    /// Keys moved to make room or to fix a mistake.
    pub keys_moved: u64,
}

/// The results of one replay: sums over the trials unless stated otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The filter's name.
    pub filter: String,
    /// Its shape and options, as text.
    pub shape: String,
    /// The workload.
    pub workload: String,
    /// Cells of the filter.
    pub cells: u64,
    /// Keys stored in each trial.
    pub keys: u64,
    /// Keys over cells.
    pub load: f64,
    /// The width of a cell.
    pub bits: u32,
    /// Local bits over keys, from what was allocated.
    pub bits_per_key: f64,
    /// Trials.
    pub trials: u32,
    /// Queries for absent keys.
    pub queries: u64,
    /// Distinct absent keys that were asked for.
    pub distinct_queries: u64,
    /// Queries that the filter called present.
    pub false_positives: u64,
    /// False positives that no state of the filter could fix.
    pub unfixable: u64,
    /// False positives that one report did not fix, and a later one may.
    pub still_present: u64,
    /// Rebuilds because an adaptation exceeded its bound.
    pub rebuilds: u64,
    /// Changes of the hash key during filling.
    pub rekeys_while_filling: u64,
    /// Range reads of the remote.
    pub remote_reads: u64,
    /// Keys returned by those reads.
    pub remote_keys_read: u64,
    /// Entries written to the remote.
    pub remote_writes: u64,
    /// False positives over queries: the mean over the trials.
    pub fpr: f64,
    /// Its standard deviation over the trials.
    pub fpr_sd: f64,
    /// Distinct keys wrong at their first query over distinct keys asked for.
    pub first_time_fpr: f64,
    /// False positives over distinct keys that were ever wrong; 1 if there were none.
    pub regret: f64,
    /// Look-ups of absent keys per second after adapting, in a separate pass on one thread.
    pub lookups_per_second: f64,
    /// The seed.
    pub seed: u64,
    /// Filling the filter.
    pub filling: Phase,
    /// Adapting it.
    pub adapting: Phase,
    /// The longest path of an insertion, in cells.
    pub longest_path: u64,
    /// Adaptations that had to tell several keys apart.
    pub adapts_with_parts: u64,
    /// The most keys that a cell's owner had to be told apart from.
    pub largest_part: u64,
    /// Owners that could not be determined.
    pub unknown_owners: u64,
    /// Counts that exist only in the filter's family; omitted if there are none.
    #[serde(skip_serializing_if = "TableCounts::is_empty")]
    pub table: TableCounts,
    /// What looks wrong in the trace, and what to do about it; omitted if nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What was left of what the filter had learned after `--then`; its fields are omitted without.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub relearned: Option<Relearned>,
}
