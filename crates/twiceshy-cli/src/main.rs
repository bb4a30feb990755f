//! The command `twiceshy`.

mod attack;
mod demo;
mod lab;
mod output;
mod replay;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Membership filters that do not make the same mistake twice.
#[derive(Parser)]
#[command(name = "twiceshy", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Let an adversary play against a filter: how often does it find a key that the filter is wrong about?
    Attack(attack::Args),
    /// A plain filter and five adaptive ones before the same set, under skewed and under hostile traffic.
    Demo(demo::Args),
    /// Experiments.
    #[command(subcommand)]
    Lab(lab::Command),
    /// Fill a filter, ask it for absent keys, adapt on every false positive, and report.
    Replay(Box<replay::Args>),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Attack(args) => attack::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Lab(command) => lab::run(&command),
        Command::Replay(args) => replay::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if output::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("twiceshy: {error:#}");
            ExitCode::FAILURE
        }
    }
}
