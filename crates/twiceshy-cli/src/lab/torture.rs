//! `twiceshy lab torture`.

use crate::numbers;
use crate::output::{columns, grouped, print, print_json, progress_bar};
use anyhow::Context;
use serde::Serialize;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_lab::torture::{Ordeal, Programs, Report, Settings, Turn, probe_damaged, run as torture, work};
use twiceshy_store::Kind;

/// Each round starts a process that works on a guarded store and kills it; then the store is opened and checked. After most
/// rounds the store is also damaged in some way, and opened and checked again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of rounds
    #[arg(long, default_value_t = 1000, value_parser = numbers::count::<u64>)]
    rounds: u64,
    /// The random seed; the moments of the kills also depend on the machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The stores' filter [default: all of them in turn]
    #[arg(long)]
    filter: Option<Kind>,
    /// What is done to stores besides killing their processes: snapshot, maps, file, threads, flood [default: all]
    #[arg(long, value_delimiter = ',')]
    ordeals: Option<Vec<Ordeal>>,
    /// The folder for the stores; a damaged store stays there [default: a new temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The arguments of the process that is killed.
#[derive(clap::Args)]
pub(crate) struct ChildArgs {
    folder: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    round: u64,
    #[arg(long)]
    filter: Kind,
    #[arg(long)]
    fpr: f64,
    #[arg(long)]
    operations: u64,
}

/// The arguments of the process that opens a damaged store.
#[derive(clap::Args)]
pub(crate) struct ProbeArgs {
    folder: PathBuf,
}

/// `true` if every store was intact.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let (seed, rounds, filter) = (args.seed, args.rounds, args.filter);
    let ordeals = args.ordeals.clone().unwrap_or_else(|| Ordeal::ALL.to_vec());
    let killing = Killing { name: "torture", rounds, folder: args.folder.as_deref(), json: args.json };
    let report = killing.run(words, |own, folder, progress| {
        let programs = Programs { child: &|turn, store| child(own, turn, store), probe: &|_, store| probe(own, store) };
        torture(&Settings { seed, rounds, filter, ordeals, folder: folder.to_owned() }, &programs, progress)
    })?;
    if !report.failures.is_empty() {
        let _ = writeln!(std::io::stderr(), "twiceshy: to repeat it: {}", again(args, &report));
    }
    Ok(report.failures.is_empty())
}

/// Rounds in which processes are killed, in a folder.
pub(super) struct Killing<'a> {
    pub(super) name: &'a str,
    pub(super) rounds: u64,
    /// `None` for a temporary one.
    pub(super) folder: Option<&'a Path>,
    pub(super) json: bool,
}

impl Killing<'_> {
    /// Runs the rounds with the path of this program, the folder and a progress bar, and prints the report.
    pub(super) fn run<R: Serialize>(
        &self,
        words: impl FnOnce(&R) -> String,
        work: impl FnOnce(&Path, &Path, &dyn Fn(u64)) -> io::Result<R>,
    ) -> anyhow::Result<R> {
        let own = std::env::current_exe().context("cannot find the path of this program")?;
        let temporary = || std::env::temp_dir().join(format!("twiceshy-{}-{}", self.name, std::process::id()));
        let folder = self.folder.map_or_else(temporary, Path::to_owned);
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let bar = progress_bar(self.rounds, "killing");
        let report = work(&own, &folder, &|round| bar.set_position(round));
        bar.finish_and_clear();
        let report = report.with_context(|| format!("in the folder {}", folder.display()))?;
        if self.folder.is_none() {
            // The folder stays if something is left in it.
            drop(std::fs::remove_dir(&folder));
        }
        if self.json {
            print_json(&report)?
        } else {
            print(&words(&report))?
        }
        Ok(report)
    }
}

/// The command line of a child.
fn child(own: &Path, turn: &Turn, store: &Path) -> Command {
    let mut command = Command::new(own);
    command.args(["lab", "torture-child"]).arg(store);
    for (name, value) in [("--seed", turn.seed), ("--round", turn.round), ("--operations", turn.operations)] {
        command.arg(name).arg(value.to_string());
    }
    command.arg("--filter").arg(turn.filter.name()).arg("--fpr").arg(turn.rate.to_string());
    command
}

/// The command line of a process that opens a damaged store.
fn probe(own: &Path, store: &Path) -> Command {
    let mut command = Command::new(own);
    command.args(["lab", "torture-probe"]).arg(store);
    command
}

pub(crate) fn run_probe(args: &ProbeArgs) -> anyhow::Result<()> {
    Ok(probe_damaged(&args.folder, &mut std::io::stdout().lock())?)
}

pub(crate) fn run_child(args: &ChildArgs) -> anyhow::Result<()> {
    let ChildArgs { seed, round, filter, fpr, operations, .. } = *args;
    let turn = Turn { seed, round, filter, rate: fpr, operations };
    Ok(work(&turn, &args.folder, &mut std::io::stdout().lock())?)
}

/// The command that repeats a failure.
fn again(args: &Args, report: &Report) -> String {
    let filter = args.filter.map_or(String::new(), |filter| format!(" --filter {filter}"));
    let names = |ordeals: &Vec<Ordeal>| ordeals.iter().map(|ordeal| ordeal.name()).collect::<Vec<_>>().join(",");
    let ordeals = args.ordeals.as_ref().map_or(String::new(), |ordeals| format!(" --ordeals {}", names(ordeals)));
    format!(
        "`twiceshy lab torture --seed {} --rounds {}{filter}{ordeals}`; the moments of the kills vary, so several runs may be needed",
        report.seed, report.rounds
    )
}

/// The report as text.
fn words(report: &Report) -> String {
    let row = |name: &str, value: u64| vec![name.to_owned(), grouped(value)];
    let mut rows = vec![
        row("rounds", report.rounds),
        row("stores", report.stores),
        row("killed while working", report.killed_working),
        row("killed while opening", report.killed_opening),
        row("ended by themselves", report.ended),
        row("operations acknowledged", report.operations),
        row("  false positives learned from", report.adapted),
        row("  growths of a filter", report.grown),
        row("snapshots damaged, deleted or replaced by old ones", report.damaged),
        row("stores restored to an earlier copy", report.went_back),
        row("opened with the snapshot of the last commit", report.from_snapshot),
        row("opened with an older snapshot, rolled forward", report.rolled_forward),
        row("  commits rolled forward", report.commits_rolled_forward),
        row("opened with a rebuilt filter", report.rebuilt),
        row("opened as a new store", report.new),
    ];
    rows.extend(report.ordeals.iter().map(|(name, count)| row(name, *count)));
    rows.extend([
        row("repaired after their maps were tampered with", report.repaired),
        row("  values named as damaged or gone", report.lost),
        row("failures", report.failures.len() as u64),
    ]);
    let failures: String = report.failures.iter().map(|failure| format!("\n{failure}\n")).collect();
    format!("seed {}\n\n{}{failures}", report.seed, columns(&rows))
}
