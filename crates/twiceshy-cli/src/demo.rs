//! `twiceshy demo`.
pub(crate) use crate::replay::Args;
pub(crate) fn run(_: &Args) -> anyhow::Result<()> {
    Ok(())
}
