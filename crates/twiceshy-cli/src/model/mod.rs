//! `twiceshy model`: what the papers predict, by formula or by sampling. Nothing is measured.

mod asking;
mod bloom;
mod cost;
mod cyclic;
mod designs;
mod flows;
mod insertion;
mod selectors;
mod swapping;
mod thresholds;

use crate::output::{columns, print, print_json};
use serde::Serialize;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    Cyclic(cyclic::Args),
    Swapping(swapping::Args),
    Flows(flows::Args),
    Cost(cost::Args),
    Insertion(insertion::Args),
    Thresholds(thresholds::Args),
    Selectors(selectors::Args),
    Designs(designs::Args),
    Bloom(bloom::Args),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Cyclic(args) => cyclic::run(args),
        Command::Swapping(args) => swapping::run(args),
        Command::Flows(args) => flows::run(args),
        Command::Cost(args) => cost::run(args),
        Command::Insertion(args) => insertion::run(args),
        Command::Thresholds(args) => thresholds::run(args),
        Command::Selectors(args) => selectors::run(args),
        Command::Designs(args) => designs::run(args),
        Command::Bloom(args) => bloom::run(args),
    }
}

/// Prints a prediction as one JSON object, or a heading above rows.
fn show(json: bool, prediction: &impl Serialize, heading: &str, rows: &[Vec<String>]) -> anyhow::Result<()> {
    if json { print_json(prediction) } else { print(&format!("{heading}\n\n{}", columns(rows))) }
}

/// A row of a name and a value.
fn row(name: &str, value: impl Into<String>) -> Vec<String> {
    vec![name.to_owned(), value.into()]
}
