//! `twiceshy lab growing`.

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, time};
use crate::temporary;
use std::path::PathBuf;
use twiceshy_lab::guarded::{Growth, Waits, grow};
use twiceshy_store::Kind;

/// Time look-ups while a store doubles and its filter grows, to find the longest.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Keys at the start, of 16 bytes with values of 100 bytes; twice as many at the end
    #[arg(long, default_value_t = 1_000_000, value_parser = numbers::count::<u64>)]
    keys: u64,
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
    let growth = grow(args.filter, args.keys, folder.path())?;
    if args.json { print_json(&growth) } else { print(&words(&growth)) }
}

fn words(growth: &Growth) -> String {
    let head = ["look-ups of absent keys", "", "median", "99 %", "99.99 %", "longest"];
    let line = |name: &str, waits: &Waits| {
        let times = [waits.p50_ns, waits.p99_ns, waits.p9999_ns, waits.longest_ns].map(time);
        [name.to_owned(), grouped(waits.lookups)].into_iter().chain(times).collect()
    };
    let rows = [
        head.map(str::to_owned).to_vec(),
        line("while the store doubles, the filter answers", &growth.growing),
        line("while the store doubles, the store answers", &growth.growing_asked),
        line("while nothing happens, the filter answers", &growth.quiet),
    ];
    format!(
        "a {} filter grows from {} keys to twice as many, {} time{}, in {:.1} s ({} insertions a second)\n\n{}",
        growth.filter,
        grouped(growth.keys),
        growth.grown,
        if growth.grown == 1 { "" } else { "s" },
        growth.seconds,
        grouped(growth.inserts_per_second as u64),
        columns(&rows)
    )
}
