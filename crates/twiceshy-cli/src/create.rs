//! `twiceshy create`.

use crate::guarded::{close, refusal};
use crate::interrupted;
use crate::output::{article, grouped, print, print_json, rate};
use crate::place::Place;
use crate::shared;
use clap::ValueHint;
use serde::Serialize;
use std::path::Path;
use twiceshy_store::{Error, Kind, Options};

/// Make a new guarded store: a folder with a redb file that holds the keys, and a filter in front of it. Or a shared set in a database, for
/// many processes.
///
/// Other files in the folder are left alone. Fails if the folder already holds a store.
///
/// The address of a shared set is `postgres://USER@HOST:PORT/DATABASE#SET`; without `#SET` it is called `twiceshy`. All commands on stores take it in
/// the place of the folder. Others can see the command line, so give the password in the environment: `PGPASSWORD`, or `REDISCLI_AUTH` for
/// `redis://` and `redis-cluster://`. It is used if the address has none.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The store's folder, which is created if it does not exist, or the address of a shared set
    #[arg(value_parser = Place::parser(), value_hint = ValueHint::AnyPath)]
    path: Place,
    /// The filter: cuckoo, cyclic, swapping, cuckooing, remembering, quotient, telescoping, telescoping-plain, extension
    /// or broom; cuckoo and quotient do not learn from their mistakes
    #[arg(long, value_name = "KIND", default_value = "telescoping")]
    filter: Kind,
    /// The false-positive rate that the filter is built for [default: 1/256]
    #[arg(long, value_name = "E", value_parser = crate::numbers::rate)]
    fpr: Option<f64>,
    /// The expected number of keys, so that the filter need not grow on the way; it grows beyond this number by
    /// itself
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = crate::numbers::count::<u64>)]
    keys: u64,
    #[command(flatten)]
    shared: shared::Flags,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    path: String,
    filter: &'static str,
    fpr: f64,
    cells: u64,
    /// The filter's memory.
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    interrupted::tell("it is not known whether the store was made: run it again".to_owned());
    let path = match &args.path {
        Place::Folder(path) => path,
        Place::Address(address) => {
            return shared::create(address, (args.filter, args.fpr, args.keys), &args.shared, args.json);
        }
    };
    args.shared.refuse()?;
    let report = make(args, path).map_err(|error| refusal(path, error))?;
    if args.json {
        return print_json(&report);
    }
    let Report { path, filter, fpr, cells, bytes, .. } = report;
    print(&format!(
        "{path}: a new store behind {} {filter} filter of {} cells, {} bytes in memory, built for a false-positive rate of {}\n",
        article(filter),
        grouped(cells),
        grouped(bytes),
        rate(fpr)
    ))
}

fn make(args: &Args, path: &Path) -> Result<Report, Error<twiceshy_store::RedbError>> {
    let mut options = Options::new().create_new(true).filter(args.filter).expected_keys(args.keys);
    if let Some(fpr) = args.fpr {
        options = options.false_positive_rate(fpr);
    }
    let guard = options.open_folder(path)?;
    let ((filter, fpr), stats) = (guard.filter()?, guard.stats());
    let (cells, bytes) = (stats.cells, stats.local_bits.div_ceil(8));
    let warning = close(path, guard, true);
    Ok(Report { path: path.display().to_string(), filter: filter.name(), fpr, cells, bytes, warning })
}
