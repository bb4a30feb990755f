//! `twiceshy remove`.

use crate::changing::in_chunks;
use crate::guarded::{self, Access, Done, refusal};
use crate::lines::{Inputs, Totals, set_of_keys};
use crate::output::{counted, grouped, print, print_json};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Remove keys and their values from a guarded store, one key per line.
///
/// Lines are read as by `insert`. Each thousand keys are removed in one commit and stay removed if a later line fails.
/// Absent keys are only counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder
    #[arg(value_name = "STORE")]
    path: PathBuf,
    #[command(flatten)]
    inputs: Inputs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    path: String,
    #[serde(flatten)]
    totals: Totals,
    keys: u64,
    removed: u64,
    were_absent: u64,
    seconds: f64,
    /// What looks wrong in the input.
    warnings: Vec<String>,
    /// Set if the filter could not be saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut lines = args.inputs.lines("removing", false, set_of_keys(false), &args.path)?;
    let mut removed = 0;
    let worked = guarded::with(&args.path, Access::Write, |guard| {
        in_chunks(
            &mut lines,
            "removed",
            |line| Ok(line.to_vec()),
            |keys| {
                removed += guard.remove_all(keys).map_err(|error| refusal(&args.path, error))?;
                Ok(())
            },
        )
    });
    let warnings = lines.end();
    let Done { warning, .. } = worked?;
    let totals = lines.totals();
    let path = args.path.display().to_string();
    let (keys, were_absent, seconds) = (totals.keys, totals.keys - removed, started.elapsed().as_secs_f64());
    if args.json {
        return print_json(&Report { path, keys, totals, removed, were_absent, seconds, warnings, warning });
    }
    print(&format!(
        "{path}: {}, {} removed, {} not there, {seconds:.2} s\n",
        totals.read(),
        counted(removed, "key"),
        grouped(were_absent)
    ))
}
