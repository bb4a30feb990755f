//! The outcome of a replay, as people and programs read it.

use super::table_counts::TableCounts;
use serde::Serialize;

/// What a part of the run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Phase {
    /// Insertions, or adaptations.
    pub operations: u64,
    /// Range reads of the remote.
    pub remote_reads: u64,
    /// Keys that those reads brought.
    pub remote_keys_read: u64,
    /// Entries written to the remote.
    pub remote_writes: u64,
    /// Keys that were moved to make room or to fix a mistake.
    pub keys_moved: u64,
}

/// One replay: sums over the trials unless a name says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// The filter's name.
    pub filter: String,
    /// Its shape and options, in words.
    pub shape: String,
    /// Where the queries came from.
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
    /// Adaptations that no state of the filter could have made.
    pub unfixable: u64,
    /// Rebuilds because an adaptation passed its bound.
    pub rebuilds: u64,
    /// New hash keys that filling took.
    pub rekeys_while_filling: u64,
    /// Range reads of the remote.
    pub remote_reads: u64,
    /// Keys that those reads brought.
    pub remote_keys_read: u64,
    /// Entries written to the remote.
    pub remote_writes: u64,
    /// False positives over queries: the mean over the trials.
    pub fpr: f64,
    /// Its standard deviation over the trials.
    pub fpr_sd: f64,
    /// Distinct keys wrong at their first query over distinct keys asked for.
    pub first_time_fpr: f64,
    /// False positives over distinct keys that were ever wrong; 1 where there were none.
    pub regret: f64,
    /// Look-ups of absent keys after adapting, in a pass of their own on one thread.
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
    /// The most keys that one cell's owner had to be told from.
    pub largest_part: u64,
    /// Owners that could not be told.
    pub unknown_owners: u64,
    /// What only the filter's family counts; left out where there is nothing of the kind.
    #[serde(skip_serializing_if = "TableCounts::is_empty")]
    pub table: TableCounts,
}
