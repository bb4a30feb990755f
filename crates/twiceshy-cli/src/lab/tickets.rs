//! `twiceshy lab torture-tickets`.

use super::torture::Killing;
use crate::numbers;
use crate::output::{columns, grouped};
use std::io::{Write as _, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use twiceshy_lab::torture::{TicketReport, TicketSettings, TicketTurn, run_tickets, work_with_tickets};
use twiceshy_store::Kind;

/// Each round starts a process that opens a guard beside a store, announces and retires keys, and is killed at a random step.
/// Then the guard must let every row's key pass.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The number of rounds
    #[arg(long, default_value_t = 2000, value_parser = numbers::count::<u64>)]
    rounds: u64,
    /// The random seed; the moments of the kills also depend on the machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The guards' filter [default: all of them in turn]
    #[arg(long)]
    filter: Option<Kind>,
    /// Lose what was not synced with each kill, as a loss of power would
    #[arg(long)]
    power: bool,
    /// The folder for the guards; that of a failure stays there [default: a new temporary folder]
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
    steps: u64,
    #[arg(long)]
    power: bool,
}

/// `true` if no key of a row was turned away.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let (seed, rounds, filter, power) = (args.seed, args.rounds, args.filter, args.power);
    let killing = Killing { name: "tickets", rounds, folder: args.folder.as_deref(), json: args.json };
    let report = killing.run(words, |own, folder, progress| {
        let settings = TicketSettings { seed, rounds, filter, power, folder: folder.to_owned() };
        run_tickets(&settings, &|turn, folder| child(own, turn, folder), progress)
    })?;
    if !report.failures.is_empty() {
        let power = if power { " --power" } else { "" };
        let again = format!("`twiceshy lab torture-tickets --seed {seed} --rounds {}{power}`", report.rounds);
        let _ = writeln!(std::io::stderr(), "twiceshy: to repeat it: {again}; the moments of the kills vary");
    }
    Ok(report.failures.is_empty())
}

/// The command line of a child.
fn child(own: &Path, turn: &TicketTurn, folder: &Path) -> Command {
    let mut command = Command::new(own);
    command.args(["lab", "torture-tickets-child"]).arg(folder);
    for (name, value) in [("--seed", turn.seed), ("--round", turn.round), ("--steps", turn.steps)] {
        command.arg(name).arg(value.to_string());
    }
    command.arg("--filter").arg(turn.filter.name());
    command.args(turn.power.then_some("--power"));
    command
}

pub(crate) fn run_child(args: &ChildArgs) -> anyhow::Result<()> {
    let ChildArgs { seed, round, filter, steps, power, .. } = *args;
    let turn = TicketTurn { seed, round, filter, power, steps };
    Ok(work_with_tickets(&turn, &args.folder, &mut stdin().lock(), &mut stdout().lock())?)
}

/// The report as text.
fn words(report: &TicketReport) -> String {
    let row = |name: &str, value: u64| vec![name.to_owned(), grouped(value)];
    let mut rows = vec![
        row("rounds", report.rounds),
        row("guards", report.guards),
        row("killed", report.killed),
        row("ended by themselves", report.ended),
        row("tickets closed", report.closed),
        row("tickets cut off by a kill", report.cut_off),
        row("keys without a row after a kill", report.drifted),
    ];
    rows.extend(report.killed_after.iter().map(|(step, kills)| row(&format!("  killed after {step:?}"), *kills)));
    rows.push(row("failures", report.failures.len() as u64));
    let failures: String = report.failures.iter().map(|failure| format!("\n{failure}\n")).collect();
    format!("seed {}\n\n{}{failures}", report.seed, columns(&rows))
}
