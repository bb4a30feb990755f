//! `twiceshy check`.

use crate::guarded::{self, Done, refusal};
use crate::output::{counted, print, print_json};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use twiceshy_store::{Error, Guard, RedbError, RedbStore};

/// Check every key of a guarded store against its filter and its index, and every index entry against its key.
///
/// Exit status: 0 if all is in order, 1 if something is wrong, 2 after an error.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder
    path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found in the store.
struct Findings {
    keys: u64,
    /// The first problem found.
    wrong: Option<String>,
}

#[derive(Serialize)]
struct Report {
    path: String,
    ok: bool,
    /// The first problem found.
    wrong: Option<String>,
    keys: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// `true` if the store is in order.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let started = Instant::now();
    let Done { value: Findings { keys, wrong }, warning } =
        guarded::with(&args.path, |guard| examine(guard).map_err(|error| refusal(&args.path, error)))?;
    let path = args.path.display().to_string();
    let seconds = started.elapsed().as_secs_f64();
    let report = Report { path, ok: wrong.is_none(), wrong, keys, seconds, warning };
    if args.json {
        print_json(&report)?
    } else {
        print(&words(&report))?
    }
    Ok(report.ok)
}

fn examine(guard: &Guard<RedbStore>) -> Result<Findings, Error<RedbError>> {
    Ok(Findings { keys: guard.len()?, wrong: guard.check()?.problem() })
}

/// The report as text.
fn words(report: &Report) -> String {
    let Report { path, wrong, seconds, .. } = report;
    let keys = counted(report.keys, "key");
    match wrong {
        None => format!("{path}: {keys}, all in order, {seconds:.2} s\n"),
        Some(wrong) => format!("{path}: {keys}, and something is wrong: {wrong}\n"),
    }
}
