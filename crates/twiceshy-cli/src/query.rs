//! `twiceshy query`.

use crate::guarded::{self, Access, Done, refusal};
use crate::lines::{Inputs, Totals};
use crate::output::CANNOT_WRITE;
use crate::selected::{Form, Selected};
use anyhow::Context as _;
use serde::Serialize;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::time::Instant;
use twiceshy_lab::input::{Format, Purpose};
use twiceshy_store::{Error, Guard, RedbError, RedbStore};

/// Look up keys in a guarded store, one per line, and print those that are present.
///
/// Lines are read as by `insert`, so a list finds its keys in the form that it was inserted in. Keys are printed in
/// input order, one per line.
///
/// Exit status, as in grep: 0 if a key was selected, 1 if none was, 2 after an error.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder
    #[arg(value_name = "STORE")]
    path: PathBuf,
    #[command(flatten)]
    inputs: Inputs,
    /// Select the keys that are absent
    #[arg(short = 'v', long, visible_alias = "invert-match")]
    absent: bool,
    /// Print a tab and the value after each key
    #[arg(long, conflicts_with = "absent")]
    values: bool,
    /// Print only the number of selected keys
    #[arg(short, long)]
    count: bool,
    /// Print nothing, and stop at the first selected key: the exit status is the answer
    #[arg(short, long)]
    quiet: bool,
    /// Print one JSON object with the keys and what the filter did; with --count or --quiet, without the keys.
    /// Bytes that are not UTF-8 become U+FFFD
    #[arg(long)]
    json: bool,
}

/// Counts of the queries; the end of the JSON object.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    totals: Totals,
    asked: u64,
    present: u64,
    absent: u64,
    turned_away: u64,
    /// Look-ups of mistakes that wait to be learned: answered without the store.
    known_absent: u64,
    false_positives: u64,
    /// Look-ups answered without a filter, before it was ready.
    unfiltered: u64,
    adapted: u64,
    seconds: f64,
    /// What looks wrong in the input.
    warnings: Vec<String>,
    /// Set if the filter could not be saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// `true` if a key was selected.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let started = Instant::now();
    let form = args.form();
    let mut lines = args.inputs.lines("asking", form.prints_lines(), Format::new(Purpose::Queries), &args.path)?;
    let worked = guarded::with(&args.path, Access::Query, |guard| {
        let selected = Selected::begin(BufWriter::new(io::stdout().lock()), form, &args.path);
        let mut selected = selected.context(CANNOT_WRITE)?;
        let mut present = 0;
        while let Some(key) = lines.next()? {
            let (found, value) = ask(guard, key, args.values).map_err(|error| refusal(&args.path, error))?;
            present += u64::from(found);
            if found != args.absent {
                selected.line(key, value.as_deref()).context(CANNOT_WRITE)?;
                if form == Form::Nothing {
                    break;
                }
            }
        }
        // Closing the store takes time, and no line need wait for it.
        selected.flush().context(CANNOT_WRITE)?;
        guard.wait().map_err(|error| refusal(&args.path, error))?;
        let stats = guard.stats().map_err(|error| refusal(&args.path, error))?;
        Ok((selected, present, stats))
    });
    let warnings = lines.end();
    let Done { value: (selected, present, stats), warning } = worked?;
    let totals = lines.totals();
    let report = Report {
        totals,
        asked: totals.keys,
        present,
        absent: totals.keys - present,
        turned_away: stats.turned_away,
        known_absent: stats.known_absent,
        false_positives: stats.false_positives,
        unfiltered: stats.unfiltered,
        adapted: stats.adapted,
        seconds: started.elapsed().as_secs_f64(),
        warnings,
        warning,
    };
    Ok(selected.end(&report).context(CANNOT_WRITE)? > 0)
}

impl Args {
    fn form(&self) -> Form {
        match (self.json, self.quiet, self.count) {
            (true, false, false) => Form::Json,
            (true, _, _) => Form::JsonOfCounts,
            (false, true, _) => Form::Nothing,
            (false, false, true) => Form::Count,
            (false, false, false) => Form::Lines,
        }
    }
}

/// Looks up a key. Returns whether it is present, and its value if `values` is set.
fn ask(guard: &Guard<RedbStore>, key: &[u8], values: bool) -> Result<(bool, Option<Vec<u8>>), Error<RedbError>> {
    if values {
        let value = guard.get(key)?;
        return Ok((value.is_some(), value));
    }
    Ok((guard.contains(key)?, None))
}
