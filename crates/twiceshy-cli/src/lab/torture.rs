//! `twiceshy lab torture`.

use crate::output::{columns, grouped, print, progress_bar};
use anyhow::Context;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_lab::torture::{Report, Settings, Turn, run as torture, work};
use twiceshy_store::FilterKind;

/// In each round a process works on a guarded store and is killed; then the store is opened and checked.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How many processes
    #[arg(long, default_value_t = 1000)]
    rounds: u64,
    /// Where all randomness comes from, but for the machine's own
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The stores' filter [default: all of them in turn]
    #[arg(long)]
    filter: Option<FilterKind>,
    /// Where the stores are; one that something is wrong with stays there [default: a new folder among the temporary files]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What the process that is killed is told.
#[derive(clap::Args)]
pub(crate) struct ChildArgs {
    folder: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    round: u64,
    #[arg(long)]
    filter: FilterKind,
    #[arg(long)]
    fpr: f64,
    #[arg(long)]
    operations: u64,
}

/// Whether every store was whole.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let own = std::env::current_exe().context("cannot find out which program this is")?;
    let temporary = || std::env::temp_dir().join(format!("twiceshy-torture-{}", std::process::id()));
    let folder = args.folder.clone().unwrap_or_else(temporary);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let settings = Settings { seed: args.seed, rounds: args.rounds, filter: args.filter, folder };
    let bar = progress_bar(args.rounds, "killing");
    let report = torture(&settings, &|turn, store| child(&own, turn, store), &|round| bar.set_position(round));
    bar.finish_and_clear();
    let report = report.with_context(|| format!("in the folder {}", settings.folder.display()))?;
    if args.folder.is_none() {
        // It stays if a store did.
        drop(std::fs::remove_dir(&settings.folder));
    }
    if args.json {
        let text = serde_json::to_string(&report).context("the report could not be written as JSON")?;
        print(&format!("{text}\n"))?;
    } else {
        print(&words(&report))?;
    }
    if !report.failures.is_empty() {
        let _ = writeln!(std::io::stderr(), "twiceshy: to see it again: {}", again(args, &report));
    }
    Ok(report.failures.is_empty())
}

/// The command for a child.
fn child(own: &Path, turn: &Turn, store: &Path) -> Command {
    let mut command = Command::new(own);
    command.args(["lab", "torture-child"]).arg(store);
    for (name, value) in [("--seed", turn.seed), ("--round", turn.round), ("--operations", turn.operations)] {
        command.arg(name).arg(value.to_string());
    }
    command.arg("--filter").arg(turn.filter.name()).arg("--fpr").arg(turn.rate.to_string());
    command
}

pub(crate) fn run_child(args: &ChildArgs) -> anyhow::Result<()> {
    let ChildArgs { seed, round, filter, fpr, operations, .. } = *args;
    let turn = Turn { seed, round, filter, rate: fpr, operations };
    Ok(work(&turn, &args.folder, &mut std::io::stdout().lock())?)
}

/// What to run to see a failure again.
fn again(args: &Args, report: &Report) -> String {
    let filter = args.filter.map_or(String::new(), |filter| format!(" --filter {filter}"));
    format!(
        "`twiceshy lab torture --seed {} --rounds {}{filter}`; the moments of the kills differ, so it may take several runs",
        report.seed, report.rounds
    )
}

/// The report for people.
fn words(report: &Report) -> String {
    let row = |name: &str, value: u64| vec![name.to_owned(), grouped(value)];
    let rows = [
        row("rounds", report.rounds),
        row("stores", report.stores),
        row("killed while working", report.killed_working),
        row("killed while opening", report.killed_opening),
        row("ended by themselves", report.ended),
        row("operations acknowledged", report.operations),
        row("  false positives learned from", report.adapted),
        row("  growths of a filter", report.grown),
        row("snapshots damaged, lost or exchanged for old ones", report.damaged),
        row("stores put back to what they were", report.went_back),
        row("opened with the snapshot of the last commit", report.from_snapshot),
        row("opened with an older one, brought forward", report.rolled_forward),
        row("  over so many commits", report.commits_rolled_forward),
        row("opened with a filter made anew", report.rebuilt),
        row("opened where there was nothing yet", report.new),
        row("failures", report.failures.len() as u64),
    ];
    let failures: String = report.failures.iter().map(|failure| format!("\n{failure}\n")).collect();
    format!("seed {}\n\n{}{failures}", report.seed, columns(&rows))
}
