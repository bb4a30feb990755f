//! `twiceshy lab plot`.

use super::drawn;
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
}

/// `true` if every difference from the papers is explained.
pub(crate) fn run(args: &Args) -> anyhow::Result<bool> {
    drawn::draw_and_print(&Folder::to_draw(&args.folder)?, args.json)
}
