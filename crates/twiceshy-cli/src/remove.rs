//! `twiceshy remove`.

use crate::changing::in_chunks;
use crate::guarded::{self, Access, Done, refusal};
use crate::lines::Inputs;
use crate::output::{counted, grouped, print, print_json};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

/// Remove keys and their values from a guarded store, one key per line.
///
/// A line is the bytes before its end of line, whatever they are; an empty line is the empty key. Each thousand
/// lines are removed in one commit and stay removed if a later line fails. Absent keys are only counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder
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
    lines: u64,
    removed: u64,
    were_absent: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut lines = args.inputs.lines("removing", false, &args.path)?;
    let mut removed = 0;
    let Done { warning, .. } = guarded::with(&args.path, Access::Write, |guard| {
        in_chunks(
            &mut lines,
            "removed",
            |line| Ok(line.to_vec()),
            |keys| {
                removed += guard.remove_all(keys).map_err(|error| refusal(&args.path, error))?;
                Ok(())
            },
        )
    })?;
    let lines = lines.lines_read();
    let path = args.path.display().to_string();
    let seconds = started.elapsed().as_secs_f64();
    if args.json {
        return print_json(&Report { path, lines, removed, were_absent: lines - removed, seconds, warning });
    }
    print(&format!(
        "{path}: {} read, {} removed, {} not there, {seconds:.2} s\n",
        counted(lines, "line"),
        counted(removed, "key"),
        grouped(lines - removed)
    ))
}
