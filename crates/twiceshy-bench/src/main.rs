//! `cargo run --release -p twiceshy-bench`: every filter of twiceshy beside filters of other crates.

use anyhow::{Context, ensure};
use clap::Parser;
use std::path::{Path, PathBuf};
use twiceshy_bench::measure::{Settings, measure};
use twiceshy_bench::numbers::count;
use twiceshy_bench::subject::Contestant;
use twiceshy_bench::{ours, peers, picture, sizes, table};

/// Measures every filter of twiceshy beside filters of other crates: the same keys, one process, one thread.
#[derive(Parser)]
#[command(name = "twiceshy-bench")]
struct Arguments {
    /// Stored keys, as 4000000, 4e6 or 4M: several times or as a list [default: 4M,15.9M; with --quick 200k]
    #[arg(long, value_name = "N", value_parser = count, value_delimiter = ',')]
    keys: Vec<u64>,

    /// Few keys and few repetitions: for a look, not for figures
    #[arg(long)]
    quick: bool,

    /// Print one JSON list instead of tables
    #[arg(long)]
    json: bool,

    /// The folder for the CSV file and the pictures
    #[arg(long, value_name = "FOLDER", default_value = "bench-results")]
    out: PathBuf,

    /// Measure these filters and the floors, instead of all
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,

    /// Measure instead how a negative look-up of a few filters grows with these numbers of keys
    #[arg(long, value_name = "N", value_parser = count, value_delimiter = ',', conflicts_with_all = ["keys", "only"])]
    sizes: Vec<u64>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let settings = if arguments.quick { Settings::QUICK } else { Settings::FULL };
    let contestants = contestants(&arguments.only)?;
    std::fs::create_dir_all(&arguments.out)
        .with_context(|| format!("the folder {} could not be made", arguments.out.display()))?;
    match arguments.sizes.is_empty() {
        true => compare(&arguments, &contestants, &settings),
        false => grow(&arguments, contestants, &settings),
    }
}

/// The filters with these names; all of them if there are no names.
fn contestants(only: &[String]) -> anyhow::Result<Vec<Contestant>> {
    let mut all = ours::all();
    all.extend(peers::all());
    for name in only {
        let names = || all.iter().map(|contestant| contestant.name.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(all.iter().any(|it| it.name == *name), "there is no filter {name:?}: use one of {}", names());
    }
    all.retain(|contestant| only.is_empty() || only.contains(&contestant.name));
    Ok(all)
}

fn compare(arguments: &Arguments, contestants: &[Contestant], settings: &Settings) -> anyhow::Result<()> {
    let defaults: &[u64] = if arguments.quick { &[200_000] } else { &[4_000_000, 15_900_000] };
    let sizes = if arguments.keys.is_empty() { defaults } else { &arguments.keys };
    let mut all = Vec::new();
    for keys in sizes {
        let rows = measure(*keys, contestants, settings, &mut tell)?;
        if !arguments.json {
            println!("{}", table::table(&rows));
        }
        picture::bars(&rows, &arguments.out.join(format!("bench-{keys}.svg")))?;
        all.extend(rows);
        // After each size, so that an interrupted run leaves what it has measured.
        table::write_csv(&all, &arguments.out.join("bench.csv"))?;
    }
    if arguments.json {
        println!("{}", table::json(&all)?);
    }
    tell_folder(&arguments.out);
    Ok(())
}

fn grow(arguments: &Arguments, contestants: Vec<Contestant>, settings: &Settings) -> anyhow::Result<()> {
    let points = sizes::sweep(&arguments.sizes, contestants, settings, &mut tell)?;
    table::write_csv(&points, &arguments.out.join("sizes.csv"))?;
    picture::lines(&points, &arguments.out.join("sizes.svg"))?;
    match arguments.json {
        true => println!("{}", serde_json::to_string_pretty(&points)?),
        false => print!("{}", sizes::table(&points)),
    }
    tell_folder(&arguments.out);
    Ok(())
}

fn tell(what: &str) {
    eprintln!("{what}");
}

fn tell_folder(out: &Path) {
    tell(&format!("the CSV file and the pictures are in {}", out.display()));
}
