//! `twiceshy lab shared`.

use super::torture::Killing;
use crate::output::{columns, grouped};
use anyhow::Context;
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_lab::report::svg;
use twiceshy_lab::shared::{EngineKind, MemberTurn, Report, Settings, run_shared, serve_as_member, work_as_member};

/// The variable that holds the address of a set, with its password: command lines can be seen by others.
const ADDRESS: &str = "TWICESHY_ADDRESS";

/// Starts a server of its own and processes that share a set in it; measures look-ups and insertions; then lets the processes work on a few
/// keys, and checks that what they saw is linearizable.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The engine: postgres, redis-cluster or memory
    #[arg(long)]
    engine: EngineKind,
    /// The number of processes
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..))]
    processes: u64,
    /// The number of shards
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    shards: u32,
    /// How many histories are made and checked
    #[arg(long, default_value_t = 20)]
    runs: u64,
    /// Kill and stop processes, cut connections, crash the server, and let clocks drift
    #[arg(long)]
    faults: bool,
    /// How many mistakes are replayed at each process; 0 to measure nothing
    #[arg(long, default_value_t = 10_000)]
    mistakes: u64,
    /// The random seed; what happens when also depends on the machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Let look-ups believe copies that are too old: this must be found out
    #[arg(long, hide = true)]
    without_lease_check: bool,
    /// The folder for what the processes say; that of a violation stays there [default: a new temporary folder]
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Draw how long insertions take into this file
    #[arg(long, value_name = "FILE.svg")]
    picture: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The arguments of a process that works on keys.
#[derive(clap::Args)]
pub(crate) struct MemberArgs {
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    process: u64,
    #[arg(long)]
    keys: u64,
    #[arg(long)]
    kept: u64,
    #[arg(long, allow_hyphen_values = true)]
    faster: i32,
    #[arg(long)]
    without_lease_check: bool,
}

/// The arguments of a process that follows orders.
#[derive(clap::Args)]
pub(crate) struct ServantArgs {}

/// `true` if all histories are linearizable.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let killing = Killing { name: "shared", rounds: args.runs, folder: args.folder.as_deref(), json: args.json };
    let report = killing.run(words, |own, folder, progress| {
        let settings = Settings {
            engine: args.engine,
            processes: args.processes,
            shards: args.shards,
            runs: args.runs,
            faults: args.faults,
            seed: args.seed,
            without_lease_check: args.without_lease_check,
            mistakes: args.mistakes,
            folder: folder.to_owned(),
        };
        run_shared(&settings, &|turn| member(own, turn), &|address| servant(own, address), progress)
    })?;
    if let Some(path) = &args.picture {
        let drawing = svg(&report.measured.picture(args.engine.name(), args.processes))?;
        std::fs::write(path, drawing).with_context(|| format!("the picture {}", path.display()))?;
    }
    Ok(report.violations == 0 && report.diverged == 0)
}

fn member(own: &Path, turn: &MemberTurn) -> Command {
    let mut command = Command::new(own);
    command.args(["lab", "shared-member"]).env(ADDRESS, &turn.address);
    for (name, value) in
        [("--seed", turn.seed), ("--process", turn.process), ("--keys", turn.keys), ("--kept", turn.kept)]
    {
        command.arg(name).arg(value.to_string());
    }
    command.arg("--faster").arg(turn.faster.to_string());
    command.args(turn.without_lease_check.then_some("--without-lease-check"));
    command
}

fn servant(own: &Path, address: &str) -> Command {
    let mut command = Command::new(own);
    command.args(["lab", "shared-servant"]).env(ADDRESS, address);
    command
}

pub(crate) fn run_member(args: &MemberArgs) -> anyhow::Result<()> {
    let MemberArgs { seed, process, keys, kept, faster, without_lease_check } = *args;
    let address = std::env::var(ADDRESS)?;
    let turn = MemberTurn { address, seed, process, keys, kept, faster, without_lease_check };
    Ok(work_as_member(&turn, &mut stdin().lock(), stdout())?)
}

pub(crate) fn run_servant(_: &ServantArgs) -> anyhow::Result<()> {
    Ok(serve_as_member(&std::env::var(ADDRESS)?, &mut stdin().lock(), &mut stdout().lock())?)
}

/// The report as text.
fn words(report: &Report) -> String {
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let count = |name: &str, value: u64| row(name, grouped(value));
    let measured = &report.measured;
    let mut rows = Vec::new();
    if measured.keys > 0 {
        let speed = |value: f64| grouped(value as u64);
        let ms = |value: f64| format!("{value:.2} ms");
        rows.extend([
            count("keys", measured.keys),
            count("mistakes in the list", measured.mistakes),
            count("loads that all processes paid for it", measured.loads),
            count("loads of separate guards", measured.loads_of_separate_guards),
            row("absent look-ups a second", speed(measured.lookups_per_second)),
            row("  of a local guard", speed(measured.local_lookups_per_second)),
            row("  in batches", speed(measured.batch_lookups_per_second)),
            row("  of a local guard in batches", speed(measured.local_batch_lookups_per_second)),
            row("  of the bare engine", speed(measured.bare_lookups_per_second)),
            row("insertion, exact", measured.insert_ms_median.map_or_else(|| "—".to_owned(), ms)),
            row("  99 of 100", measured.insert_ms_99.map_or_else(|| "—".to_owned(), ms)),
            row("insertion, within a time", ms(measured.insert_ms_within_median)),
            row("insertion, bare engine", ms(measured.bare_insert_ms_median)),
            row("keys a second in batches of 1,000", speed(measured.batch_keys_per_second)),
            row("  of the bare engine", speed(measured.bare_batch_keys_per_second)),
            row("until another process's copy has it", ms(measured.lag_ms_median)),
        ]);
    }
    rows.extend([
        count("runs", report.runs),
        count("operations", report.operations),
        count("look-ups turned away in them", report.denied),
        count("processes killed", report.killed),
        count("processes stopped", report.stopped),
        count("connections cut", report.cut),
        count("crashes of the server", report.crashed),
        count("larger tables", report.grown),
        count("mistakes learned", report.learned),
        count("joined anew", report.rejoined),
        count("copies that differed", report.diverged),
        count("sets that the engine lost", report.lost_sets),
        count("violations", report.violations),
    ]);
    let failures: String = report.failures.iter().map(|failure| format!("\n{failure}\n")).collect();
    format!(
        "{}, {} processes, {} shards, seed {}\n\n{}{failures}",
        report.engine,
        report.processes,
        report.shards,
        report.seed,
        columns(&rows)
    )
}
