//! The command `twiceshy`.

mod advise;
mod arguments;
mod attack;
mod changing;
mod check;
mod completions;
mod create;
mod demo;
mod durations;
mod guarded;
mod held;
mod info;
mod insert;
mod interrupted;
mod lab;
mod lines;
mod man;
mod model;
mod numbers;
mod output;
mod own_files;
mod panics;
mod place;
mod query;
mod remove;
mod replay;
mod selected;
mod shared;
mod temporary;

use clap::{ArgAction, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Printed after the list of commands.
const AFTER_HELP: &str = "\
A first store:
  twiceshy create users
  twiceshy insert users list.txt
  twiceshy query users --key ann

A set that many processes share, in a database (the password is taken from PGPASSWORD):
  twiceshy create postgres://me@host/database#users

Counts may be written as 1000000, 1,000,000, 1e6 or 1M, and rates as 0.001, 0.1%, 1e-3 or 1/1000. The exit status is that
of grep: 0 for yes or done, 1 for no, 2 for an error. A signal ends it with 128 and its number, and it says how far it came.";

/// Membership filters that do not make the same mistake twice.
#[derive(Parser)]
#[command(name = "twiceshy", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Create(create::Args),
    Insert(insert::Args),
    Remove(remove::Args),
    Query(query::Args),
    Info(info::Args),
    Check(check::Args),
    Advise(advise::Args),
    /// Let an adversary play against a filter, and count how often it finds a key that the filter is wrong about.
    Attack(attack::Args),
    /// Compare a plain filter and five adaptive ones on the same set, under skewed and hostile traffic.
    Demo(demo::Args),
    /// Experiments.
    #[command(subcommand)]
    Lab(lab::Command),
    /// Formulas and models of the papers: what they predict, without measuring.
    #[command(subcommand)]
    Model(model::Command),
    /// Fill a filter, ask it for absent keys, adapt on every false positive, and report.
    Replay(Box<replay::Args>),
    Completions(completions::Args),
    Man(man::Args),
}

fn main() -> ExitCode {
    let is_caught = twiceshy_store::panics_become_errors;
    ExitCode::from(panics::exit_status(is_caught, || {
        let matches = judging_negative_numbers(Cli::command()).try_get_matches();
        match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(cli) => run(cli.command),
            Err(error) => arguments::refuse(&error),
        }
    }))
}

/// `--fpr -1` is a rate that is too low, not an unknown flag.
fn judging_negative_numbers(command: clap::Command) -> clap::Command {
    let takes_value = |arg: &clap::Arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
    command
        .mut_args(|arg| if takes_value(&arg) { arg.allow_negative_numbers(true) } else { arg })
        .mut_subcommands(judging_negative_numbers)
}

/// Exit status, as in grep: 0 for yes or done, 1 for no, 2 for an error.
fn run(command: Command) -> u8 {
    let done = |()| true;
    if !matches!(command, Command::Lab(_)) {
        interrupted::watch();
    }
    let outcome = match command {
        Command::Create(args) => create::run(&args).map(done),
        Command::Insert(args) => insert::run(&args).map(done),
        Command::Remove(args) => remove::run(&args).map(done),
        Command::Query(args) => query::run(&args),
        Command::Info(args) => info::run(&args).map(done),
        Command::Check(args) => check::run(&args),
        Command::Advise(args) => advise::run(&args),
        Command::Attack(args) => attack::run(&args).map(done),
        Command::Demo(args) => demo::run(&args).map(done),
        Command::Replay(args) => replay::run(&args).map(done),
        Command::Lab(command) => lab::run(&command),
        Command::Model(command) => model::run(&command).map(done),
        Command::Completions(args) => completions::run(&args, Cli::command()).map(done),
        Command::Man(args) => man::run(&args, Cli::command()).map(done),
    };
    match outcome {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) if output::is_closed_pipe(&error) => 0,
        Err(error) => {
            output::clear_progress();
            // If stderr is closed, the exit status still tells.
            let _ = writeln!(io::stderr(), "twiceshy: {error:#}");
            2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands without --json: what they print is for another program already.
    const WITHOUT_JSON: [&str; 2] = ["completions", "man"];

    /// All commands that users see and that have no subcommands.
    fn leaves(command: &clap::Command) -> Vec<&clap::Command> {
        let visible = command.get_subcommands().filter(|it| !it.is_hide_set());
        visible.flat_map(|it| if it.has_subcommands() { leaves(it) } else { vec![it] }).collect()
    }

    #[test]
    fn every_command_but_a_few_has_json() {
        let command = Cli::command();
        let leaves = leaves(&command);
        assert!(leaves.len() > 15, "{}", leaves.len());
        for leaf in leaves {
            let has_json = leaf.get_arguments().any(|argument| argument.get_long() == Some("json"));
            assert_ne!(has_json, WITHOUT_JSON.contains(&leaf.get_name()), "{}", leaf.get_name());
        }
    }

    #[test]
    fn the_arguments_fit_together_and_each_is_explained() {
        Cli::command().debug_assert();
        for leaf in leaves(&Cli::command()) {
            assert!(leaf.get_about().is_some(), "{}", leaf.get_name());
            for argument in leaf.get_arguments().filter(|it| it.get_id() != "help") {
                assert!(argument.get_help().is_some(), "{} {}", leaf.get_name(), argument.get_id());
            }
        }
    }
}
