//! `twiceshy completions`.

use crate::output::print;
use clap_complete::Shell;

/// Print a shell's completions of this command.
///
/// Bash: `twiceshy completions bash > ~/.local/share/bash-completion/completions/twiceshy`. Zsh: write them to a file
/// `_twiceshy` in a folder of $fpath. Fish: `twiceshy completions fish > ~/.config/fish/completions/twiceshy.fish`.
/// PowerShell: add the output to $PROFILE.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &Args, mut command: clap::Command) -> anyhow::Result<()> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    print(&String::from_utf8_lossy(&script))
}
