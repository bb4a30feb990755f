//! Temporary folders that are deleted when the command ends or is interrupted.

use crate::interrupted;
use anyhow::Context;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tempfile::TempDir;

/// The folders that exist now.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A new temporary folder, in `beneath` if given. It is deleted with its contents.
pub(crate) fn folder(beneath: Option<&Path>) -> anyhow::Result<TempDir> {
    let made = match beneath {
        Some(folder) => std::fs::create_dir_all(folder).and_then(|()| TempDir::with_prefix_in("twiceshy-", folder)),
        None => TempDir::with_prefix("twiceshy-"),
    };
    let place = || beneath.map_or_else(std::env::temp_dir, PathBuf::from);
    let made =
        made.with_context(|| format!("cannot make a folder in {}: make room, or name another", place().display()))?;
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).push(made.path().to_owned());
    // Otherwise an interruption leaves the folder behind.
    interrupted::watch();
    Ok(made)
}

/// Deletes all temporary folders, before the process ends without unwinding.
pub(crate) fn delete_all() {
    for folder in FOLDERS.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // A folder that is gone already is no error. Another error cannot be reported here.
        drop(std::fs::remove_dir_all(folder));
    }
}
