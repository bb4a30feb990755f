//! `twiceshy lab list`.

use crate::output::{columns, print, print_json};
use serde::Serialize;
use twiceshy_lab::experiments::ALL;

/// List the experiments, one per line: name, the figures of the papers it reproduces, what it measures.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    source: &'static str,
    measures: &'static str,
    claim: &'static str,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let list = ALL.iter().map(|it| Listed {
        name: it.name(),
        source: it.source(),
        measures: it.measures(),
        claim: it.claim(),
    });
    if args.json {
        return print_json(&list.collect::<Vec<_>>());
    }
    let rows: Vec<Vec<String>> = list.map(|it| vec![it.name.into(), it.source.into(), it.measures.into()]).collect();
    print(&left(&rows))
}

/// Like [`columns`], with every column to the left.
fn left(rows: &[Vec<String>]) -> String {
    let width = rows.iter().filter_map(|row| row.get(1)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let padded: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![row[0].clone(), format!("{}{}   {}", row[1], " ".repeat(width - row[1].chars().count()), row[2])]
        })
        .collect();
    let longest = padded.iter().map(|row| row[1].chars().count()).max().unwrap_or(0);
    let even =
        |row: Vec<String>| vec![row[0].clone(), format!("{}{}", row[1], " ".repeat(longest - row[1].chars().count()))];
    columns(&padded.into_iter().map(even).collect::<Vec<_>>())
}
