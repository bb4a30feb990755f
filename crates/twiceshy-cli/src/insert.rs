//! `twiceshy insert`.

use crate::changing::{Changed, in_chunks};
use crate::guarded::{Access, Done};
use crate::held::{self, Entry, Held};
use crate::lines::{Inputs, Totals, set_of_keys};
use crate::output::{counted, grouped, print, print_json};
use crate::place::Place;
use anyhow::{Context, ensure};
use clap::ValueHint;
use serde::Serialize;
use std::time::Instant;

/// Put keys into a guarded store or a shared set, one per line.
///
/// A key is the bytes of a line, whatever they are, without the end of the line: `\n` or `\r\n`. Empty lines are
/// skipped; `--key ''` is the empty key. Files packed with gzip, xz or zstd are unpacked. What looks wrong is stored
/// with a warning. `query` and `remove` read lists by the same rules and options. For a list with values, `remove`
/// has `--values` too, and `query` asks for the keys alone: `cut -f 1 LIST | twiceshy query STORE`.
///
/// A thousand keys, or fewer if they are long, are stored in one commit, and stay stored if a later line fails.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder, or the address of a shared set: see `twiceshy create`
    #[arg(value_name = "STORE", value_parser = Place::parser(), value_hint = ValueHint::AnyPath)]
    path: Place,
    #[command(flatten)]
    inputs: Inputs,
    /// Each line is a key, a tab and a value. An existing key gets the new value; without this option it keeps its
    /// old one
    #[arg(long, conflicts_with = "hosts")]
    values: bool,
    /// Print one JSON object; after an error in mid-list, with what was stored and a field `error`
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    path: String,
    #[serde(flatten)]
    totals: Totals,
    keys: u64,
    new: u64,
    were_there: u64,
    seconds: f64,
    /// What looks wrong in the input.
    warnings: Vec<String>,
    /// Set if the filter could not be saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    /// Why not all keys were stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let mut lines = args.inputs.lines("inserting", false, set_of_keys(args.values), &args.path)?;
    let parse = if args.values { key_and_value } else { key_alone };
    let (mut begun, mut stored) = (false, Changed::default());
    let worked = held::with(&args.path, Access::Write, |held| {
        begun = true;
        let longest = held.longest_key();
        let parse = |line: &[u8]| parse(line).and_then(|entry| not_too_long(entry, longest));
        in_chunks(&mut lines, &mut stored, ("stored", "there before"), parse, |entries| {
            if args.values { held.insert_all(entries) } else { insert_absent(held, entries) }
        })
    });
    let warnings = lines.end();
    let totals = lines.totals();
    let path = args.path.to_string();
    let Changed { keys, changed: new } = stored;
    let (were_there, seconds) = (keys - new, started.elapsed().as_secs_f64());
    let report = |warning, error| Report {
        path: path.clone(),
        keys,
        totals,
        new,
        were_there,
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
        "{path}: {}, {} new, {} there before, {seconds:.2} s\n",
        totals.read(),
        counted(new, "key"),
        grouped(were_there)
    ))
}

/// Without --values, an existing key keeps its value.
fn insert_absent(held: &dyn Held, entries: Vec<Entry>) -> anyhow::Result<u64> {
    let keys: Vec<&[u8]> = entries.iter().map(|(key, _)| key.as_slice()).collect();
    let stored = held.contains_all(&keys)?;
    let unknown = entries.into_iter().zip(stored).filter(|(_, stored)| !stored);
    held.insert_all(unknown.map(|(entry, _)| entry).collect())
}

/// Refuses a key here, where its line is known.
fn not_too_long(entry: Entry, longest: Option<usize>) -> anyhow::Result<Entry> {
    let len = entry.0.len();
    if let Some(longest) = longest {
        ensure!(len <= longest, "the key has {len} bytes: the database's index holds keys of up to {longest}");
    }
    Ok(entry)
}

fn key_alone(line: &[u8]) -> anyhow::Result<Entry> {
    Ok((line.to_vec(), Vec::new()))
}

fn key_and_value(line: &[u8]) -> anyhow::Result<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t');
    let tab = tab.context("no tab between a key and its value: add one, or omit --values")?;
    Ok((line[..tab].to_vec(), line[tab + 1..].to_vec()))
}
