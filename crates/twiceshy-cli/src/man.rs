//! `twiceshy man`.

use crate::output::print;
use anyhow::Context as _;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// Print the manual page of this command, or write a page for it and each of its subcommands.
///
/// To read it: `twiceshy man | man -l -`. To install the pages: `twiceshy man --out ~/.local/share/man/man1`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write the pages into this folder, which is created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<()> {
    // So that the pages of subcommands have their full names, such as `twiceshy-lab-run`.
    command.build();
    let Some(folder) = &args.out else {
        return print(&String::from_utf8_lossy(&page(command)?));
    };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let pages = write_all(command, folder)?;
    print(&format!("{}: {pages} pages written\n", folder.display()))
}

fn page(command: clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("the page cannot be made")?;
    Ok(page)
}

/// Writes the pages of a command and its subcommands. Returns their number.
fn write_all(command: clap::Command, folder: &Path) -> anyhow::Result<u64> {
    let mut pages = 1;
    for subcommand in command.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        pages += write_all(subcommand.clone(), folder)?;
    }
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let file = folder.join(format!("{name}.1"));
    std::fs::write(&file, page(command)?).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(pages)
}
