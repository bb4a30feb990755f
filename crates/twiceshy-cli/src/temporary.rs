//! Folders that go when the command ends, also when it is interrupted.

use anyhow::Context;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use tempfile::TempDir;

/// Those that are there.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static WATCH: Once = Once::new();

/// The exit status of whoever was interrupted.
const INTERRUPTED: i32 = 130;

/// A new folder among the temporary files, or beneath one that is named. It goes with all that is in it.
pub(crate) fn folder(beneath: Option<&Path>) -> anyhow::Result<TempDir> {
    let made = match beneath {
        Some(folder) => std::fs::create_dir_all(folder).and_then(|()| TempDir::with_prefix_in("twiceshy-", folder)),
        None => TempDir::with_prefix("twiceshy-"),
    };
    let place = || beneath.map_or_else(std::env::temp_dir, PathBuf::from);
    let made =
        made.with_context(|| format!("no folder could be made in {}: make room, or name another", place().display()))?;
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(made.path().to_owned());
    // Where nobody can be told of an interruption, the folder stays behind.
    WATCH.call_once(|| drop(ctrlc::set_handler(interrupted)));
    Ok(made)
}

fn interrupted() {
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // One that has gone already is no error, and nobody could be told of another.
        drop(std::fs::remove_dir_all(folder));
    }
    std::process::exit(INTERRUPTED);
}
