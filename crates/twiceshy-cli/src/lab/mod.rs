//! `twiceshy lab`: experiments.

mod torture;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Kill processes that work on guarded stores, and see whether the stores are whole afterwards.
    Torture(torture::Args),
    /// A process to be killed.
    #[command(hide = true)]
    TortureChild(torture::ChildArgs),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<()> {
    match command {
        Command::Torture(args) => torture::run(args),
        Command::TortureChild(args) => torture::run_child(args),
    }
}
