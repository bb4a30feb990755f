//! `twiceshy check`.

use crate::guarded::{self, refusal};
use crate::output::{counted, print, print_json};
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;

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

#[derive(Serialize)]
struct Report {
    path: String,
    ok: bool,
    /// The first problem found.
    wrong: Option<String>,
    keys: u64,
    seconds: f64,
}

/// `true` if the store is in order.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let started = Instant::now();
    let (keys, wrong) = guarded::with(&args.path, |guard| {
        let checked = || Ok((guard.len()?, guard.check()?.problem()));
        checked().map_err(|error| refusal(&args.path, error))
    })?;
    let (path, ok, seconds) = (args.path.display().to_string(), wrong.is_none(), started.elapsed().as_secs_f64());
    if args.json {
        print_json(&Report { path, ok, wrong, keys, seconds })?;
        return Ok(ok);
    }
    let keys = counted(keys, "key");
    print(&match wrong {
        None => format!("{path}: {keys}, all in order, {seconds:.2} s\n"),
        Some(wrong) => format!("{path}: {keys}, and something is wrong: {wrong}\n"),
    })?;
    Ok(ok)
}
