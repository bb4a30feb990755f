//! `twiceshy lab`: experiments.

mod drawn;
mod growing;
mod guard;
mod list;
mod opening;
mod plot;
mod run;
mod shared;
mod tickets;
mod torture;

#[derive(clap::Subcommand)]
pub(crate) enum Command {
    List(list::Args),
    Run(run::Args),
    Plot(plot::Args),
    Guard(guard::Args),
    Growing(growing::Args),
    Opening(opening::Args),
    /// Kill processes that work on guarded stores, and check that the stores are intact afterwards.
    Torture(torture::Args),
    /// A process that `torture` kills.
    #[command(hide = true)]
    TortureChild(torture::ChildArgs),
    /// A process of `torture` that opens a damaged store.
    #[command(hide = true)]
    TortureProbe(torture::ProbeArgs),
    /// Share a set between real processes on a real server: measure it, and check what the processes see while things fail.
    Shared(shared::Args),
    /// A process of `shared` that works on keys.
    #[command(hide = true)]
    SharedMember(shared::MemberArgs),
    /// A process of `shared` that is measured.
    #[command(hide = true)]
    SharedServant(shared::ServantArgs),
    /// Kill processes that hold tickets of a guard beside a store, and check that no row's key is turned away afterwards.
    TortureTickets(tickets::Args),
    /// A process that `torture-tickets` kills.
    #[command(hide = true)]
    TortureTicketsChild(tickets::ChildArgs),
}

/// `true` if the experiment found what it should.
pub(crate) fn run(command: &Command) -> anyhow::Result<bool> {
    match command {
        Command::List(args) => list::run(args).map(|()| true),
        Command::Run(args) => run::run(args),
        Command::Plot(args) => plot::run(args),
        Command::Guard(args) => guard::run(args).map(|()| true),
        Command::Growing(args) => growing::run(args).map(|()| true),
        Command::Opening(args) => opening::run(args).map(|()| true),
        Command::Torture(args) => torture::run(args),
        Command::TortureChild(args) => torture::run_child(args).map(|()| true),
        Command::TortureProbe(args) => torture::run_probe(args).map(|()| true),
        Command::Shared(args) => shared::run(args),
        Command::SharedMember(args) => shared::run_member(args).map(|()| true),
        Command::SharedServant(args) => shared::run_servant(args).map(|()| true),
        Command::TortureTickets(args) => tickets::run(args),
        Command::TortureTicketsChild(args) => tickets::run_child(args).map(|()| true),
    }
}
