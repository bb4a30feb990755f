//! `twiceshy remove`.

use crate::changing::{Changed, in_chunks};
use crate::guarded::{Access, Done};
use crate::held;
use crate::lines::{Inputs, Totals, set_of_keys};
use crate::output::{counted, grouped, print, print_json};
use crate::place::Place;
use clap::ValueHint;
use serde::Serialize;
use std::time::Instant;

/// Remove keys and their values from a guarded store or a shared set, one key per line.
///
/// Lines are read as by `insert`, with the same options. Each thousand keys are removed in one commit and stay removed if a later line fails.
/// Absent keys are only counted.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder, or the address of a shared set
    #[arg(value_name = "STORE", value_parser = Place::parser(), value_hint = ValueHint::AnyPath)]
    path: Place,
    #[command(flatten)]
    inputs: Inputs,
    /// Each line is a key, perhaps with a tab and a value after it, as for `insert --values`. The key is removed,
    /// whatever its value
    #[arg(long, conflicts_with = "hosts")]
    values: bool,
    /// Print one JSON object; after an error in mid-list, with what was removed and a field `error`
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
    /// Why not all keys were removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut lines = args.inputs.lines("removing", false, set_of_keys(args.values), &args.path)?;
    let (mut begun, mut gone) = (false, Changed::default());
    let worked = held::with(&args.path, Access::Write, |held| {
        begun = true;
        in_chunks(
            &mut lines,
            &mut gone,
            ("removed", "not there"),
            |line| Ok(if args.values { before_tab(line) } else { line }.to_vec()),
            |keys| held.remove_all(keys),
        )
    });
    let warnings = lines.end();
    let totals = lines.totals();
    let path = args.path.to_string();
    let Changed { keys, changed: removed } = gone;
    let (were_absent, seconds) = (keys - removed, started.elapsed().as_secs_f64());
    let report = |warning, error| Report {
        path: path.clone(),
        keys,
        totals,
        removed,
        were_absent,
        seconds,
        warnings,
        warning,
        error,
    };
    let Done { warning, .. } = match worked {
        Err(error) if args.json && begun => {
            print_json(&report(None, Some(format!("{error:#}"))))?;
            return Err(error);
        }
        worked => worked?,
    };
    if args.json {
        return print_json(&report(warning, None));
    }
    print(&format!(
        "{path}: {}, {} removed, {} not there, {seconds:.2} s\n",
        totals.read(),
        counted(removed, "key"),
        grouped(were_absent)
    ))
}

/// The key of a line that may have a value.
fn before_tab(line: &[u8]) -> &[u8] {
    line.split(|byte| *byte == b'\t').next().unwrap_or_default()
}
