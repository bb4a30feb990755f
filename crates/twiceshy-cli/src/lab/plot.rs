//! `twiceshy lab plot`.

use super::drawn::{self, Form};
use std::path::PathBuf;
use twiceshy_lab::experiment::Folder;

/// Redraw the pictures and the report of a folder from its data.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder of a run
    folder: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Print the statements and verdicts as Markdown tables, one for each paper
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

/// `true` if every difference from the papers is explained.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    let form = match (args.json, args.markdown) {
        (true, _) => Form::Json,
        (_, true) => Form::Markdown,
        _ => Form::Text,
    };
    drawn::draw_and_print(&Folder::to_draw(&args.folder)?, form)
}
