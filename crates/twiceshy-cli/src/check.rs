//! `twiceshy check`.

use crate::guarded::{self, Access, Done, Wait, refusal};
use crate::interrupted;
use crate::numbers;
use crate::output::{counted, print, print_json};
use crate::place::Place;
use crate::shared;
use anyhow::ensure;
use clap::ValueHint;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;
use twiceshy_store::{Error, Guard, Kind, Options, RedbError, RedbStore};

/// Check a guarded store, and repair it with --repair. Or check a shared set.
///
/// Checks the store's file, every value against its checksum, every key against the index and the filter, and every
/// index entry against its key. Changes nothing without --repair; without it, a broom store that has no usable snapshot
/// is checked without a filter.
///
/// Of a shared set: checks every key of the index against its shard, its words and the filter, which is made from the snapshot and the log; every
/// digest; and every value against the index. Other processes may use the set meanwhile. This one does not join it.
///
/// Exit status: 0 if all is in order, 1 if something is wrong, 2 after an error.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder, or the address of a shared set
    #[arg(value_name = "STORE", value_parser = Place::parser(), value_hint = ValueHint::AnyPath)]
    path: Place,
    /// Make right whatever can be made right from the values: index, log, state record and filter. Of a file that
    /// redb can open but not repair, copy what can be read to a new one, and keep the old one beside it. Prints what was
    /// done, and what is lost. Exit status 1 if something could not be made right
    #[arg(long)]
    repair: bool,
    /// The filter of a store that has lost its state record [default: telescoping]
    #[arg(long, value_name = "KIND", requires = "repair")]
    filter: Option<Kind>,
    /// The false-positive rate of a store that has lost its state record [default: 1/256]
    #[arg(long, value_name = "E", requires = "repair", value_parser = numbers::rate)]
    fpr: Option<f64>,
    #[command(flatten)]
    wait: Wait,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What was found in the store, and what was done about it.
#[derive(Default)]
struct Findings {
    keys: u64,
    /// The first problem found, or left after a repair.
    wrong: Option<String>,
    repaired: Vec<String>,
    lost: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    path: String,
    ok: bool,
    /// The first problem found, or left after a repair.
    wrong: Option<String>,
    keys: u64,
    seconds: f64,
    /// With --repair: what was wrong and is right now.
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Vec<String>>,
    /// With --repair: what could not be made right.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

/// How far a check came that was interrupted.
const NOT_ENDED: &str = "the check had not ended, and has changed nothing";

/// `true` if the store is in order.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let started = Instant::now();
    let path = match &args.path {
        Place::Folder(path) => path,
        Place::Address(address) => {
            ensure!(!args.repair, "{address}: --repair is for a folder: check says what to do about a shared set");
            interrupted::tell(NOT_ENDED.to_owned());
            return shared::check(address, args.json);
        }
    };
    let how_far = if args.repair { "the repair had not ended: run it again" } else { NOT_ENDED };
    interrupted::tell(how_far.to_owned());
    let Done { value, warning } = if args.repair { repair(args, path)? } else { check(path, args.wait)? };
    let Findings { keys, wrong, repaired, lost } = value;
    let path = path.display().to_string();
    let seconds = started.elapsed().as_secs_f64();
    let (ok, repaired) = (wrong.is_none(), args.repair.then_some(repaired));
    let lost = args.repair.then_some(lost);
    let report = Report { path, ok, wrong, keys, seconds, repaired, lost, warning };
    if args.json {
        print_json(&report)?
    } else {
        print(&words(&report))?
    }
    Ok(report.ok)
}

fn check(path: &Path, wait: Wait) -> anyhow::Result<Done<Findings>> {
    guarded::with(path, Access::Read(wait), |guard| {
        let found = || {
            let wrong = guard.check()?.problem();
            Ok(Findings { keys: count(guard)?, wrong, ..Findings::default() })
        };
        found().map_err(|error| refusal(path, error))
    })
}

/// The number of keys. A store that has lost its state record does not know it.
fn count(guard: &Guard<RedbStore>) -> Result<u64, Error<RedbError>> {
    match guard.len() {
        Err(Error::Damaged) => Ok(guard.iter().filter(|entry| !matches!(entry, Err(Error::Store(_)))).count() as u64),
        counted => counted,
    }
}

fn repair(args: &Args, path: &Path) -> anyhow::Result<Done<Findings>> {
    let mut options = Options::new().create(false);
    if let Some(kind) = args.filter {
        options = options.filter(kind);
    }
    if let Some(rate) = args.fpr {
        options = options.false_positive_rate(rate);
    }
    let repair = || options.clone().repair_folder(path).map_err(|error| refusal(path, error));
    let done = args.wait.until_free(repair)?;
    // The report of the repair must not get lost, whatever the check says.
    let after = check(path, args.wait).map_or_else(|error| Some(format!("{error:#}")), |checked| checked.value.wrong);
    let wrong = after.or_else(|| done.lost.first().cloned());
    let value = Findings { keys: done.keys, wrong, repaired: done.repaired, lost: done.lost };
    Ok(Done { value, warning: None })
}

/// The report as text.
fn words(report: &Report) -> String {
    let Report { path, wrong, seconds, .. } = report;
    let keys = counted(report.keys, "key");
    let mut text = String::new();
    for (label, items) in [("repaired", &report.repaired), ("lost", &report.lost)] {
        items.iter().flatten().for_each(|item| text += &format!("{label}: {item}\n"));
    }
    text += &match wrong {
        None => format!("{path}: {keys}, all in order, {seconds:.2} s\n"),
        Some(wrong) => format!("{path}: {keys}, and something is wrong: {wrong}\n"),
    };
    text
}
