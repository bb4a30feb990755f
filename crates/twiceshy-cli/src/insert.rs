//! `twiceshy insert`.

use crate::changing::in_chunks;
use crate::guarded::{self, Access, Done, refusal};
use crate::lines::Inputs;
use crate::output::{counted, grouped, print, print_json};
use anyhow::Context;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Instant;
use twiceshy_store::{Error, Guard, RedbError, RedbStore};

/// Put keys into a guarded store, one per line.
///
/// A line is the bytes before its end of line, whatever they are; an empty line is the empty key. A thousand
/// lines, or fewer if they are long, are stored in one commit, and stay stored if a later line fails.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder: see `twiceshy create`
    path: PathBuf,
    #[command(flatten)]
    inputs: Inputs,
    /// Each line is a key, a tab and a value. An existing key gets the new value; without this option it keeps its
    /// old one
    #[arg(long)]
    values: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    path: String,
    lines: u64,
    new: u64,
    were_there: u64,
    seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

type Entry = (Vec<u8>, Vec<u8>);

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut lines = args.inputs.lines("inserting", false, &args.path)?;
    let parse = if args.values { key_and_value } else { key_alone };
    let mut new = 0;
    let Done { warning, .. } = guarded::with(&args.path, Access::Write, |guard| {
        in_chunks(&mut lines, "stored", parse, |entries| {
            let stored = if args.values { guard.insert_all(entries) } else { insert_absent(guard, entries) };
            new += stored.map_err(|error| refusal(&args.path, error))?;
            Ok(())
        })
    })?;
    let lines = lines.lines_read();
    let path = args.path.display().to_string();
    let (were_there, seconds) = (lines - new, started.elapsed().as_secs_f64());
    if args.json {
        return print_json(&Report { path, lines, new, were_there, seconds, warning });
    }
    print(&format!(
        "{path}: {} read, {} new, {} there before, {seconds:.2} s\n",
        counted(lines, "line"),
        counted(new, "key"),
        grouped(were_there)
    ))
}

/// Without --values, an existing key keeps its value.
fn insert_absent(guard: &Guard<RedbStore>, entries: Vec<Entry>) -> Result<u64, Error<RedbError>> {
    let mut unknown = Vec::new();
    for (key, value) in entries {
        if !guard.contains(&key)? {
            unknown.push((key, value));
        }
    }
    guard.insert_all(unknown)
}

fn key_alone(line: &[u8]) -> anyhow::Result<Entry> {
    Ok((line.to_vec(), Vec::new()))
}

fn key_and_value(line: &[u8]) -> anyhow::Result<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t');
    let tab = tab.context("no tab between a key and its value: add one, or omit --values")?;
    Ok((line[..tab].to_vec(), line[tab + 1..].to_vec()))
}
