//! `twiceshy info`.

use crate::guarded::{self, Access, Done, refusal};
use crate::output::{columns, grouped, print, print_json, rate};
use anyhow::Context;
use serde::Serialize;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use twiceshy_store::{SNAPSHOT_FILE, STORE_FILE};

/// Describe a guarded store: its filter, the space it takes, and how it was opened. Changes nothing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder
    #[arg(value_name = "STORE")]
    path: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    path: String,
    filter: &'static str,
    fpr: f64,
    keys: u64,
    cells: u64,
    load: f64,
    local_bits: u64,
    /// `None` if the store is empty.
    bits_per_key: Option<f64>,
    store_bytes: u64,
    /// 0 if there is no snapshot.
    snapshot_bytes: u64,
    /// `true` if the filter was rebuilt from the index because no snapshot was usable.
    rebuilt: bool,
    /// Commits replayed on top of the snapshot.
    rolled_forward: u64,
    /// Remembered mistakes.
    remembered: u64,
    open_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let started = Instant::now();
    let Done { value: (filter, fpr, stats, open_seconds), warning } =
        guarded::with(&args.path, Access::Read, |guard| {
            let about = || {
                guard.wait()?;
                let opened = started.elapsed().as_secs_f64();
                let (filter, fpr) = guard.filter()?;
                Ok((filter, fpr, guard.stats(), opened))
            };
            about().map_err(|error| refusal(&args.path, error))
        })?;
    let report = Report {
        path: args.path.display().to_string(),
        filter: filter.name(),
        fpr,
        keys: stats.keys,
        cells: stats.cells,
        load: stats.keys as f64 / stats.cells.max(1) as f64,
        local_bits: stats.local_bits,
        bits_per_key: (stats.keys > 0).then(|| stats.local_bits as f64 / stats.keys as f64),
        store_bytes: size(&args.path.join(STORE_FILE))?,
        snapshot_bytes: size(&args.path.join(SNAPSHOT_FILE))?,
        rebuilt: stats.rebuilt > 0,
        rolled_forward: stats.rolled_forward,
        remembered: stats.remembered,
        open_seconds,
        warning,
    };
    if args.json { print_json(&report) } else { print(&words(&report)) }
}

/// The size of a file in bytes, 0 if it does not exist.
fn size(file: &Path) -> anyhow::Result<u64> {
    match file.metadata() {
        // A folder may be in the way of the snapshot.
        Ok(about) => Ok(if about.is_file() { about.len() } else { 0 }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
    }
}

/// The report as text.
fn words(report: &Report) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let bits_per_key = report.bits_per_key.map_or("no key".into(), |bits| format!("{bits:.2}"));
    let rows = [
        row("filter", report.filter.into()),
        row("false-positive rate, at most", rate(report.fpr)),
        row("keys", grouped(report.keys)),
        row("cells", grouped(report.cells)),
        row("load", format!("{:.1} %", report.load * 100.0)),
        row("bits in memory", grouped(report.local_bits)),
        row("bits a key", bits_per_key),
        row("bytes of the store", grouped(report.store_bytes)),
        row("bytes of the snapshot", grouped(report.snapshot_bytes)),
        row("remembered mistakes", grouped(report.remembered)),
        row("opened in", format!("{:.3} s", report.open_seconds)),
    ];
    format!("{}\n\n{}\n{}\n", report.path, columns(&rows), origin(report))
}

/// Where the filter came from when the store was opened.
fn origin(report: &Report) -> String {
    match (report.rebuilt, report.rolled_forward) {
        _ if report.cells == 0 => {
            "There is no filter: its snapshot is missing, damaged or too old. The next command that may write makes it anew."
                .into()
        }
        (true, _) => "The filter was rebuilt from the store: its snapshot was missing, damaged or too old.".into(),
        (false, 0) => "The filter came from its snapshot.".into(),
        (false, commits) => {
            format!("The filter came from its snapshot, brought forward over {} commits.", grouped(commits))
        }
    }
}
