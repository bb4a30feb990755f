//! `twiceshy lab opening`.

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar};
use crate::temporary;
use std::path::PathBuf;
use twiceshy_lab::guarded::{Opening, open};
use twiceshy_store::Kind;

/// Time how long a guarded store takes to open: from its snapshot, from an outdated snapshot, and without one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys in the store, of 16 bytes with values of 100 bytes
    #[arg(long, default_value_t = 10_000_000, value_parser = numbers::count::<u64>)]
    keys: u64,
    /// Keys inserted and removed after the snapshot, up to an eighth of the keys
    #[arg(long, default_value_t = 100_000, value_parser = numbers::count::<u64>)]
    changes: u64,
    /// The filter
    #[arg(long, default_value = "telescoping")]
    filter: Kind,
    /// The folder to make the store in [default: the temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let folder = temporary::folder(args.folder.as_deref())?;
    let bar = progress_bar(args.keys, "filling the store");
    let opening = open(args.filter, args.keys, args.changes, folder.path(), &|done, _| bar.set_position(done));
    bar.finish_and_clear();
    let opening = opening?;
    if args.json { print_json(&opening) } else { print(&words(&opening)) }
}

fn words(opening: &Opening) -> String {
    let row = |name: String, seconds: f64| vec![name, format!("{seconds:.3} s")];
    let rows = [
        row("filling the store".into(), opening.filling_seconds),
        row("opening the store alone".into(), opening.store_seconds),
        row("from the snapshot".into(), opening.snapshot_seconds),
        row(format!("from one {} changes behind", grouped(opening.changes)), opening.rolled_forward_seconds),
        row("without a snapshot, until keys are found".into(), opening.unfiltered_seconds),
        row("without a snapshot, until the filter is ready".into(), opening.rebuilt_seconds),
    ];
    format!(
        "{} keys behind a {} filter, whose snapshot has {} bytes\n\n{}",
        grouped(opening.keys),
        opening.filter,
        grouped(opening.snapshot_bytes),
        columns(&rows)
    )
}
