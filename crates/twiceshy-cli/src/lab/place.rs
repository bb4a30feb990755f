//! Where an experiment has its stores.

use anyhow::Context;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A new folder among the temporary files, or beneath one that is named. It goes with all that is in it when the experiment
/// ends.
pub(crate) fn new(beneath: Option<&Path>) -> anyhow::Result<TempDir> {
    let made = match beneath {
        Some(folder) => std::fs::create_dir_all(folder).and_then(|()| TempDir::with_prefix_in("twiceshy-", folder)),
        None => TempDir::with_prefix("twiceshy-"),
    };
    let place = || beneath.map_or_else(std::env::temp_dir, PathBuf::from);
    made.with_context(|| format!("no folder could be made in {}: name another with --folder", place().display()))
}

/// A time, with three digits at least.
pub(crate) fn time(nanoseconds: u64) -> String {
    let time = nanoseconds as f64;
    match nanoseconds {
        0..10_000 => format!("{nanoseconds} ns"),
        10_000..10_000_000 => format!("{:.0} µs", time / 1e3),
        _ => format!("{:.1} ms", time / 1e6),
    }
}
